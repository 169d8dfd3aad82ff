// SPDX-License-Identifier: Apache-2.0
#include "predict/overlap/overlap_step.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

namespace weir::predict {

OverlapStep::OverlapStep(OverlapTimeline timeline, std::vector<GradientGroup> groups,
                         std::vector<int> ctas, Duration duration)
    : timeline_{std::move(timeline)},
      groups_{std::move(groups)},
      ctas_{std::move(ctas)},
      duration_{std::move(duration)},
      sums_{0} {
  assert(timeline_.choices() == ctas_.size() && "rates are by choice");
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
    const StepMoment end = timeline_.advance(now, collective.alone_ms, part.choice);
    collective.end_ms = end.time_ms;
    if (is_computing && end.work_ms >= timeline_.total()) {
      is_computing = false;
      run.computed_ms = now.time_ms + timeline_.ms_to_finish(now.work_ms, part.choice);
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

OverlapStep make_overlap_step(const ContendedGpu& gpu, const ContentionCurves& curves,
                              const CollectiveSystem& system,
                              const std::vector<OverlapKernel>& kernels,
                              const std::vector<GroupAfterKernels>& groups,
                              const std::vector<int>& ctas) {
  std::vector<double> times;
  for (const OverlapKernel& kernel : kernels) times.push_back(kernel.ms);
  std::vector<SharedRates> choices;
  for (const int count : ctas) {
    const double gbps = bus_gbps(system, count);
    SharedRates rates;
    for (const OverlapKernel& kernel : kernels) {
      const double rate = contended_rate(gpu, curves, kernel, count, gbps);
      rates.compute.push_back(rate);
      const double share = beside_share(system, count);
      rates.collective.push_back(
          std::min(share, modelled_collective_share(gpu, kernel, rate, gbps)));
    }
    choices.push_back(std::move(rates));
  }
  OverlapTimeline timeline{std::move(times), std::move(choices)};
  std::vector<GradientGroup> ready;
  for (const GroupAfterKernels& group : groups)
    ready.push_back({timeline.work_after(group.kernels), group.bytes});
  return {std::move(timeline), std::move(ready), ctas,
          [system, ctas](std::int64_t bytes, std::size_t choice) {
            return collective_ms(system, bytes, ctas[choice]);
          }};
}

}  // namespace weir::predict
