// SPDX-License-Identifier: Apache-2.0
#include "predict/overlap/overlap_timeline.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace weir::predict {

OverlapTimeline::OverlapTimeline(std::vector<double> kernel_ms, std::vector<SharedRates> choices)
    : OverlapTimeline{kernel_ms, std::vector<std::vector<SharedRates>>(1, std::move(choices)),
                      std::vector<std::size_t>(kernel_ms.size(), 0)} {}

OverlapTimeline::OverlapTimeline(std::vector<double> kernel_ms,
                                 std::vector<std::vector<SharedRates>> starts,
                                 std::vector<std::size_t> start_of)
    : start_of_{std::move(start_of)} {
  assert(start_of_.size() == kernel_ms.size() && "starts are by kernel");
  work_.push_back(0);
  for (const double ms : kernel_ms) work_.push_back(work_.back() + ms);
  for (const std::vector<SharedRates>& choices : starts) {
    std::vector<Prefix>& sums = starts_.emplace_back();
    for (const SharedRates& rates : choices) sums.push_back(sum_up(kernel_ms, rates));
  }
}

OverlapTimeline::Prefix OverlapTimeline::sum_up(const std::vector<double>& kernel_ms,
                                                const SharedRates& rates) {
  assert(rates.compute.size() == kernel_ms.size() && "rates are by kernel");
  assert(rates.collective.size() == kernel_ms.size() && "rates are by kernel");
  Prefix prefix{{0}, {0}};
  for (std::size_t k = 0; k < kernel_ms.size(); ++k) {
    const double wall = kernel_ms[k] / rates.compute[k];
    prefix.time.push_back(prefix.time.back() + wall);
    prefix.collective.push_back(prefix.collective.back() + wall * rates.collective[k]);
  }
  return prefix;
}

const OverlapTimeline::Prefix& OverlapTimeline::started_at(std::size_t kernel,
                                                           std::size_t choice) const {
  return starts_[start_of_.empty() ? 0 : start_of_[kernel]][choice];
}

std::size_t OverlapTimeline::kernel_at(double work_ms) const {
  if (work_.size() == 1) return 0;
  const auto above = std::upper_bound(work_.begin(), work_.end(), work_ms);
  const auto next = static_cast<std::size_t>(above - work_.begin());
  return std::clamp<std::size_t>(next, 1, work_.size() - 1) - 1;
}

// Of a sum over prefixes, the value inside kernel `k`: linear in the kernel's work.
double OverlapTimeline::within(const std::vector<double>& prefix, std::size_t k,
                               double work_ms) const {
  if (work_.size() == 1) return 0;
  const double whole = work_[k + 1] - work_[k];
  if (whole <= 0) return prefix[k];
  return prefix[k] + (work_ms - work_[k]) / whole * (prefix[k + 1] - prefix[k]);
}

StepMoment OverlapTimeline::advance(StepMoment from, double alone_ms, std::size_t choice) const {
  const std::size_t first = kernel_at(from.work_ms);
  const Prefix& prefix = started_at(first, choice);
  const double time_before = within(prefix.time, first, from.work_ms);
  const double goal = within(prefix.collective, first, from.work_ms) + alone_ms;
  if (goal >= prefix.collective.back()) {
    // Computing ends first; the rest is sent alone.
    const double rest = goal - prefix.collective.back();
    return {from.time_ms + (prefix.time.back() - time_before) + rest, total()};
  }
  const auto above =
      std::upper_bound(prefix.collective.begin() + static_cast<std::ptrdiff_t>(first),
                       prefix.collective.end(), goal);
  const auto k = static_cast<std::size_t>(above - prefix.collective.begin()) - 1;
  const double part =
      (goal - prefix.collective[k]) / (prefix.collective[k + 1] - prefix.collective[k]);
  const double time = prefix.time[k] + part * (prefix.time[k + 1] - prefix.time[k]);
  const double work = work_[k] + part * (work_[k + 1] - work_[k]);
  return {from.time_ms + (time - time_before), std::max(from.work_ms, work)};
}

StepMoment OverlapTimeline::wait_for(StepMoment from, double work_ms) {
  if (from.work_ms >= work_ms) return from;
  return {from.time_ms + (work_ms - from.work_ms), work_ms};
}

double OverlapTimeline::ms_to_finish(double work_ms, std::size_t choice) const {
  const std::size_t first = kernel_at(work_ms);
  const Prefix& prefix = started_at(first, choice);
  return prefix.time.back() - within(prefix.time, first, work_ms);
}

}  // namespace weir::predict
