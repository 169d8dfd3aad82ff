// SPDX-License-Identifier: Apache-2.0
#include "predict/overlap/overlap_step.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <set>
#include <utility>

namespace weir::predict {

OverlapStep::OverlapStep(OverlapTimeline timeline, std::vector<GradientGroup> groups,
                         std::vector<int> ctas, Duration duration, Slowing slowing)
    : timeline_{std::move(timeline)},
      groups_{std::move(groups)},
      ctas_{std::move(ctas)},
      duration_{std::move(duration)},
      slowing_{std::move(slowing)},
      sums_{0} {
  assert((slowing_ || timeline_.choices() == ctas_.size()) && "rates are by choice");
  for (const GradientGroup& group : groups_) sums_.push_back(sums_.back() + group.bytes);
}

OverlapRun OverlapStep::run(const std::vector<SentGroups>& sent) const {
  OverlapRun run;
  StepMoment now;
  std::size_t first = 0;
  bool is_computing = timeline_.total() > 0;
  for (const SentGroups& part : sent) {
    CollectiveRun collective{first, part.end, part.choice, bytes(first, part.end), 0, 0, 0};
    collective.alone_ms = alone_ms(collective.bytes, part.choice);
    now = OverlapTimeline::wait_for(now, groups_[part.end - 1].ready_ms);
    collective.start_ms = now.time_ms;
    const std::size_t slowed_by = slows_like(collective.bytes, part.choice);
    const StepMoment end = timeline_.advance(now, collective.alone_ms, slowed_by);
    collective.end_ms = end.time_ms;
    if (is_computing && end.work_ms >= timeline_.total()) {
      is_computing = false;
      run.computed_ms = now.time_ms + timeline_.ms_to_finish(now.work_ms, slowed_by);
    }
    now = end;
    first = part.end;
    run.collectives.push_back(collective);
  }
  const StepMoment end = OverlapTimeline::wait_for(now, timeline_.total());
  if (is_computing) run.computed_ms = end.time_ms;
  run.step_ms = end.time_ms;
  return run;
}

double OverlapStep::least_alone_ms(std::int64_t bytes) const {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t choice = 0; choice < ctas_.size(); ++choice)
    least = std::min(least, alone_ms(bytes, choice));
  return least;
}

double OverlapStep::sending_ms() const {
  double sum = 0;
  for (const GradientGroup& group : groups_) sum += least_alone_ms(group.bytes);
  return sum;
}

double OverlapStep::lower_bound_ms() const {
  if (groups_.empty()) return timeline_.total();
  return std::max(timeline_.total(), groups_.front().ready_ms + sending_ms());
}

double OverlapStep::fused_lower_bound_ms() const {
  if (groups_.empty()) return timeline_.total();
  return std::max(timeline_.total(), groups_.front().ready_ms + least_alone_ms(sums_.back()));
}

double OverlapStep::without_overlap_ms() const {
  return timeline_.total() + sending_ms();
}

std::vector<SentGroups> all_alike(const OverlapStep& step, std::size_t choice) {
  std::vector<SentGroups> sent;
  for (std::size_t g = 0; g < step.groups().size(); ++g) sent.push_back({g + 1, choice});
  return sent;
}

namespace {

// Sizes of clusters whose places matter, smallest first; 1, for all other kernels, comes first.
std::vector<int> cluster_sizes(const ContentionCurves& curves,
                               const std::vector<OverlapKernel>& kernels) {
  std::set<int> sizes{1};
  for (const OverlapKernel& kernel : kernels)
    if (needs_places(curves, kernel)) sizes.insert(kernel.cluster);
  return {sizes.begin(), sizes.end()};
}

std::size_t start_during(const ContentionCurves& curves, const OverlapKernel& kernel,
                         const std::vector<int>& sizes) {
  if (!needs_places(curves, kernel)) return 0;
  const auto at = std::find(sizes.begin(), sizes.end(), kernel.cluster);
  return static_cast<std::size_t>(at - sizes.begin());
}

// Numbers of CTAs that collectives come to use: those asked for, and fewer where a group is small.
std::vector<int> used_ctas(const std::vector<GroupAfterKernels>& groups,
                           const std::vector<int>& ctas) {
  std::set<int> used{ctas.begin(), ctas.end()};
  for (const GroupAfterKernels& group : groups)
    for (const int count : ctas) used.insert(channels_used(count, group.bytes));
  return {used.begin(), used.end()};
}

// Of all kernels beside a collective that came while clusters of `running` blocks ran. It lies between those, and so
// between smaller ones.
SharedRates rates_beside(const ContendedGpu& gpu, const ContentionCurves& curves,
                         const CollectiveSystem& system, const std::vector<OverlapKernel>& kernels,
                         int ctas, int running) {
  const double gbps = bus_gbps(system, ctas);
  const double share = beside_share(system, ctas);
  SharedRates rates;
  for (const OverlapKernel& kernel : kernels) {
    const auto place = kernel.cluster > 1 && kernel.cluster <= running ? CollectivePlace::between
                                                                       : CollectivePlace::spread;
    const double rate = contended_rate(gpu, curves, kernel, ctas, gbps, place);
    rates.compute.push_back(rate);
    rates.collective.push_back(std::min(share, modelled_collective_share(gpu, kernel, rate, gbps)));
  }
  return rates;
}

}  // namespace

OverlapStep make_overlap_step(const ContendedGpu& gpu, const ContentionCurves& curves,
                              const CollectiveSystem& system,
                              const std::vector<OverlapKernel>& kernels,
                              const std::vector<GroupAfterKernels>& groups,
                              const std::vector<int>& ctas) {
  const std::vector<int> sizes = cluster_sizes(curves, kernels);
  std::vector<double> times;
  std::vector<std::size_t> start_of;
  for (const OverlapKernel& kernel : kernels) {
    times.push_back(kernel.ms);
    start_of.push_back(start_during(curves, kernel, sizes));
  }
  const std::vector<int> used = used_ctas(groups, ctas);
  std::vector<std::vector<SharedRates>> starts;
  for (const int running : sizes) {
    std::vector<SharedRates>& choices = starts.emplace_back();
    for (const int count : used)
      choices.push_back(rates_beside(gpu, curves, system, kernels, count, running));
  }
  OverlapTimeline timeline{std::move(times), std::move(starts), std::move(start_of)};
  std::vector<GradientGroup> ready;
  for (const GroupAfterKernels& group : groups)
    ready.push_back({timeline.work_after(group.kernels), group.bytes});
  return {std::move(timeline), std::move(ready), ctas,
          [system, ctas](std::int64_t bytes, std::size_t choice) {
            return collective_ms(system, bytes, ctas[choice]);
          },
          [used, ctas](std::int64_t bytes, std::size_t choice) {
            // Groups sent together may use a number that no group uses alone: as the next larger one.
            const int channels = channels_used(ctas[choice], bytes);
            const auto at = std::lower_bound(used.begin(), used.end(), channels);
            return static_cast<std::size_t>(at - used.begin());
          }};
}

}  // namespace weir::predict
