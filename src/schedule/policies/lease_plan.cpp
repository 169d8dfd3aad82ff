// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/lease_plan.h"

#include <algorithm>
#include <set>
#include <utility>

namespace weir::schedule {
namespace {

// A job on its way through the leases.
struct Progress {
  Duration left{0};
  Duration unpaid{0};
  bool had_last = false;

  explicit Progress(const LeaseJob& job) : left{job.need}, had_last{job.runs} {}

  bool is_done() const { return left <= Duration{0}; }
  // `usable`: what of the lease lies before the deadline.
  void run(const LeaseJob& job, Duration usable) {
    if (!had_last) unpaid = job.price;
    had_last = true;
    const Duration paid = std::min(unpaid, usable);
    unpaid -= paid;
    left -= usable - paid;
  }
  void pause() { had_last = false; }
};

Duration usable(const LeaseGrid& grid, std::int32_t lease, Duration deadline) {
  return std::max(Duration{0}, std::min(grid.end(lease), deadline) - grid.start(lease));
}

// How many leases begin before that time.
std::int32_t leases_before(const LeaseGrid& grid, Duration time) {
  if (time <= Duration{0}) return 0;
  if (time <= grid.first) return 1;
  return static_cast<std::int32_t>(1 +
                                   (time - grid.first + grid.length - Duration{1}) / grid.length);
}

void add_lease(LeaseTimetable& timetable, std::uint32_t job, std::int32_t lease) {
  if (!timetable.empty() && timetable.back().job == job && timetable.back().to == lease) {
    ++timetable.back().to;
  } else {
    timetable.push_back({job, lease, lease + 1});
  }
}

}  // namespace

LeaseFiller::LeaseFiller(const LeaseGrid& grid)
    : grid_{grid}, free_{grid.gpus - grid.kept_first}, next_{1} {}

void LeaseFiller::reach(std::int32_t end) {
  for (auto lease = static_cast<std::int32_t>(free_.size()); lease < end; ++lease) {
    free_.push_back(grid_.gpus);
    next_.push_back(lease + 1);
  }
}

std::int32_t LeaseFiller::past_full(std::int32_t lease) {
  const auto known = static_cast<std::int32_t>(free_.size());
  std::int32_t open = lease;
  while (open < known && free_[static_cast<std::size_t>(open)] <= 0)
    open = next_[static_cast<std::size_t>(open)];
  while (lease < open) lease = std::exchange(next_[static_cast<std::size_t>(lease)], open);
  return open;
}

bool LeaseFiller::fits(const LeaseJob& job, std::int32_t lease) const {
  return (lease == 0 && job.keeps_first) || free_[static_cast<std::size_t>(lease)] >= job.gpus;
}

bool LeaseFiller::fill(const LeaseJob& job, std::uint32_t place, LeaseTimetable* timetable) {
  Progress progress{job};
  const std::int32_t end = leases_before(grid_, job.deadline);
  std::int32_t lease = 0;
  while (lease < end && !progress.is_done()) {
    reach(std::min(lease + 2, end));
    if (!fits(job, lease)) {
      progress.pause();
      lease = past_full(lease + 1);
      continue;
    }
    const Duration time = usable(grid_, lease, job.deadline);
    const bool is_given_more = lease + 1 < end && fits(job, lease + 1);
    const bool is_kept = lease == 0 && job.keeps_first;
    // A start that eats up its lease is of use only if the job runs on.
    if (!progress.had_last && time <= job.price && !is_given_more && !is_kept) {
      ++lease;
      continue;
    }
    progress.run(job, time);
    if (!is_kept) free_[static_cast<std::size_t>(lease)] -= job.gpus;
    if (timetable != nullptr) add_lease(*timetable, place, lease);
    ++lease;
  }
  return progress.is_done();
}

bool is_timetable_for(const LeaseTimetable& timetable, const LeaseGrid& grid,
                      std::span<const LeaseJob> jobs) {
  std::int32_t end = 1;
  for (const LeaseRun& run : timetable) end = std::max(end, run.to);
  std::vector<std::int32_t> used(static_cast<std::size_t>(end), 0);
  used[0] = grid.kept_first;
  std::vector<std::vector<bool>> has(jobs.size(), std::vector<bool>(used.size()));
  for (const LeaseRun& run : timetable) {
    for (std::int32_t lease = run.from; lease < run.to; ++lease) {
      const auto at = static_cast<std::size_t>(lease);
      if (has[run.job][at]) return false;
      has[run.job][at] = true;
      if (lease > 0 || !jobs[run.job].keeps_first) used[at] += jobs[run.job].gpus;
    }
  }
  for (const std::int32_t gpus : used) {
    if (gpus > grid.gpus) return false;
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Progress progress{jobs[i]};
    for (std::int32_t lease = 0; lease < end; ++lease) {
      if (has[i][static_cast<std::size_t>(lease)]) {
        progress.run(jobs[i], usable(grid, lease, jobs[i].deadline));
      } else {
        progress.pause();
      }
    }
    if (!progress.is_done()) return false;
  }
  return true;
}

std::optional<LeaseTimetable> fill_in_order(const LeaseGrid& grid, std::span<const LeaseJob> jobs) {
  LeaseFiller filler{grid};
  LeaseTimetable timetable;
  for (std::uint32_t i = 0; i < jobs.size(); ++i) {
    if (!filler.fill(jobs[i], i, &timetable)) return std::nullopt;
  }
  return timetable;
}

bool is_small(const LeaseGrid& grid, std::span<const LeaseJob> jobs) {
  return jobs.size() <= kMostJobsSearched &&
         std::all_of(jobs.begin(), jobs.end(), [&](const LeaseJob& job) {
           return leases_before(grid, job.deadline) <= kMostLeasesSearched;
         });
}

namespace {

// Lease after lease, every choice of jobs that leaves no room for another: running a job never harms
// it, so a choice that leaves room cannot do what a larger one cannot.
class LeaseSearch {
 public:
  LeaseSearch(const LeaseGrid& grid, std::span<const LeaseJob> jobs, std::int64_t most_steps)
      : grid_{grid}, jobs_{jobs}, steps_left_{most_steps} {
    for (const LeaseJob& job : jobs) end_ = std::max(end_, leases_before(grid, job.deadline));
    for (std::size_t i = 0; i < jobs.size(); ++i) by_deadline_.push_back(i);
    std::stable_sort(by_deadline_.begin(), by_deadline_.end(), [&](std::size_t a, std::size_t b) {
      return jobs[a].deadline < jobs[b].deadline;
    });
  }

