// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/fit_kernels.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "predict/kernels/fit_roofline.h"
#include "predict/kernels/kernel_features.h"
#include "predict/kernels/kernel_predictor.h"
#include "predict/kernels/launch_sketch.h"
#include "predict/kernels/nonnegative_least_squares.h"
#include "predict/kernels/shape_folds.h"

namespace weir::predict {
namespace {

constexpr double kMillisecond = 1e-3;
constexpr std::int64_t kLeastScaledGroup = 3;
constexpr double kFactorPrior = 2;  // samples that say 1
constexpr int kGroupFolds = 5;
constexpr int kReweightings = 6;
constexpr double kSmallLogError = 0.03;  // below, errors count alike

// A sample with what is computed from it once.
struct PreparedSample {
  const KernelSample* sample = nullptr;
  LaunchSketch sketch;
  KernelFeatures features;
  double seconds = 0;
  int fold = 0;
};

using Rows = std::vector<const PreparedSample*>;

// To six digits: no prediction needs more, and model files stay short.
double short_number(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10, 5 - std::floor(std::log10(std::abs(value))));
  const double rounded = std::round(value * scale) / scale;
  return std::isfinite(rounded) ? rounded : value;
}

std::array<double, kWorkColumns> solved(const NonnegativeLeastSquares& squares) {
  std::array<double, kWorkColumns> seconds{};
  const std::vector<double> values = squares.solve();
  std::transform(values.begin(), values.end(), seconds.begin(), short_number);
  return seconds;
}

// Least squares of relative errors forgive a prediction that is far too short (at most 1) and never one that is far too
// long, so mixed groups would come out short. Weights that start at 1 / measured and then look at the fit make both count
// alike, and far-off samples less.
template <class Takes>
std::array<double, kWorkColumns> fit_columns(const Rows& rows, const Takes& takes) {
  std::array<double, kWorkColumns> seconds{};
  for (int pass = 0; pass < kReweightings; ++pass) {
    NonnegativeLeastSquares squares{kWorkColumns};
    for (const PreparedSample* row : rows) {
      if (!takes(*row)) continue;
      double weight = 1 / row->seconds;
      if (pass > 0) {
        double fitted = 0;
        for (std::size_t i = 0; i < kWorkColumns; ++i)
          fitted += seconds[i] * row->features.columns[i];
        const double ratio = std::clamp(fitted / row->seconds, 0.1, 10.0);
        weight /= std::sqrt(ratio * std::max(std::abs(std::log(ratio)), kSmallLogError));
      }
      squares.add(row->features.columns, row->seconds, weight);
    }
    seconds = solved(squares);
  }
  return seconds;
}

double mean_error(const KernelGroup& group, const Rows& rows) {
  double sum = 0;
  for (const PreparedSample* row : rows)
    sum += std::abs(group_seconds(group, row->features) / row->seconds - 1);
  return sum / static_cast<double>(rows.size());
}

bool waits_for_memory(const PreparedSample& row) {
  return row.features.kind == KernelClass::dram_bound;
}

// One fit for all, or one for those that wait for memory and one for the others under a soft maximum: what errs less.
void fit_coefficients(KernelGroup& group, const Rows& rows, std::int64_t least_group) {
  group.has_traffic = false;
  group.seconds = fit_columns(rows, [](const PreparedSample&) { return true; });
  const auto waiting = std::count_if(
      rows.begin(), rows.end(), [](const PreparedSample* row) { return waits_for_memory(*row); });
  const auto others = static_cast<std::int64_t>(rows.size()) - waiting;
  if (waiting < least_group || others < least_group) return;
  KernelGroup both = group;
  both.has_traffic = true;
  both.seconds =
      fit_columns(rows, [](const PreparedSample& row) { return !waits_for_memory(row); });
  both.traffic_seconds = fit_columns(rows, waits_for_memory);
  if (mean_error(both, rows) < mean_error(group, rows)) group = both;
}

double cross_validated_error(const KernelGroup& like, const Rows& rows, std::int64_t least_group) {
  double sum = 0;
  for (int fold = 0; fold < kGroupFolds; ++fold) {
    Rows train;
    Rows test;
    for (const PreparedSample* row : rows) (row->fold == fold ? test : train).push_back(row);
    if (test.empty()) continue;
    KernelGroup group = like;
    if (!train.empty()) fit_coefficients(group, train, least_group);
    sum += mean_error(group, test) * static_cast<double>(test.size());
  }
  return sum / static_cast<double>(rows.size());
}

void widen(ValueRange& range, double value, bool is_first) {
  range.least = is_first ? value : std::min(range.least, value);
  range.most = is_first ? value : std::max(range.most, value);
}

KernelGroup fit_group(const std::string& key, const Rows& rows, std::int64_t least_group) {
  KernelGroup group;
  group.key = key;
  group.samples = static_cast<std::int64_t>(rows.size());
  fit_coefficients(group, rows, least_group);
  group.error = cross_validated_error(group, rows, least_group);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    widen(group.flops, rows[i]->features.work.flops, i == 0);
    widen(group.bytes, rows[i]->features.work.all_bytes(), i == 0);
  }
  return group;
}

