// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/pollux.h"

#include <algorithm>
#include <utility>

#include "schedule/admit/slots.h"
#include "schedule/policies/deadline_order.h"
#include "schedule/policies/share_search.h"

namespace weir::schedule {
namespace {

constexpr Duration kPolluxRound = from_seconds(60);

// Without news, a round in which nothing changed is followed by another only after so many: all that
// differs then is that jobs are older, and a change weighs less on them.
constexpr std::int64_t kRoundsWithoutNews = 10;

// Speed-ups are counted in millionths. What is added to each keeps the mean finite where a job has
// nothing: a thousandth, as published.
constexpr WideInteger kOne = 1'000'000;
constexpr WideInteger kLeastSpeedup = kOne / 1000;

// How much of its life a job has to show for, if it pays once more: what remains of a speed-up.
struct LifeLeft {
  std::int64_t worked;
  std::int64_t lived;
};

LifeLeft after_a_change(const TrainingJob& job, Duration price, Time now) {
  if (job.block.is_none()) return {1, 1};  // it pays whenever it starts
  const Duration age = now - job.submitted;
  const Duration paid = price * static_cast<std::int64_t>(job.generation);
  return {std::max(Duration{0}, age - paid).count(), std::max(Duration{1}, age + price).count()};
}

// To the power of -1, so that the least sum is the greatest mean.
std::int64_t cost_of(IterationRate rate, IterationRate fair, const LifeLeft& life) {
  const WideInteger speedup = kOne * rate.value / fair.value * life.worked / life.lived;
  return static_cast<std::int64_t>(kOne * kOne / (speedup + kLeastSpeedup));
}

IterationRate fair_rate(const SizeTable& sizes, std::int32_t fair_gpus) {
  IterationRate rate = sizes.front().rate;
  for (const SizeOption& size : sizes) {
    if (size.gpus <= fair_gpus) rate = size.rate;
  }
  return rate;
}

SharingJob to_share(const TrainingJob& job, std::int32_t fair_gpus, Time now) {
  const IterationRate fair = fair_rate(*job.sizes, fair_gpus);
  SharingJob shared;
  shared.options.push_back({0, cost_of(IterationRate{0}, fair, {1, 1})});
  shared.present = static_cast<std::uint8_t>(job.level() + 1);
  for (const SizeOption& size : *job.sizes) {
    const bool is_present = shared.options.size() == shared.present;
    const LifeLeft life = is_present ? LifeLeft{1, 1} : after_a_change(job, size.price, now);
    shared.options.push_back({size.gpus, cost_of(size.rate, fair, life)});
  }
  return shared;
}

// Whoever has had least comes first where GPUs are short.
std::vector<JobId> by_service(const PoolView& view) {
  std::vector<std::pair<std::int64_t, JobId>> keyed;
  for (const JobId id : view.pool.active)
    keyed.emplace_back(view.state.job(id).gpu_milliseconds_at(view.now), id);
  std::sort(keyed.begin(), keyed.end());
  std::vector<JobId> order;
  for (const auto& [service, id] : keyed) order.push_back(id);
  return order;
}

std::vector<std::uint32_t> present_sizes(const PoolView& view, const std::vector<JobId>& order) {
  std::vector<std::uint32_t> gpus;
  for (const JobId id : order) gpus.push_back(view.state.job(id).block.size);
  return gpus;
}

std::vector<std::uint32_t> share_anew(const PoolView& view, const std::vector<JobId>& order) {
  const std::int32_t all = view.pool.gpus_up();
  const auto count = static_cast<std::int32_t>(order.size());
  const std::int32_t fair = std::max(1, (all + count - 1) / std::max(1, count));
  std::vector<SharingJob> jobs;
  for (const JobId id : order) jobs.push_back(to_share(view.state.job(id), fair, view.now));
  const auto round = static_cast<std::uint64_t>(view.now.time_since_epoch().count());
  const SeededRng rng = SeededRng{view.config.seed}.fork(round);
  const Sharing sharing = search_sharing(jobs, all, SearchRules{}, rng);
  std::vector<std::uint32_t> gpus;
  for (std::size_t i = 0; i < order.size(); ++i)
    gpus.push_back(static_cast<std::uint32_t>(jobs[i].options[sharing.options[i]].gpus));
  return gpus;
}

}  // namespace

Verdict PolluxPolicy::judge(const PoolView&, const TrainingJob& job) const {
  if (job.sizes->empty()) return Refusal{{ReasonCode::never_fits, 0}, std::nullopt};
  return NoPromise{};
}

Allocation PolluxPolicy::allocate(const PoolView& view) const {
  const Duration round = view.config.round.count() > 0 ? view.config.round : kPolluxRound;
  const Time begun = slot_before(view.now, round);
  const std::vector<JobId> order = by_service(view);
  Allocation allocation;
  if (order.empty()) return allocation;
  const std::vector<std::uint32_t> present = present_sizes(view, order);
  if (begun < view.now) {
    allocation.blocks = place_in_order(view.state, view.pool, order, present);
    allocation.wake_up = begun + round;
    return allocation;
  }
  const std::vector<std::uint32_t> gpus = share_anew(view, order);
  allocation.blocks = place_in_order(view.state, view.pool, order, gpus);
  allocation.wake_up = begun + round * (gpus == present ? kRoundsWithoutNews : 1);
  return allocation;
}

}  // namespace weir::schedule
