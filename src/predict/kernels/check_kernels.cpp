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

void add_checked(CheckedTimes& times, const CheckedKernel& one) {
  const double measured = one.sample->milliseconds * 1e-3;
  times.known.push_back({one.known, measured});
  if (one.predicted > 0) times.predicted.push_back({one.predicted, measured});
  times.roofline.push_back({one.roofline, measured});
}

}  // namespace

std::vector<CheckedKernel> check_kernels(const KernelModel& model,
                                         const std::vector<const KernelSample*>& samples) {
  const KernelPredictor predictor{model};
  std::vector<CheckedKernel> checked;
  checked.reserve(samples.size());
  for (const KernelSample* sample : samples) {
    const KernelPrediction known = predictor.with_launch(sample->call, sample->launch);
    const double predicted = model.dispatch.empty() ? 0 : predictor.predict(sample->call).seconds;
    checked.push_back({sample, known.seconds, predicted, roofline_seconds(model, sample->call),
                       known.kind, false});
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
    const KernelModel model = fit_kernels(train, device, options);
    const std::vector<CheckedKernel> checked = check_kernels(model, test);
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
    const bool is_long = one.sample->milliseconds * 1e-3 > kLongKernel;
    std::vector<std::string> keys = {
        family, family + " " + std::string{to_string(one.kind)},
        family + " " + call.dtype + " " + call.op +
            (call.family == KernelFamily::gemm || call.variant.empty() ? "" : " " + call.variant)};
    if (is_long) keys.push_back(family + " > 0.2 ms");
    if (one.is_covered) keys.push_back(family + " covered");
    if (one.is_covered && is_long) keys.push_back(family + " covered > 0.2 ms");
    for (const std::string& key : keys) add_checked(times[key], one);
  }
  std::map<std::string, CheckedFigures> figures;
  for (const auto& [key, all] : times)
    figures[key] = {error_figures(all.known), error_figures(all.predicted),
                    error_figures(all.roofline)};
  return figures;
}

}  // namespace weir::predict