std::vector<PreparedSample> prepared(std::span<const KernelSample* const> samples,
                                     const KernelModel& model) {
  std::vector<PreparedSample> all;
  all.reserve(samples.size());
  for (const KernelSample* sample : samples) {
    PreparedSample one;
    one.sample = sample;
    one.sketch = sketch_of(sample->call, sample->launch, model.device.sms);
    one.features =
        kernel_features(sample->call, one.sketch,
                        launch_size(one.sketch, kernel_work(sample->call), sample->launch), model);
    one.seconds = sample->milliseconds * kMillisecond;
    one.fold = shape_fold(sample->call, kGroupFolds);
    all.push_back(std::move(one));
  }
  return all;
}

// Too few samples for coefficients of their own: those of the next more general group, all times one factor, which a
// handful of samples moves only part of the way.
KernelGroup scaled_group(const std::string& key, const Rows& rows, const KernelGroup& parent) {
  KernelGroup group = parent;
  group.key = key;
  group.samples = static_cast<std::int64_t>(rows.size());
  double logs = 0;
  for (const PreparedSample* row : rows)
    logs += std::log(row->seconds / group_seconds(parent, row->features));
  const double factor = std::exp(logs / (static_cast<double>(rows.size()) + kFactorPrior));
  for (double& value : group.seconds) value = short_number(value * factor);
  for (double& value : group.traffic_seconds) value = short_number(value * factor);
  // The factor was fitted to these very rows: that alone would flatter it.
  group.error = std::max(parent.error, mean_error(group, rows));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    widen(group.flops, rows[i]->features.work.flops, i == 0);
    widen(group.bytes, rows[i]->features.work.all_bytes(), i == 0);
  }
  return group;
}

void fit_groups(const std::vector<PreparedSample>& samples, const KernelFitOptions& options,
                KernelModel& model) {
  struct Candidate {
    Rows rows;
    std::string parent;  // empty: the most general
    std::size_t level = 0;
  };
  std::map<std::string, Candidate> candidates;
  std::size_t levels = 0;
  for (const PreparedSample& sample : samples) {
    const auto keys = group_keys(sample.sample->call, sample.sketch);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (i + 1 < keys.size() && keys[i] == keys[i + 1]) continue;
      Candidate& candidate = candidates[keys[i]];
      candidate.rows.push_back(&sample);
      candidate.parent = i + 1 < keys.size() ? keys[i + 1] : std::string{};
      candidate.level = keys.size() - 1 - i;
      levels = std::max(levels, keys.size());
    }
  }
  // General ones first: the special ones may lean on them.
  std::map<std::string, KernelGroup> fitted;
  for (std::size_t level = 0; level < levels; ++level) {
    for (const auto& [key, candidate] : candidates) {
      if (candidate.level != level) continue;
      const auto count = static_cast<std::int64_t>(candidate.rows.size());
      const auto parent = fitted.find(candidate.parent);
      if (parent == fitted.end() || count >= options.least_group)
        fitted.emplace(key, fit_group(key, candidate.rows, options.least_group));
      else if (count >= kLeastScaledGroup)
        fitted.emplace(key, scaled_group(key, candidate.rows, parent->second));
      else
        fitted.emplace(key, parent->second);
    }
  }
  for (auto& [key, group] : fitted)
    if (group.key == key) model.groups.push_back(std::move(group));
}

