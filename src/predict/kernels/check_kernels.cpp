// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/check_kernels.h"

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

std::string sequence_key(const KernelSample& sample) {
  return sample.call.op + "/" + sample.call.dtype + "/" + sample.call.variant + "/" +
         sample.launch.algorithm;
}

// Without `overhead` in any of them.
void add_checked(CheckedTimes& times, const CheckedKernel& one, double measured, double overhead) {
  times.known.push_back({one.known - overhead, measured});
  if (one.predicted > 0) times.predicted.push_back({one.predicted - overhead, measured});
  times.roofline.push_back({one.roofline - overhead, measured});
}

}  // namespace

std::vector<CheckedKernel> check_kernels(const KernelModel& model,
                                         const std::vector<const KernelSample*>& samples,
                                         const OverheadDrift& drift) {
  const KernelPredictor predictor{model};
  std::vector<CheckedKernel> checked;
  checked.reserve(samples.size());
  for (const KernelSample* sample : samples) {
    const KernelPrediction known = predictor.with_launch(sample->call, sample->launch);
    const double overhead = drift.milliseconds(*sample) * 1e-3;
    const double predicted =
        model.dispatch.empty() ? 0 : predictor.predict(sample->call).seconds + overhead;
    checked.push_back({sample, known.seconds + overhead, predicted,
                       roofline_seconds(model, sample->call) + overhead, overhead,
                       drift.kernel_milliseconds(*sample) * 1e-3, known.kind, false});
  }
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
    const KernelsAlone alone = kernels_alone(train, device, options.with_drift);
    const KernelModel model = fit_kernels(alone.pointers, device, options);
    const std::vector<CheckedKernel> checked = check_kernels(model, test, alone.drift);
    all.insert(all.end(), checked.begin(), checked.end());
  }
  return all;
}

void mark_covered(const std::vector<const KernelSample*>& among,
                  std::vector<CheckedKernel>& checked) {
  std::map<std::string, std::int64_t> counts;
  for (const KernelSample* sample : among) ++counts[sequence_key(*sample)];
  for (CheckedKernel& one : checked)
    one.is_covered = counts[sequence_key(*one.sample)] >= kCoveredSamples;
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
    if (one.is_covered && is_long) keys.push_back(family + " covered > 0.2 ms");
    for (const std::string& key : keys) add_checked(times[key], one, measured, 0);
    if (one.overhead > 0) add_checked(times[family + " alone"], one, one.alone, one.overhead);
  }
  std::map<std::string, CheckedFigures> figures;
  for (const auto& [key, all] : times)
    figures[key] = {error_figures(all.known), error_figures(all.predicted),
                    error_figures(all.roofline)};
  return figures;
}

}  // namespace weir::predict
