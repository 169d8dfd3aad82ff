// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/chronus.h"

#include <algorithm>
#include <utility>

#include "schedule/admit/slots.h"
#include "schedule/place/rearrange.h"
#include "schedule/policies/deadline_order.h"
#include "schedule/policies/lease_plan.h"

namespace weir::schedule {
namespace {

constexpr Duration kLease = from_seconds(240);

// What a promise holds back for a move that its plan does not foresee, in prices of a start.
constexpr std::int64_t kMovesHeldBack = 1;

std::uint32_t gpus_of(const TrainingJob& job) {
  return static_cast<std::uint32_t>(job.sizes->front().gpus);
}

// The leases as they lie around now.
class Leases {
 public:
  explicit Leases(const PoolView& view)
      : view_{view},
        length_{view.config.round.count() > 0 ? view.config.round : kLease},
        next_{slot_before(view.now, length_) + length_},
        is_new_{slot_before(view.now, length_) == view.now} {}

  // Every lease ends here; at this moment all are given anew.
  bool all_are_open() const { return is_new_; }
  Time next_boundary() const { return next_; }

  bool is_held_by(const TrainingJob& job) const { return !is_new_ && !job.block.is_none(); }

  LeaseGrid grid() const {
    LeaseGrid grid{next_ - view_.now, length_, view_.pool.gpus_up(), 0};
    for (const JobId id : view_.pool.active) {
      const TrainingJob& job = view_.state.job(id);
      if (is_held_by(job)) grid.kept_first += static_cast<std::int32_t>(job.block.size);
    }
    return grid;
  }

  LeaseJob to_plan(const TrainingJob& job, std::int64_t moves_held_back) const {
    const SizeOption& size = job.sizes->front();
    const bool runs = !job.block.is_none();
    LeaseJob planned;
    planned.gpus = size.gpus;
    planned.price = size.price;
    planned.need = time_for(job.left_at(view_.now), size.rate) + size.price * moves_held_back;
    if (runs) planned.need += std::max(Duration{0}, job.ready_at - view_.now);
    planned.deadline = std::max(Duration{0}, deadline_of(job) - view_.now);
    planned.runs = runs;
    planned.keeps_first = is_held_by(job);
    return planned;
  }