void learn_launches(const std::vector<PreparedSample>& samples, const std::set<std::string>& noisy,
                    KernelModel& model) {
  const KernelPredictor predictor{model};  // without neighbours yet
  std::map<LaunchSketch, std::int32_t> places;
  for (const PreparedSample& sample : samples) places.emplace(sample.sketch, 0);
  std::vector<LaunchSketch> sketches;
  for (auto& [sketch, place] : places) {
    place = static_cast<std::int32_t>(sketches.size());
    sketches.push_back(sketch);
  }
  for (const PreparedSample& sample : samples) {
    const KernelCall& call = sample.sample->call;
    const bool is_noisy = noisy.contains(std::string{to_string(call.family)} + "/" + call.op);
    const double residual =
        is_noisy
            ? 0
            : std::log(sample.seconds / predictor.uncorrected(call, sample.sample->launch).seconds);
    model.dispatch[dispatch_key(call)].push_back(
        {call.sizes, places.at(sample.sketch), sample.sample->launch.blocks,
         sample.sample->launch.helper_threads, short_number(residual)});
  }
  for (auto& [key, entries] : model.dispatch) std::sort(entries.begin(), entries.end());
  model.sketches = std::move(sketches);
}

struct CorrectionRows {
  std::vector<float> features;
  std::vector<double> targets;
};

template <class Uncorrect>
std::map<std::string, BoostedTrees> fit_corrections(const std::vector<PreparedSample>& samples,
                                                    const BoostingOptions& options,
                                                    std::string (*key_of)(const KernelCall&),
                                                    const Uncorrect& uncorrect) {
  std::map<std::string, CorrectionRows> rows_by_key;
  for (const PreparedSample& sample : samples) {
    const KernelPredictor::Uncorrected at = uncorrect(*sample.sample);
    CorrectionRows& rows = rows_by_key[key_of(sample.sample->call)];
    rows.features.insert(rows.features.end(), at.features.begin(), at.features.end());
    rows.targets.push_back(std::log(sample.seconds / at.seconds));
  }
  std::map<std::string, BoostedTrees> fitted;
  for (const auto& [key, rows] : rows_by_key)
    fitted[key] = fit_boosted_trees(rows.features, kTreeFeatures, rows.targets, options);
  return fitted;
}

}  // namespace

KernelModel fit_kernels(std::span<const KernelSample* const> samples, const DeviceSpec& device,
                        const KernelFitOptions& options) {
  KernelModel model;
  model.device = device;
  fit_roofline(samples, model);
  const std::vector<PreparedSample> all = prepared(samples, model);
  fit_groups(all, options, model);
  if (options.with_dispatch) learn_launches(all, options.noisy, model);
  if (!options.with_corrections) return model;
  std::map<std::string, BoostedTrees> known;
  std::map<std::string, BoostedTrees> predicted;
  {
    const KernelPredictor predictor{model};
    known = fit_corrections(all, options.boosting, correction_key, [&](const KernelSample& sample) {
      return predictor.uncorrected(sample.call, sample.launch, true);
    });
    model.by_shape = fit_corrections(
        all, options.shape_boosting, shape_key,
        [&](const KernelSample& sample) { return predictor.from_shape(sample.call); });
    if (options.with_dispatch)
      predicted = fit_corrections(
          all, options.boosting, correction_key,
          [&](const KernelSample& sample) { return predictor.uncorrected(sample.call, true); });
  }
  model.known_launch = std::move(known);
  model.predicted_launch = std::move(predicted);
  return model;
}

}  // namespace weir::predict
