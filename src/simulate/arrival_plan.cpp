// SPDX-License-Identifier: Apache-2.0
#include "simulate/arrival_plan.h"

#include <algorithm>

namespace weir::simulate {
namespace {

__extension__ using Wide = __int128;

constexpr int kCapPercentile = 99;
constexpr std::int64_t kSpanInLongestRuns = 2;

}  // namespace

Duration percentile(std::vector<Duration> values, int percent) {
  if (values.empty()) return Duration{0};
  const std::size_t rank = (values.size() * static_cast<std::size_t>(percent) + 99) / 100;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

ArrivalPlan::ArrivalPlan(const Workload& workload, MilliGpu capacity, int load_percent) {
  if (workload.jobs.empty()) return;
  add_jobs(workload);
  std::vector<Duration> run_times;
  for (const Arrival& arrival : first_pass_) run_times.push_back(arrival.run_time);

  const Duration longest = percentile(run_times, kCapPercentile);
  Wide work = 0;  // milli-GPU times nanoseconds
  for (Arrival& arrival : first_pass_) {
    arrival.run_time = std::min(arrival.run_time, longest);
    work += static_cast<Wide>(workload.jobs[arrival.job].spec.gpu_total().value) *
            arrival.run_time.count();
  }
  // Offered load = work / (capacity x pass length), so the load fixes the length.
  const Wide length =
      std::max<Wide>(1, work * 100 / (static_cast<Wide>(capacity.value) * load_percent));
  const Wide passes =
      std::max<Wide>(2, (kSpanInLongestRuns * longest.count() + length - 1) / length);
  if (passes * static_cast<Wide>(first_pass_.size()) > kMostArrivals ||
      passes * length > kLongestSpan.count()) {
    is_too_long_ = true;
    first_pass_.clear();
    return;
  }
  pass_length_ = Duration{static_cast<std::int64_t>(length)};
  passes_ = static_cast<std::int64_t>(passes);

  const Duration first = first_pass_.front().at;
  // One mean gap after the last arrival the next pass begins.
  const Duration span = first_pass_.back().at - first;
  const auto gaps = static_cast<std::int64_t>(std::max<std::size_t>(1, first_pass_.size() - 1));
  const Wide slots = span.count() + span.count() / gaps;
  for (Arrival& arrival : first_pass_) {
    const Wide since_first = (arrival.at - first).count();
    arrival.at =
        slots == 0
            ? Duration{0}
            : Duration{static_cast<std::int64_t>(since_first * pass_length_.count() / slots)};
  }
}

ArrivalPlan ArrivalPlan::as_recorded(const Workload& workload) {
  ArrivalPlan plan;
  if (workload.jobs.empty()) return plan;
  plan.add_jobs(workload);
  const Duration first = plan.first_pass_.front().at;
  for (Arrival& arrival : plan.first_pass_) arrival.at -= first;
  plan.pass_length_ = std::max(Duration{1}, plan.first_pass_.back().at);
  plan.passes_ = 1;
  return plan;
}

// In the order in which they came.
void ArrivalPlan::add_jobs(const Workload& workload) {
  for (std::uint32_t i = 0; i < workload.jobs.size(); ++i) {
    const JobTiming& timing = *workload.jobs[i].timing;
    first_pass_.push_back({i, timing.submitted, timing.run_time});
  }
  std::stable_sort(first_pass_.begin(), first_pass_.end(),
                   [](const Arrival& a, const Arrival& b) { return a.at < b.at; });
}

Time ArrivalPlan::arrival(std::size_t n) const {
  const auto pass = static_cast<std::int64_t>(n / first_pass_.size());
  return Time{pass_length_ * pass + first_pass_[n % first_pass_.size()].at};
}

}  // namespace weir::simulate
