// SPDX-License-Identifier: Apache-2.0
#include "control/profiling.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace weir::control {
namespace {

constexpr std::string_view kProfile = " (profile)";
constexpr std::string_view kNotMeasured = " (not measured yet)";
constexpr std::int32_t kLargestSize = 1 << 16;

}  // namespace

void ProfilingPass::measured(IterationRate rate) {
  const bool helps =
      points_.empty() || rate.value * 100 >= points_.back().rate.value * (100 + kLeastGainPercent);
  points_.push_back({size_, rate});
  is_over_ = !helps || size_ >= last_;
  if (!is_over_) size_ *= 2;
}

ProfilingPass pass_for(const formats::JobDocument& document, std::int32_t largest) {
  if (document.is_rigid) return {document.gpus, document.gpus};
  return {1, static_cast<std::int32_t>(std::bit_floor(static_cast<std::uint32_t>(largest)))};
}

formats::JobDocument profile_run(const formats::JobDocument& document, std::int32_t gpus) {
  formats::JobDocument run = document;
  const std::string ending = fmt::format(".profile-{}", gpus);
  run.name = run.name.substr(0, formats::kLongestJobName - ending.size()) + ending;
  run.gpus = gpus;
  run.is_rigid = true;
  run.is_to_be_profiled = false;
  run.throughput.reset();
  run.deadline = std::monostate{};
  run.kind = DeadlineKind::none;
  run.retries = 0;
  auto& environment = run.launch.environment;
  std::erase_if(environment, [](const auto& entry) { return entry.first == "WEIR_PROFILING"; });
  environment.emplace_back("WEIR_PROFILING", "1");
  std::sort(environment.begin(), environment.end());
  return run;
}

bool tells_progress(const LaunchSpec& launch) {
  return launch.reports_progress || !launch.progress_line.empty();
}

CurveKey profile_of(const CurveKey& key) {
  return {key.model + std::string{kProfile}, key.global_batch};
}
bool is_profile(const CurveKey& key) {
  return key.model.ends_with(kProfile);
}
CurveKey not_measured_yet(const CurveKey& key) {
  return {key.model + std::string{kNotMeasured}, key.global_batch};
}
bool is_not_measured_yet(const CurveKey& key) {
  return key.model.ends_with(kNotMeasured);
}

Curve any_rate() {
  std::vector<CurvePoint> points;
  for (std::int32_t gpus = 1; gpus <= kLargestSize; gpus *= 2)
    points.push_back({gpus, IterationRate{1'000'000}});
  return Curve{std::move(points), CurveOrigin::assumed};
}

}  // namespace weir::control
