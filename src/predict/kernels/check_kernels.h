// SPDX-License-Identifier: Apache-2.0
//
// How far predictions are off on shapes that were not fitted to.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "domain/kernel_call.h"
#include "predict/kernels/error_figures.h"
#include "predict/kernels/fit_kernels.h"
#include "predict/kernels/kernel_class.h"
#include "predict/kernels/kernel_predictor.h"
#include "predict/kernels/overhead_drift.h"

namespace weir::predict {

// What is known of where rows stand in the table that a model was fitted to. It matters where calls have an overhead that
// drifts (overhead_drift.h).
enum class RowPlaces : std::uint8_t {
  same_table,    // rows are counted in it
  another_table  // only rows that a column places are
};

struct CheckedKernel {
  const KernelSample* sample = nullptr;
  double known = 0;      // seconds, the launch known
  double predicted = 0;  // the launch predicted; 0: not asked
  double roofline = 0;   // by the fitted roofline
  double alone = 0;      // measured, without the overhead
  KernelClass kind = KernelClass::dram_bound;
  bool is_covered = false;       // its sequence of kernels was fitted by enough samples of its own
  bool is_extrapolated = false;  // when the launch is predicted, or else known
  double distance = -1;          // to the nearest measured shape; -1: not looked for
  // What drifts, in seconds: of this row where its place is known; in rows evenly from the first to the last that was fitted
  // to; and if rows stand in order, taken evenly out of the fitted table.
  bool has_place = true;
  double overhead = 0;
  std::vector<double> overheads{};
  double overhead_in_order = 0;
};

// By the model as it is. None of the times holds the overhead.
std::vector<CheckedKernel> check_kernels(const KernelModel& model,
                                         const std::vector<const KernelSample*>& samples,
                                         RowPlaces places = RowPlaces::same_table);

// Each shape by a model that has not seen it, in so many parts; covered is what the other parts cover. The overhead that drifts is found anew in each part's
// rows to fit to, unless options say not to look for it.
std::vector<CheckedKernel> cross_validate_kernels(const std::vector<const KernelSample*>& samples,
                                                  const DeviceSpec& device,
                                                  const KernelFitOptions& options, int folds);
// Whether shapes are in two parts at least: otherwise nothing is left to fit to, and nothing is checked.
bool can_cross_validate(const std::vector<const KernelSample*>& samples, int folds);

inline constexpr std::int64_t kCoveredSamples = 40;
// Marks what is covered: at least kCoveredSamples of `among` launch the same sequence of kernels for the same operator.
void mark_covered(const std::vector<const KernelSample*>& among,
                  std::vector<CheckedKernel>& checked);
// Among those that the model was fitted to.
void mark_covered(const KernelModel& model, std::vector<CheckedKernel>& checked);

struct CheckedFigures {
  ErrorFigures known{};
  ErrorFigures predicted{};
  ErrorFigures roofline{};
};
// By "gemm", "gemm > 0.2 ms", "gemm covered", "gemm covered > 0.2 ms", "gemm compute-bound" ..., "gemm bf16 linear"; and "rows
// and image", which wait for memory. Where calls have an overhead that drifts, predictions hold it: that of the row's place,
// or without one what errs least (with_unknown_overhead). Further keys there, most also with " > 0.2 ms":
//   conv without place       as if no row's place were known, where some are
//   conv perfect, no place   the same with the kernels' own times instead of predictions: the least error there can be
//   conv in order            places unknown, but taken as if the rows stood in order
//   conv nearest 1 to 2      shapes whose nearest measured one is so many doublings and
//                            alignments away (where the launch is predicted)
//   conv alone               as a share of what the kernels took, not of the call (where places are known)
std::map<std::string, CheckedFigures> checked_figures(const std::vector<CheckedKernel>& checked);

}  // namespace weir::predict
