// SPDX-License-Identifier: Apache-2.0
//
// What a stage computes again, in run-length form: equal layers with equal choices share an entry, so
// a stage of a thousand layers costs as much as one of a few. Only for stages in which operators of one
// row are spread alike.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "predict/training/iteration_costs.h"

namespace weir::plan {

// Units [first_unit, end_unit), of which the operators [from, to) belong to the stage; bit i of `mask`
// is the unit's operator i.
struct MaskRun {
  int first_unit = 0;
  int end_unit = 0;
  int from = 0;
  int to = 0;
  std::uint64_t mask = 0;
  int count() const { return end_unit - first_unit; }
};

class UnitMasks {
 public:
  // Operators [first, end) of the model, nothing computed again. `rows`: the measurements used.
  UnitMasks(const predict::IterationCosts& costs, const OpMeasure* rows, int first, int end);

  std::span<const MaskRun> runs() const { return runs_; }
  // Gives units [first_unit, end_unit) this mask.
  void assign(int first_unit, int end_unit, std::uint64_t mask);
  // Computes operator `offset` of units [first_unit, end_unit) again, where it belongs to the stage.
  void set(int first_unit, int end_unit, int offset);

  double saved_mib() const;
  double peak_mib() const;
  double recompute_us() const;
  void write(std::span<PlanOp> ops) const;

 private:
  struct Sums {
    double saved = 0;
    double peak = 0;
  };
  Sums sums() const;
  // Cuts a run so that `units` of it stand alone in front; they are run `run` then.
  void split(std::size_t run, int units);
  bool bit_after(std::size_t run, int copy) const;

  const predict::IterationCosts& costs_;
  const OpMeasure* rows_;
  int first_;
  int end_;
  std::vector<MaskRun> runs_;
};

// derived_recompute.h for such a stage. `missing_mib`: by how much the stage is too large without recomputation.
// Returns whether it fits.
bool derive_masks(const predict::IterationCosts& costs, const OpMeasure* rows, UnitMasks& masks,
                  int end, int stages_behind, double missing_mib);

}  // namespace weir::plan
