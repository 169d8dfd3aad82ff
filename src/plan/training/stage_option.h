// SPDX-License-Identifier: Apache-2.0
//
// One way to run a pipeline stage: on how many GPUs, and how its operators are spread over them. A
// search asks what a stage of operators [first, end) costs under it; the microbatch is fixed.
#pragma once

#include <limits>
#include <vector>

#include "domain/training_plan.h"
#include "predict/training/iteration_costs.h"

namespace weir::plan {

inline constexpr double kImpossible = std::numeric_limits<double>::infinity();

// How a stage decides what to compute again.
enum class RecomputeRule : unsigned char { derived, own };

// What a stage costs before recomputation, microseconds.
struct StageBase {
  double busy = 0;     // forward and backward
  double reshard = 0;  // laying out anew
  double links = 0;    // receive and send
  double finish = 0;   // once per iteration
};

// Of m microbatches: the m - 1 that keep the pipeline full and the end of the iteration, and the one that passes alone.
struct StageSpan {
  double steady = 0;
  double traverse = 0;
};

// With `recompute` microseconds of forward pass done again.
StageSpan stage_span(const StageBase& base, double recompute, int microbatches,
                     bool hides_transfers);

class StageOption {
 public:
  virtual ~StageOption() = default;
  virtual int gpus() const = 0;

  // Forward, backward and laying out anew, in microseconds. Does not shrink when the stage grows at either end.
  virtual double work_us(int first, int end) const = 0;
  // The stage with nothing computed again.
  virtual StageBase base(int first, int end, predict::StagePlace place) const = 0;
  // Links of a stage that begins, or ends, with this operator. Of a mixed stage: at least.
  virtual double receive_us(int op, bool crosses) const = 0;
  virtual double send_us(int op, bool crosses) const = 0;
  // Forward time computed again so that the stage fits; kImpossible when it cannot.
  virtual double recompute_us(int first, int end, int stages_behind) = 0;
  // No choice of recomputation that fits takes less.
  virtual double least_recompute_us(int first, int end, int stages_behind) = 0;
  // The stage itself, with the recomputation that recompute_us() chose.
  virtual PlanStage stage(int first, int end, int stages_behind) = 0;
};

}  // namespace weir::plan