  std::optional<LeaseTimetable> find() {
    std::vector<Progress> start;
    for (const LeaseJob& job : jobs_) start.emplace_back(job);
    if (!extend(0, start)) return std::nullopt;
    LeaseTimetable timetable;
    for (std::uint32_t i = 0; i < jobs_.size(); ++i) {
      for (std::size_t lease = 0; lease < chosen_.size(); ++lease) {
        if ((chosen_[lease] >> i & 1U) != 0)
          add_lease(timetable, i, static_cast<std::int32_t>(lease));
      }
    }
    return timetable;
  }

 private:
  using Choice = std::uint32_t;  // a bit for each job

  bool extend(std::int32_t lease, const std::vector<Progress>& before) {
    if (std::all_of(before.begin(), before.end(), [](const Progress& p) { return p.is_done(); }))
      return true;
    if (lease >= end_ || --steps_left_ < 0 || is_hopeless(lease, before)) return false;
    const auto key = key_of(lease, before);
    if (dead_ends_.contains(key)) return false;
    for (const Choice choice : choices(lease, before)) {
      std::vector<Progress> after = before;
      for (std::size_t i = 0; i < jobs_.size(); ++i) {
        if ((choice >> i & 1U) != 0) {
          after[i].run(jobs_[i], usable(grid_, lease, jobs_[i].deadline));
        } else {
          after[i].pause();
        }
      }
      chosen_.push_back(choice);
      if (extend(lease + 1, after)) return true;
      chosen_.pop_back();
    }
    dead_ends_.insert(key);
    return false;
  }

  std::vector<Choice> choices(std::int32_t lease, const std::vector<Progress>& before) const {
    Choice kept = 0;
    std::vector<std::size_t> open;
    for (const std::size_t i : by_deadline_) {
      if (lease == 0 && jobs_[i].keeps_first) {
        kept |= Choice{1} << i;
      } else if (!before[i].is_done() && usable(grid_, lease, jobs_[i].deadline) > Duration{0}) {
        open.push_back(i);
      }
    }
    std::vector<Choice> found;
    add_choices(open, 0, grid_.gpus - (lease == 0 ? grid_.kept_first : 0), kept, 0, found);
    return found;
  }

  // `refused`: the fewest GPUs of a job that was left out; 0 when none was.
  void add_choices(const std::vector<std::size_t>& open, std::size_t next, std::int32_t free,
                   Choice choice, std::int32_t refused, std::vector<Choice>& found) const {
    if (next == open.size()) {
      if (refused == 0 || refused > free) found.push_back(choice);
      return;
    }
    const std::int32_t gpus = jobs_[open[next]].gpus;
    if (gpus <= free)
      add_choices(open, next + 1, free - gpus, choice | Choice{1} << open[next], refused, found);
    add_choices(open, next + 1, free, choice, refused == 0 ? gpus : std::min(refused, gpus), found);
  }

  // A job could not make it alone, or those due by some deadline need more GPU-time than there is.
  bool is_hopeless(std::int32_t lease, const std::vector<Progress>& before) const {
    const Duration now = grid_.start(lease);
    std::int64_t needed = 0;
    for (const std::size_t i : by_deadline_) {
      if (before[i].is_done()) continue;
      const Duration to_pay = before[i].had_last ? before[i].unpaid : jobs_[i].price;
      if (before[i].left + to_pay > jobs_[i].deadline - now) return true;
      needed += before[i].left.count() * jobs_[i].gpus;
      if (needed > (jobs_[i].deadline - now).count() * grid_.gpus) return true;
    }
    return false;
  }

  std::vector<std::int64_t> key_of(std::int32_t lease, const std::vector<Progress>& before) const {
    std::vector<std::int64_t> key{lease};
    for (const Progress& progress : before) {
      key.push_back(std::max(Duration{0}, progress.left).count());
      key.push_back(progress.had_last ? progress.unpaid.count() : -1);
    }
    return key;
  }

  const LeaseGrid& grid_;
  std::span<const LeaseJob> jobs_;
  std::int64_t steps_left_;
  std::int32_t end_ = 0;
  std::vector<std::size_t> by_deadline_;
  std::vector<Choice> chosen_;  // by lease
  std::set<std::vector<std::int64_t>> dead_ends_;
};

}  // namespace

std::optional<LeaseTimetable> search_timetable(const LeaseGrid& grid,
                                               std::span<const LeaseJob> jobs,
                                               std::int64_t most_steps) {
  return LeaseSearch{grid, jobs, most_steps}.find();
}

std::optional<LeaseTimetable> plan_leases(const LeaseGrid& grid, std::span<const LeaseJob> jobs) {
  auto timetable = fill_in_order(grid, jobs);
  if (!timetable && is_small(grid, jobs)) timetable = search_timetable(grid, jobs);
  return timetable;
}

}  // namespace weir::schedule
