// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/themis.h"

#include <algorithm>
#include <limits>

#include "schedule/policies/fair_shares.h"
#include "schedule/policies/rounds.h"

namespace weir::schedule {
namespace {

// 5 minutes met the most deadlines of what was tried (docs/models/rivals.md).
constexpr Duration kThemisRound = std::chrono::minutes{5};

// The larger first.
struct Priority {
  std::int64_t per_time_run = 0;  // share over the part of its life it has run
  std::int64_t share = 0;
  bool runs = false;
  auto operator<=>(const Priority&) const = default;
};

std::int64_t in_milliseconds(Duration time) {
  return time / std::chrono::milliseconds{1};
}

Priority priority_of(const TrainingJob& job, std::int64_t share, Time now) {
  Priority priority{std::numeric_limits<std::int64_t>::max(), share, !job.block.is_none()};
  const std::int64_t has_run = in_milliseconds(job.running_at(now));
  const WideInteger age = in_milliseconds(now - job.submitted);
  if (has_run > 0) priority.per_time_run = static_cast<std::int64_t>(share * age / has_run);
  return priority;
}

std::vector<std::int64_t> shares_of_active(const PoolView& view) {
  std::vector<FairJob> jobs;
  jobs.reserve(view.pool.active.size());
  for (const JobId id : view.pool.active) {
    const TrainingJob& job = view.state.job(id);
    jobs.push_back({view.now - job.submitted, time_for(job.left_at(view.now), asked_size(job).rate),
                    time_on_equal_share(view, job), asked_size(job).gpus});
  }
  return fair_shares(jobs, view.pool.gpus_up());
}

enum class Standing : std::uint8_t { keeps_its_gpus, competes, has_just_stopped };

Standing standing_of(const TrainingJob& job, const Round& round) {
  const bool runs = !job.block.is_none();
  if (runs && (!round.just_began || round.has_changed(job))) return Standing::keeps_its_gpus;
  const bool has_run = job.served.running > Duration{0};
  if (!runs && has_run && round.has_changed(job)) return Standing::has_just_stopped;
  return Standing::competes;
}

std::vector<JobId> by_priority(const PoolView& view, const Round& round) {
  struct Entry {
    Standing standing;
    Priority priority;
    JobId job;
  };
  const std::vector<std::int64_t> shares = shares_of_active(view);
  std::vector<Entry> entries;
  entries.reserve(shares.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const JobId id = view.pool.active[i];
    const TrainingJob& job = view.state.job(id);
    entries.push_back({standing_of(job, round), priority_of(job, shares[i], view.now), id});
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.standing != b.standing ? a.standing < b.standing : a.priority > b.priority;
  });
  std::vector<JobId> order;
  order.reserve(entries.size());
  for (const Entry& entry : entries) order.push_back(entry.job);
  return order;
}

}  // namespace

Duration time_on_equal_share(const PoolView& view, const TrainingJob& job) {
  const auto jobs = static_cast<WideInteger>(view.pool.active.size());
  const WideInteger gpus = std::max(1, view.pool.gpus_up());
  const SizeOption& size = asked_size(job);
  const WideInteger alone = time_for(work_of_iterations(job.spec->iterations), size.rate).count();
  const WideInteger shared = std::max(alone, alone * size.gpus * jobs / gpus);
  return Duration{
      static_cast<std::int64_t>(std::min<WideInteger>(shared, Duration::max().count()))};
}

Allocation ThemisPolicy::allocate(const PoolView& view) const {
  const Line line = line_of(view);
  if (!line.somebody_waits()) return {keep_running(view, line)};
  const Round round = round_of(view, kThemisRound);
  if (!round.just_began && !line.somebody_waiting_fits())
    return {keep_running(view, line), round.end};
  return {serve_in_order(view, by_priority(view, round)), round.end};
}

}  // namespace weir::schedule
