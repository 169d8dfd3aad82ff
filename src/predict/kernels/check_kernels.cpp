// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/check_kernels.h"

#include <fmt/format.h>

#include <algorithm>

#include "predict/kernels/launch_dispatch.h"
#include "predict/kernels/shape_folds.h"

namespace weir::predict {
namespace {

constexpr double kLongKernel =
    0.2e-3;  // seconds: above, what a launch costs does not matter in the public tables

struct CheckedTimes {
  std::vector<PredictedTime> known;
  std::vector<PredictedTime> predicted;
  std::vector<PredictedTime> roofline;
};

std::string sequence_key(const KernelCall& call, const std::string& algorithm) {
  return call.op + "/" + call.dtype + "/" + call.variant + "/" + algorithm;
}

// Held-out rows at the end of a table stand a little beyond the last that was fitted to. Much further they were put there.
constexpr double kLittleBeyond = 1.02;

// Adds to each prediction what `with_overhead` makes of it.
template <class WithOverhead>
void add_checked(CheckedTimes& times, const CheckedKernel& one, double measured,
                 const WithOverhead& with_overhead) {
  times.known.push_back({with_overhead(one.known), measured});
  if (one.predicted > 0) times.predicted.push_back({with_overhead(one.predicted), measured});
  times.roofline.push_back({with_overhead(one.roofline), measured});
}

// To a row anywhere in the table.
void add_unplaced(CheckedTimes& times, const CheckedKernel& one, double measured) {
  add_checked(times, one, measured,
              [&](double kernel) { return with_unknown_overhead(kernel, one.overheads); });
}

void add_drift_figures(const CheckedKernel& one, const std::string& family, double measured,
                       bool is_long, std::map<std::string, CheckedTimes>& times) {
  const auto add = [&](const std::string& what, const auto& add_to) {
    add_to(times[family + what]);
    if (is_long) add_to(times[family + what + " > 0.2 ms"]);
  };
  if (!one.has_place) {
    add(" in order", [&](CheckedTimes& to) {
      add_checked(to, one, measured, [&](double kernel) { return kernel + one.overhead_in_order; });
    });
    return;
  }
  add(" without place", [&](CheckedTimes& to) { add_unplaced(to, one, measured); });
  add(" perfect, no place", [&](CheckedTimes& to) {
    to.known.push_back({with_unknown_overhead(one.alone, one.overheads), measured});
    to.roofline.push_back({with_unknown_overhead(one.roofline, one.overheads), measured});
  });
  add_checked(times[family + " alone"], one, one.alone, [](double kernel) { return kernel; });
}

// " nearest 1 to 2": in doublings.
std::string distance_words(double distance) {
  constexpr double kLastDistance = 4;
  if (distance >= kLastDistance) return fmt::format(" nearest beyond {}", kLastDistance);
  double from = 0;
  double to = 0.5;
  while (distance >= to) {
    from = to;
    to *= 2;
  }
  return fmt::format(" nearest {} to {}", from, to);
}

void mark_covered(const std::map<std::string, std::int64_t>& counts,
                  std::vector<CheckedKernel>& checked) {
  for (CheckedKernel& one : checked) {
    const auto at = counts.find(sequence_key(one.sample->call, one.sample->launch.algorithm));
    one.is_covered = at != counts.end() && at->second >= kCoveredSamples;
  }
}

void place_overhead(const OverheadGrowth& growth, RowPlaces places, CheckedKernel& one) {
  const KernelSample& sample = *one.sample;
  const auto row = static_cast<double>(sample.row);
  const bool is_placed = places == RowPlaces::same_table || sample.is_row_told;
  one.has_place = is_placed && row <= kLittleBeyond * static_cast<double>(growth.last_row);
  one.overheads.clear();
  for (const double milliseconds : growth.milliseconds)
    one.overheads.push_back(milliseconds * 1e-3);
  if (!one.has_place) return;
  one.overhead = overhead_at(growth, row) * 1e-3;
  one.alone = OverheadDrift::kernel_milliseconds(sample, one.overhead * 1e3) * 1e-3;
}

// Rows of another table, evenly from the first to the last of the fitted one.
void spread_in_order(std::vector<CheckedKernel>& checked) {
  std::map<std::string, std::vector<CheckedKernel*>> tables;
  for (CheckedKernel& one : checked)
    if (!one.has_place) tables[drift_key(one.sample->call)].push_back(&one);
  for (auto& [key, rows] : tables) {
    std::stable_sort(rows.begin(), rows.end(), [](const CheckedKernel* a, const CheckedKernel* b) {
      return a->sample->row < b->sample->row;
    });
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i]->overhead_in_order =
          overhead_at({static_cast<std::int64_t>(rows.size()), rows[i]->overheads},
                      static_cast<double>(i) + 0.5);
  }
}

}  // namespace

