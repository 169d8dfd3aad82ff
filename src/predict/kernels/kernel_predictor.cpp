// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/kernel_predictor.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "predict/kernels/boosted_trees.h"
#include "predict/kernels/launch_sketch.h"

namespace weir::predict {
namespace {

constexpr double kMostCorrection = std::numbers::ln2;  // to half or twice the time
constexpr double kMostOfGroup =
    5;  // times its own error: what many kernels teach does not spoil one that is understood
constexpr double kLeastSeconds = 1e-7;
constexpr double kMostSeconds = 1e9;
constexpr double kMostShapeCorrection = 1e4;  // of the roofline, by the trees on the shape
constexpr std::int32_t kUsualTile = 128;
constexpr std::int32_t kUsualThreads = 128;
constexpr double kUsualLaunch = 3e-6;
constexpr double kNearEnough = 0.05;      // squared distances below are all alike
constexpr double kTrustedDistance = 1.0;  // squared: at that distance a residual counts by half
constexpr double kBeyondRange = 2;  // so many times outside of what was seen counts as extrapolated

double column_sum(const std::array<double, kWorkColumns>& seconds,
                  const std::array<double, kWorkColumns>& columns) {
  double sum = 0;
  for (std::size_t i = 0; i < kWorkColumns; ++i) sum += seconds[i] * columns[i];
  return sum;
}

bool is_beyond(const ValueRange& range, double value) {
  return value > range.most * kBeyondRange || value * kBeyondRange < range.least;
}

// How much the trees on the shape alone have to say, by cross-validation of the H200's tables.
struct ShareOfShape {
  double known = 0;
  double predicted = 0;
};

ShareOfShape share_of_shape(KernelFamily family) {
  switch (family) {
    case KernelFamily::attention:
      return {0.15, 0.35};
    case KernelFamily::gemm:
      return {0.25, 0.65};
    case KernelFamily::conv:
      return {0.2, 0.5};
    case KernelFamily::image:
      return {0.1, 0.3};
    case KernelFamily::rows:
      break;
  }
  return {0, 0.1};
}

void correct(const std::map<std::string, BoostedTrees>& corrections, const KernelCall& call,
             double most, KernelPredictor::Uncorrected& at) {
  at.prediction.seconds = at.seconds;
  const auto trees = corrections.find(correction_key(call));
  if (trees == corrections.end()) return;
  const double log = std::clamp(boosted_value(trees->second, at.features), -most, most);
  at.prediction.seconds *= std::exp(log);
}

}  // namespace

std::vector<std::string> group_keys(const KernelCall& call, const LaunchSketch& sketch) {
  const std::string family{to_string(call.family)};
  const std::string format = family + "/" + call.dtype;
  switch (call.family) {
    case KernelFamily::gemm:
      return {format + "/" + call.op + "/" + sketch.algorithm,
              format + "/" + call.op + "/" + sketch.kernel, format + "/" + sketch.kernel,
              format + "/" + std::string{kernel_maker(sketch.kernel)}, format};
    case KernelFamily::conv:
      return {format + "/" + call.variant + "/" + sketch.algorithm,
              format + "/" + call.variant + "/" + sketch.kernel,
              format + "/" + call.variant + "/" + std::string{kernel_maker(sketch.kernel)} +
                  (call.sizes[conv_size::ksize] == 1 ? " 1x1" : ""),
              format + "/" + call.variant,
              format + "/" + pass_of(call),
              format};
    case KernelFamily::attention: {
      const std::string exact = format + "/" + call.variant;
      const std::string size = "/D=" + std::to_string(call.sizes[attention_size::d]);
      const std::string causal = call.sizes[attention_size::causal] != 0 ? "/causal" : "/full";
      const std::string kernel = call.variant.ends_with("/math") ? "" : "/" + sketch.kernel;
      return {exact + kernel + size + causal, exact + kernel + size,       exact + kernel, exact,
              family + "/" + call.variant,    family + "/" + pass_of(call)};
    }
    case KernelFamily::rows:
    case KernelFamily::image:
      break;
  }
  const std::string op = format + "/" + call.op;
  return {op + "/" + call.variant + "/" + sketch.algorithm, op + "/" + call.variant,
          op + "/" + pass_of(call), format};
}

std::string correction_key(const KernelCall& call) {
  const std::string family{to_string(call.family)};
  // Of attention in float32 too little is measured to tell by itself.
  if (call.family == KernelFamily::attention) return family + "/" + pass_of(call);
  return family + "/" + call.dtype + "/" + pass_of(call);
}

std::string shape_key(const KernelCall& call) {
  const std::string family{to_string(call.family)};
  if (call.family == KernelFamily::gemm) return family + "/" + call.dtype;
  if (call.family == KernelFamily::conv) return family + "/" + call.dtype + "/" + call.variant;
  return family + "/" + call.variant;
}

// What a library launches, more or less, for a call of which nothing was measured.
LaunchSketch usual_sketch() {
  LaunchSketch sketch;
  sketch.occupancy = 0;
  sketch.threads = kUsualThreads;
  return sketch;
}

LaunchSize usual_size(const KernelCall& call) {
  const KernelWork work = kernel_work(call);
  const bool has_tiles = call.family != KernelFamily::rows && call.family != KernelFamily::image;
  const double outputs = has_tiles ? double{1} * kUsualTile * kUsualTile : kUsualOutputs;
  return {std::max(1.0, std::ceil(outputs_of(work) / outputs)), 0};
}

double group_seconds(const KernelGroup& group, const KernelFeatures& features) {
  const double work = column_sum(group.seconds, features.columns);
  if (!group.has_traffic) return std::max(work, kLeastSeconds);
  return std::max(soft_maximum(work, column_sum(group.traffic_seconds, features.columns)),
                  kLeastSeconds);
}

double roofline_seconds(const KernelModel& model, const KernelCall& call) {
  const KernelWork work = kernel_work(call);
  const double flops = roofline_flops_of(model, call.dtype);
  double seconds =
      model.roofline_bytes_per_second > 0 ? work.bytes / model.roofline_bytes_per_second : 0;
  const bool has_arithmetic = call.family == KernelFamily::gemm ||
                              call.family == KernelFamily::conv ||
                              call.family == KernelFamily::attention;
  if (has_arithmetic && flops > 0) seconds = std::max(seconds, work.flops / flops);
  return std::max(seconds, kLeastSeconds);
}

KernelPredictor::KernelPredictor(const KernelModel& model)
    : model_{model}, dispatch_{model.dispatch} {
  for (const KernelGroup& group : model.groups) groups_.emplace(group.key, &group);
  for (const auto& [key, entries] : model.dispatch) {
    KernelCall call = call_of_key(key);
    for (const DispatchEntry& entry : entries) {
      call.sizes = entry.sizes;
      group_of_entry_.emplace(
          &entry, group_of(call, model.sketches[static_cast<std::size_t>(entry.sketch)]));
    }
  }
  for (std::size_t i = 0; i < model.sketches.size(); ++i) {
    std::vector<char>& same = same_algorithm_[model.sketches[i].kernel];
    same.resize(model.sketches.size());
    same[i] = 1;
  }
}

const KernelGroup* KernelPredictor::group_of(const KernelCall& call,
                                             const LaunchSketch& sketch) const {
  for (const std::string& key : group_keys(call, sketch)) {
    const auto at = groups_.find(key);
    if (at != groups_.end()) return at->second;
  }
  return nullptr;
}

KernelPredictor::Uncorrected KernelPredictor::from_sketch(const KernelCall& call,
                                                          const LaunchSketch& sketch,
                                                          const LaunchSize& size,
                                                          const KernelGroup* group,
                                                          bool with_features) const {
  const KernelFeatures features = kernel_features(call, sketch, size, model_);
  Uncorrected at;
  at.seconds = group == nullptr ? roofline_seconds(model_, call) : group_seconds(*group, features);
  if (with_features) at.features = tree_features(call, sketch, features, at.seconds, model_);
  if (group != nullptr) at.group_error = group->error;
  at.prediction.kind = features.kind;
  at.prediction.kernels = sketch.kernels;
  at.prediction.blocks = features.blocks;
  at.prediction.kernel = sketch.kernel;
  at.prediction.is_extrapolated = group == nullptr ||
                                  is_beyond(group->flops, features.work.flops) ||
                                  is_beyond(group->bytes, features.work.all_bytes());
  return at;
}

KernelPredictor::Uncorrected KernelPredictor::uncorrected(const KernelCall& call,
                                                          const KernelLaunch& launch,
                                                          bool skip_same) const {
  const LaunchSketch sketch = sketch_of(call, launch, model_.device.sms);
  Uncorrected at = from_sketch(call, sketch, launch_size(sketch, kernel_work(call), launch),
                               group_of(call, sketch));
  at.prediction.kernel = {};  // the sketch ends here
  const auto same = same_algorithm_.find(sketch.kernel);
  if (same == same_algorithm_.end()) return at;
  // What the fit missed where the same kernel was measured nearby, it will miss here too.
  const NearLaunches found = dispatch_.nearest(call, skip_same, &same->second);
  double residuals = 0;
  double weights = 1 / kTrustedDistance;
  for (std::size_t i = 0; i < found.count; ++i) {
    const double weight = 1 / (found.near[i].distance + kNearEnough);
    residuals += weight * found.near[i].entry->residual;
    weights += weight;
  }
  at.seconds *= std::exp(residuals / weights);
  if (found.count > 0) look_how_far(call, found, at.prediction);
  return at;
}

KernelPredictor::Uncorrected KernelPredictor::uncorrected(const KernelCall& call,
                                                          bool skip_same) const {
  const NearLaunches found = dispatch_.nearest(call, skip_same);
  if (found.count == 0) {
    Uncorrected at = from_sketch(call, usual_sketch(), usual_size(call), nullptr);
    at.seconds = roofline_seconds(model_, call);
    at.prediction.is_extrapolated = true;
    return at;
  }
  const KernelWork work = kernel_work(call);
  Uncorrected nearest;
  double logs = 0;
  double weights = 0;
  for (std::size_t i = 0; i < found.count; ++i) {
    const DispatchEntry& entry = *found.near[i].entry;
    const LaunchSketch& sketch = model_.sketches[static_cast<std::size_t>(entry.sketch)];
    KernelCall measured = call;
    measured.sizes = entry.sizes;
    const KernelWork measured_work = kernel_work(measured);
    const LaunchSize size{
        tiles_of(sketch, work, static_cast<double>(entry.blocks), outputs_of(measured_work)),
        static_cast<double>(entry.helper_threads) * work.all_bytes() /
            std::max(1.0, measured_work.all_bytes())};
    Uncorrected at = from_sketch(call, sketch, size, group_of_entry_.at(&entry), i == 0);
    const double weight = 1 / (found.near[i].distance + kNearEnough);
    const double trust = kTrustedDistance / (found.near[i].distance + kTrustedDistance);
    logs += weight * (std::log(at.seconds) + trust * entry.residual);
    weights += weight;
    if (i == 0) nearest = std::move(at);
  }
  nearest.seconds = std::exp(logs / weights);
  look_how_far(call, found, nearest.prediction);
  return nearest;
}

// Requires: found.count > 0.
void KernelPredictor::look_how_far(const KernelCall& call, const NearLaunches& found,
                                   KernelPrediction& prediction) const {
  prediction.distance = std::sqrt(found.near[0].distance);
  if (prediction.distance > kFarShape) prediction.is_extrapolated = true;
  for (std::size_t i = 0; i < call.sizes.size(); ++i) {
    const auto size = static_cast<double>(call.sizes[i]);
    const auto least = static_cast<double>(found.ranges->least[i]);
    if (size > kBeyondRange * static_cast<double>(found.ranges->most[i]) ||
        size * kBeyondRange < least)
      prediction.is_extrapolated = true;
  }
}

KernelPredictor::Uncorrected KernelPredictor::from_shape(const KernelCall& call) const {
  LaunchSketch usual;
  usual.tile_rows = kUsualTile;
  usual.tile_columns = kUsualTile;
  const KernelWork work = kernel_work(call);
  const KernelFeatures features =
      kernel_features(call, usual, {tiles_of(usual, work, 1, 0), 0}, model_);
  Uncorrected at;
  at.seconds = roofline_seconds(model_, call) + kUsualLaunch;
  at.features = tree_features(call, usual, features, at.seconds, model_);
  return at;
}

// Two ways that err differently: between both is nearer than either.
void KernelPredictor::blend_shape(const KernelCall& call, double share,
                                  KernelPrediction& prediction) const {
  if (share <= 0) return;
  const auto trees = model_.by_shape.find(shape_key(call));
  if (trees == model_.by_shape.end()) return;
  const Uncorrected shape = from_shape(call);
  const double most = std::log(kMostShapeCorrection);
  const double seconds =
      shape.seconds *
      std::exp(std::clamp(boosted_value(trees->second, shape.features), -most, most));
  prediction.seconds *= std::pow(seconds / prediction.seconds, share);
}

// Sums of what a model file holds, each within bounds, need not be. Beyond what was measured nothing is faster than memory;
// a convolution's strides may leave out some of what is counted.
KernelPrediction KernelPredictor::bounded(const KernelCall& call,
                                          KernelPrediction prediction) const {
  const DeviceSpec& device = model_.device;
  const bool moves_all = call.family != KernelFamily::conv;
  if (prediction.is_extrapolated && moves_all && device.bytes_per_second > 0) {
    const double moved = kernel_work(call).bytes - device.l2_bytes;
    prediction.seconds = std::max(prediction.seconds, moved / device.bytes_per_second);
  }
  if (!(prediction.seconds >= kLeastSeconds)) prediction.seconds = kLeastSeconds;
  prediction.seconds = std::min(prediction.seconds, kMostSeconds);
  return prediction;
}

KernelPrediction KernelPredictor::with_launch(const KernelCall& call,
                                              const KernelLaunch& launch) const {
  Uncorrected at = uncorrected(call, launch);
  correct(model_.known_launch, call, std::min(kMostCorrection, kMostOfGroup * at.group_error), at);
  blend_shape(call, share_of_shape(call.family).known, at.prediction);
  return bounded(call, at.prediction);
}

KernelPrediction KernelPredictor::predict(const KernelCall& call) const {
  Uncorrected at = uncorrected(call);
  correct(model_.predicted_launch, call, kMostCorrection, at);
  blend_shape(call, share_of_shape(call.family).predicted, at.prediction);
  return bounded(call, at.prediction);
}

}  // namespace weir::predict
