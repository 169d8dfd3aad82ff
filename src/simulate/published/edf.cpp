// SPDX-License-Identifier: Apache-2.0
//
// Earliest deadline first, as published: each job takes as many GPUs as were ever measured, also
// where they make it slower, and changing them costs nothing. All jobs are planned anew at every
// event.
#include <cmath>

#include "simulate/published/bookkeeping.h"
#include "simulate/published/free_gpus.h"

namespace weir::simulate::published {
namespace {

struct Plan {
  std::int32_t gpus_now = 0;
  Seconds end = 0;
};

class Edf {
 public:
  explicit Edf(Bookkeeping& book) : book_{book}, events_{book.jobs}, plans_(book.jobs.size()) {}

  void run() {
    Seconds passed = 0;
    while (!events_.empty()) {
      const Seconds now = events_.first().time;
      progress(now, passed);
      end_jobs();
      const std::vector<JobIndex> come = events_.first().come;
      plan(now, come);
      active_.insert(active_.end(), come.begin(), come.end());
      adopt_plans();
      events_.take_first();
      if (events_.empty()) break;
      events_.coalesce(now, book_.setup.slot);
      passed = events_.first().time - now;
    }
  }

 private:
  PublishedJob& job(JobIndex index) { return book_.jobs[index]; }

  void progress(Seconds now, Seconds passed) {
    for (const JobIndex index : active_) book_.run(index, {now, passed, job(index).end}, events_);
  }

  void end_jobs() {
    for (const JobIndex index : events_.first().end) {
      book_.complete(index, job(index).end, job(index).end);
      remove(active_, index);
      remove(running_, index);
    }
  }

  void plan(Seconds now, const std::vector<JobIndex>& come) {
    free_ = {{now, book_.setup.gpus()}};
    if (come.empty()) {
      sort_by_deadline(active_);
      for (const JobIndex index : active_) plan_one(index, now);
      return;
    }
    std::vector<JobIndex> all = active_;
    all.insert(all.end(), come.begin(), come.end());
    sort_by_deadline(all);
    for (const JobIndex index : all) plan_one(index, now);
  }

  void sort_by_deadline(std::vector<JobIndex>& list) {
    std::stable_sort(list.begin(), list.end(),
                     [&](JobIndex a, JobIndex b) { return job(a).deadline < job(b).deadline; });
  }

  static Seconds end_at(Seconds from, double left, double rate) {
    return static_cast<Seconds>(std::ceil(static_cast<double>(from) + left / rate));
  }

  // Greedy: all it can get in each piece of the free GPUs, until it is done.
  void plan_one(JobIndex index, Seconds now) {
    const PublishedJob& at = job(index);
    Plan& plan = plans_[index];
    plan.gpus_now = 0;
    const std::int32_t most = std::min(at.most, book_.setup.gpus());
    double left = at.left;
    Seconds from = now;
    std::int32_t available = free_.at(now);
    Steps next = free_;
    for (const auto& [until, unused] : free_) {
      static_cast<void>(unused);
      if (until <= from) continue;
      const std::int32_t gpus = available >= most ? most : at.largest_on(available);
      if (from == now) plan.gpus_now = gpus;
      if (gpus > 0) {
        const double rate = at.rate_at(gpus);
        const Seconds end = end_at(from, left, rate);
        const bool is_done_at_once = end == from && gpus == most;
        if (!is_done_at_once) next[from] = available - gpus;
        if (until >= end) {
          if (!free_.contains(end)) next[aligned(now, end, book_.setup.slot)] = available;
          free_ = merged(next);
          plan.end = end;
          return;
        }
        left -= static_cast<double>(until - from) * rate;
      }
      available = next.at(until);
      from = until;
    }
    if (from == now) plan.gpus_now = most;
    plan.end = end_at(from, left, at.rate_at(most));
    next[from] = book_.setup.gpus() - most;
    next[aligned(now, plan.end, book_.setup.slot)] = book_.setup.gpus();
    free_ = merged(next);
  }

  void adopt_plans() {
    for (const JobIndex index : active_) {
      PublishedJob& at = job(index);
      const Seconds before = at.end;
      at.gpus = plans_[index].gpus_now;
      at.end = plans_[index].end;
      if (contains(running_, index)) {
        events_.move_end(index, before, at.end);
      } else if (at.gpus > 0) {
        running_.push_back(index);
        events_.add_end(index, at.end);
      }
    }
  }

  Bookkeeping& book_;
  EventList events_;
  std::vector<Plan> plans_;  // by job
  Steps free_;
  std::vector<JobIndex> active_;   // came and did not end
  std::vector<JobIndex> running_;  // of those, the ones that had GPUs once
};

}  // namespace

void run_edf(Bookkeeping& book) {
  Edf{book}.run();
}

}  // namespace weir::simulate::published