std::vector<CheckedKernel> check_kernels(const KernelModel& model,
                                         const std::vector<const KernelSample*>& samples,
                                         RowPlaces places) {
  const KernelPredictor predictor{model};
  const OverheadDrift drift{model.drift};
  std::vector<CheckedKernel> checked;
  checked.reserve(samples.size());
  for (const KernelSample* sample : samples) {
    const KernelPrediction known = predictor.with_launch(sample->call, sample->launch);
    CheckedKernel& one = checked.emplace_back();
    one.sample = sample;
    one.known = known.seconds;
    one.roofline = roofline_seconds(model, sample->call);
    one.alone = sample->milliseconds * 1e-3;
    one.kind = known.kind;
    one.is_extrapolated = known.is_extrapolated;
    if (!model.dispatch.empty()) {
      const KernelPrediction predicted = predictor.predict(sample->call);
      one.predicted = predicted.seconds;
      one.is_extrapolated = predicted.is_extrapolated;
      one.distance = predicted.distance;
    }
    if (const OverheadGrowth* growth = drift.growth_of(sample->call))
      place_overhead(*growth, places, one);
  }
  spread_in_order(checked);
  return checked;
}

std::vector<CheckedKernel> cross_validate_kernels(const std::vector<const KernelSample*>& samples,
                                                  const DeviceSpec& device,
                                                  const KernelFitOptions& options, int folds) {
  std::vector<CheckedKernel> all;
  all.reserve(samples.size());
  for (int fold = 0; fold < folds; ++fold) {
    std::vector<const KernelSample*> train;
    std::vector<const KernelSample*> test;
    for (const KernelSample* sample : samples)
      (shape_fold(sample->call, folds) == fold ? test : train).push_back(sample);
    if (test.empty() || train.empty()) continue;
    const KernelModel model = fit_kernels_alone(train, device, options);
    std::vector<CheckedKernel> checked = check_kernels(model, test);
    mark_covered(train, checked);
    all.insert(all.end(), checked.begin(), checked.end());
  }
  return all;
}

bool can_cross_validate(const std::vector<const KernelSample*>& samples, int folds) {
  return std::any_of(samples.begin(), samples.end(), [&](const KernelSample* sample) {
    return shape_fold(sample->call, folds) != shape_fold(samples.front()->call, folds);
  });
}

void mark_covered(const std::vector<const KernelSample*>& among,
                  std::vector<CheckedKernel>& checked) {
  std::map<std::string, std::int64_t> counts;
  for (const KernelSample* sample : among)
    ++counts[sequence_key(sample->call, sample->launch.algorithm)];
  mark_covered(counts, checked);
}

void mark_covered(const KernelModel& model, std::vector<CheckedKernel>& checked) {
  std::map<std::string, std::int64_t> counts;
  for (const auto& [key, entries] : model.dispatch) {
    const KernelCall call = call_of_key(key);
    for (const DispatchEntry& entry : entries)
      ++counts[sequence_key(call,
                            model.sketches[static_cast<std::size_t>(entry.sketch)].algorithm)];
  }
  mark_covered(counts, checked);
}

std::map<std::string, CheckedFigures> checked_figures(const std::vector<CheckedKernel>& checked) {
  std::map<std::string, CheckedTimes> times;
  for (const CheckedKernel& one : checked) {
    const KernelCall& call = one.sample->call;
    const std::string family{to_string(call.family)};
    const double measured = one.sample->milliseconds * 1e-3;
    const bool is_long = measured > kLongKernel;
    std::vector<std::string> keys = {
        family, family + " " + std::string{to_string(one.kind)},
        family + " " + call.dtype + " " + call.op +
            (call.family == KernelFamily::gemm || call.variant.empty() ? "" : " " + call.variant)};
    if (call.family == KernelFamily::rows || call.family == KernelFamily::image)
      keys.emplace_back("rows and image");
    if (is_long) keys.push_back(family + " > 0.2 ms");
    if (one.is_covered) keys.push_back(family + " covered");
    if (one.distance >= 0) keys.push_back(family + distance_words(one.distance));
    if (one.is_covered && is_long) keys.push_back(family + " covered > 0.2 ms");
    for (const std::string& key : keys) {
      if (one.has_place)
        add_checked(times[key], one, measured,
                    [&](double kernel) { return kernel + one.overhead; });
      else
        add_unplaced(times[key], one, measured);
    }
    if (!one.overheads.empty()) add_drift_figures(one, family, measured, is_long, times);
  }
  std::map<std::string, CheckedFigures> figures;
  for (const auto& [key, all] : times)
    figures[key] = {error_figures(all.known), error_figures(all.predicted),
                    error_figures(all.roofline)};
  return figures;
}

}  // namespace weir::predict