 private:
  const PoolView& view_;
  Duration length_;
  Time next_;
  bool is_new_;
};

bool is_late_already(const LeaseJob& job) {
  return job.need + (job.runs ? Duration{0} : job.price) > job.deadline;
}

std::vector<JobId> promised_by_deadline(const PoolView& view) {
  std::vector<JobId> promised = by_deadline(view.state, view.pool);
  std::erase_if(promised, [&](JobId id) { return !view.state.job(id).is_promised(); });
  return promised;
}

// A job that has used up what was held back for it does with what is left.
LeaseJob with_something_held_back(const Leases& leases, const TrainingJob& job) {
  const LeaseJob planned = leases.to_plan(job, kMovesHeldBack);
  return is_late_already(planned) ? leases.to_plan(job, 0) : planned;
}

// The jobs that are promised, with the newcomer where its deadline puts it. A job that is late
// already does not keep others out.
std::vector<LeaseJob> beside_the_promised(const PoolView& view, const Leases& leases,
                                          const LeaseJob& newcomer) {
  std::vector<LeaseJob> jobs;
  for (const JobId id : promised_by_deadline(view)) {
    const LeaseJob job = with_something_held_back(leases, view.state.job(id));
    if (!is_late_already(job)) jobs.push_back(job);
  }
  const auto at = std::upper_bound(
      jobs.begin(), jobs.end(), newcomer,
      [](const LeaseJob& a, const LeaseJob& b) { return a.deadline < b.deadline; });
  jobs.insert(at, newcomer);
  return jobs;
}

// A timetable that keeps all promises, with something held back if possible: what was promised with
// it is planned with it. Failing that, as many as filling can.
LeaseTimetable timetable_for(const PoolView& view, const Leases& leases,
                             const std::vector<JobId>& promised) {
  const LeaseGrid grid = leases.grid();
  std::vector<LeaseJob> jobs;
  for (const JobId id : promised)
    jobs.push_back(with_something_held_back(leases, view.state.job(id)));
  if (auto plan = plan_leases(grid, jobs)) return std::move(*plan);
  for (std::size_t i = 0; i < jobs.size(); ++i)
    jobs[i] = leases.to_plan(view.state.job(promised[i]), 0);
  if (auto plan = plan_leases(grid, jobs)) return std::move(*plan);
  LeaseFiller filler{grid};
  LeaseTimetable timetable;
  for (std::uint32_t i = 0; i < jobs.size(); ++i) filler.fill(jobs[i], i, &timetable);
  return timetable;
}

std::vector<bool> planned_now(const LeaseTimetable& timetable, std::size_t jobs) {
  std::vector<bool> has_first(jobs);
  for (const LeaseRun& run : timetable) {
    if (run.from == 0) has_first[run.job] = true;
  }
  return has_first;
}

// In which order leases that are left over are given.
std::vector<JobId> shortest_first(const PoolView& view, std::vector<JobId> jobs) {
  std::vector<std::pair<Duration, JobId>> keyed;
  for (const JobId id : jobs) {
    const TrainingJob& job = view.state.job(id);
    const SizeOption& size = job.sizes->front();
    const Duration start = job.block.is_none() ? size.price : Duration{0};
    keyed.emplace_back(time_for(job.left_at(view.now), size.rate) + start, id);
  }
  std::sort(keyed.begin(), keyed.end());
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i] = keyed[i].second;
  return jobs;
}

// Who has the lease that runs now: those who keep it or need it for their promise, and those who get
// what is left over.
struct Holders {
  std::vector<JobId> needed;
  std::vector<JobId> left_over;
};

Holders choose_holders(const PoolView& view, const Leases& leases) {
  const std::vector<JobId> promised = promised_by_deadline(view);
  const std::vector<bool> is_planned =
      planned_now(timetable_for(view, leases, promised), promised.size());
  Holders holders;
  std::vector<JobId> waiting;
  std::vector<JobId> unpromised;
  std::int64_t free = view.pool.gpus_up();
  const auto take = [&](std::vector<JobId>& list, JobId id) {
    list.push_back(id);
    free -= gpus_of(view.state.job(id));
  };
  for (std::size_t i = 0; i < promised.size(); ++i) {
    if (is_planned[i] || leases.is_held_by(view.state.job(promised[i]))) {
      take(holders.needed, promised[i]);
    } else {
      waiting.push_back(promised[i]);
    }
  }
  for (const JobId id : view.pool.active) {
    const TrainingJob& job = view.state.job(id);
    if (job.is_promised()) continue;
    if (leases.is_held_by(job)) {
      take(holders.needed, id);
    } else {
      unpromised.push_back(id);
    }
  }
  unpromised = shortest_first(view, std::move(unpromised));
  waiting.insert(waiting.end(), unpromised.begin(), unpromised.end());
  for (const JobId id : waiting) {
    if (static_cast<std::int64_t>(gpus_of(view.state.job(id))) <= free) take(holders.left_over, id);
  }
  return holders;
}

// Jobs that need the lease may move others to get a block; jobs that start on what is left over may
// not, a move costs whoever is moved.
std::vector<WantedBlock> place(const PoolView& view, const Holders& holders) {
  const Reason needed{ReasonCode::as_promised, 0};
  const Reason left_over{ReasonCode::left_over, 0};
  std::vector<WantedBlock> wanted;
  std::vector<SizeWish> wishes;
  std::vector<JobId> starters;
  const auto wish = [&](JobId id, Reason reason) {
    const TrainingJob& job = view.state.job(id);
    wanted.push_back({id, kNoGpus, reason});
    wishes.push_back({job.block, gpus_of(job)});
  };
  for (const JobId id : holders.needed) wish(id, needed);
  for (const JobId id : holders.left_over) {
    if (view.state.job(id).block.is_none()) {
      starters.push_back(id);
    } else {
      wish(id, left_over);
    }
  }
  const std::vector<GpuBlock> blocks = rearrange(wishes, view.pool.closed);
  BlockMap map = view.pool.closed;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    wanted[i].block = blocks[i];
    if (!blocks[i].is_none()) map.take(blocks[i]);
  }
  for (const JobId id : starters) {
    const auto block = map.best_fit(gpus_of(view.state.job(id)));
    if (!block) continue;
    map.take(*block);
    wanted.push_back({id, *block, left_over});
  }
  std::erase_if(wanted, [](const WantedBlock& block) { return block.block.is_none(); });
  std::sort(wanted.begin(), wanted.end(),
            [](const WantedBlock& a, const WantedBlock& b) { return a.job < b.job; });
  return wanted;
}

Verdict no_promise(const TrainingJob& job, ReasonCode why) {
  if (job.spec->deadline_kind == DeadlineKind::soft) return NoPromise{{why, 0}, {}, {}};
  return Refusal{{why, 0}, std::nullopt};
}

}  // namespace

Verdict ChronusPolicy::judge(const PoolView& view, const TrainingJob& job) const {
  if (job.sizes->empty()) return Refusal{{ReasonCode::never_fits, 0}, std::nullopt};
  if (!job.has_deadline()) return NoPromise{};
  const Leases leases{view};
  const LeaseJob newcomer = leases.to_plan(job, kMovesHeldBack);
  if (is_late_already(newcomer)) return no_promise(job, ReasonCode::too_slow_alone);
  if (!plan_leases(leases.grid(), beside_the_promised(view, leases, newcomer)))
    return no_promise(job, ReasonCode::no_room);
  Promise promise;
  promise.deadline = deadline_of(job);
  promise.reason = {ReasonCode::fits_beside_promises, 0};
  return promise;
}

Allocation ChronusPolicy::allocate(const PoolView& view) const {
  const Leases leases{view};
  Allocation allocation;
  allocation.blocks = place(view, choose_holders(view, leases));
  // While everybody runs, nothing can change by itself.
  if (allocation.blocks.size() < view.pool.active.size())
    allocation.wake_up = leases.next_boundary();
  return allocation;
}

}  // namespace weir::schedule
