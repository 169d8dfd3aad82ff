// SPDX-License-Identifier: Apache-2.0
//
// ElasticFlow as published: arrivals of one slot are admitted or refused as one, every job with GPUs
// pays at every event, and left-over GPUs go where a plan's GPU-time grows most.
#include <cmath>
#include <limits>
#include <set>

#include "simulate/published/bookkeeping.h"
#include "simulate/published/elasticflow_plan.h"

namespace weir::simulate::published {
namespace {

constexpr double kBest = std::numeric_limits<double>::max();

struct Elastic {
  ElasticPlan plan;
  bool is_placed = false;  // has GPUs since the last event
  std::int32_t next_size = 0;
  double marginal = -kBest;  // GPU-time its plan grows by, for each GPU more
  ElasticPlan grown;
};

class ElasticFlow {
 public:
  explicit ElasticFlow(Bookkeeping& book)
      : book_{book}, events_{book.jobs}, elastic_(book.jobs.size()) {}

  void run() {
    Seconds now = events_.first().time;
    Seconds passed = 0;
    while (!events_.empty()) {
      progress(now, passed);
      const Moment moment = events_.take(now);
      if (active_.empty() && moment.come.empty() && moment.end.empty()) {
        if (events_.empty()) break;
        events_.sort();
        now = events_.first().time;
        continue;
      }
      end_jobs(moment);
      admit(moment.come, now);
      hand_out_left_overs(now);
      sort_by_size();
      events_.sort();
      const Seconds change = next_change(now);
      if (events_.empty() || change < events_.first().time) events_.add(change);
      charge_overhead();
      events_.coalesce(now, book_.setup.slot);
      passed = events_.first().time - now;
      now = events_.first().time;
      if (now >= kNever) break;
    }
  }

 private:
  PublishedJob& job(JobIndex index) { return book_.jobs[index]; }

  void progress(Seconds now, Seconds passed) {
    for (const JobIndex index : active_)
      book_.run(index, {now, passed, elastic_[index].plan.real_end}, events_);
  }

  void end_jobs(const Moment& moment) {
    for (const JobIndex index : moment.end) {
      if (!elastic_[index].is_placed) continue;
      elastic_[index].is_placed = false;
      remove(active_, index);
      book_.complete(index, elastic_[index].plan.real_end, job(index).end);
    }
  }

  void sort_by_deadline(std::vector<JobIndex>& list) {
    std::stable_sort(list.begin(), list.end(),
                     [&](JobIndex a, JobIndex b) { return job(a).deadline < job(b).deadline; });
  }

  ElasticPlan plan_of(JobIndex index, Seconds now, const Steps& free,
                      std::optional<std::int32_t> gpus_now = {}) {
    return plan_elastically({&job(index), now, book_.setup.slot, book_.setup.gpus(), gpus_now},
                            free);
  }

  // Whether all meet their deadlines.
  bool plan_all(const std::vector<JobIndex>& list, Seconds now) {
    free_ = {{now, book_.setup.gpus()}};
    bool is_good = true;
    for (const JobIndex index : list) {
      elastic_[index].plan = plan_of(index, now, free_);
      free_ = elastic_[index].plan.free_after;
      is_good = is_good && elastic_[index].plan.real_end <= job(index).deadline;
    }
    return is_good;
  }

  void admit(const std::vector<JobIndex>& come, Seconds now) {
    for (const JobIndex index : active_) elastic_[index].is_placed = false;
    bool is_admitted = false;
    if (!come.empty()) {
      std::vector<JobIndex> all = active_;
      all.insert(all.end(), come.begin(), come.end());
      sort_by_deadline(all);
      is_admitted = plan_all(all, now);
      for (const JobIndex index : come) {
        if (is_admitted) {
          active_.push_back(index);
        } else {
          book_.refuse(index);
        }
      }
    }
    sort_by_deadline(active_);
    if (!is_admitted) plan_all(active_, now);
    for (const JobIndex index : active_) {
      PublishedJob& at = job(index);
      at.gpus = elastic_[index].plan.gpus.at(now);
      set_end(index, elastic_[index].plan.end);
    }
  }

  void set_end(JobIndex index, Seconds end) {
    events_.move_end(index, job(index).end, end);
    job(index).end = end;
  }

  void hand_out_left_overs(Seconds now) {
    std::int32_t left = free_.at(now);
    if (left == 0) return;
    for (const JobIndex index : active_) weigh(index, left, now);
    sort_by_marginal();
    bool goes_on = true;
    while (left > 0 && goes_on) {
      goes_on = false;
      for (const JobIndex index : active_) {
        Elastic& at = elastic_[index];
        const std::int32_t more = at.next_size - job(index).gpus;
        if (more > left || more == 0) continue;
        left -= more;
        const Seconds real_end = at.plan.real_end;  // stays that of the first plan, as published
        at.plan = at.grown;
        at.plan.real_end = real_end;
        free_ = at.plan.free_after;
        job(index).gpus = at.next_size;
        set_end(index, at.plan.end);
        at.next_size = job(index).next_size(job(index).gpus);
        goes_on = true;
        break;
      }
      for (const JobIndex index : active_) {
        if (elastic_[index].next_size > job(index).gpus) weigh(index, left, now);
      }
      sort_by_marginal();
    }
  }

  void sort_by_marginal() {
    std::stable_sort(active_.begin(), active_.end(), [&](JobIndex a, JobIndex b) {
      return elastic_[a].marginal > elastic_[b].marginal;
    });
  }

  // What one size more would do to the job's plan.
  void weigh(JobIndex index, std::int32_t left, Seconds now) {
    Elastic& at = elastic_[index];
    const PublishedJob& present = job(index);
    at.next_size = present.next_size(present.gpus);
    const std::int32_t more = at.next_size - present.gpus;
    at.marginal = -kBest;
    if (more > left || more == 0) return;
    at.grown = plan_of(index, now, without(index), at.next_size);
    at.marginal = present.gpus == 0
                      ? kBest
                      : static_cast<double>(at.grown.gpu_time() -
                                            published::gpu_time(at.plan.gpus, present.end)) /
                            more;
  }

  // The free GPUs if the job had none.
  Steps without(JobIndex index) {
    const Steps& gpus = elastic_[index].plan.gpus;
    const Seconds end = job(index).end;
    Steps free = free_;
    const auto cut = [&](Seconds time) {
      const auto after = free.lower_bound(time);
      if (after == free.end() || after->first != time)
        free.emplace_hint(after, time,
                          after == free.begin() ? book_.setup.gpus() : std::prev(after)->second);
    };
    cut(end);
    std::int32_t last = 0;
    for (const auto& [time, size] : gpus) {
      cut(time);
      for (auto step = free.lower_bound(time); step != free.end() && step->first < end; ++step)
        step->second += size - last;
      last = size;
    }
    return merged(free);
  }

  void sort_by_size() {
    std::stable_sort(active_.begin(), active_.end(),
                     [&](JobIndex a, JobIndex b) { return job(a).gpus > job(b).gpus; });
  }

  // When a plan changes its size next.
  Seconds next_change(Seconds now) const {
    Seconds next = kNever;
    for (const JobIndex index : active_) {
      const Steps& gpus = elastic_[index].plan.gpus;
      if (const auto step = gpus.upper_bound(now); step != gpus.end())
        next = std::min(next, step->first);
    }
    return next;
  }

  // Everybody is placed anew, the largest first, one after the other. Ranks that were together
  // before are cheaper. Requires: active_ by descending size.
  void charge_overhead() {
    const bool restarts = count_ > 0 && count_ % book_.setup.slot == 0;
    ++count_;
    std::int32_t first_gpu = 0;
    std::vector<std::pair<JobIndex, bool>> placed;
    for (const JobIndex index : active_) {
      const std::int32_t gpus = job(index).gpus;
      if (gpus == 0) continue;
      const bool is_known = !groups_.emplace(first_gpu, gpus).second;
      placed.emplace_back(index, is_known);
      first_gpu += gpus;
    }
    if (restarts) groups_.clear();
    for (const auto& [index, is_known] : placed) {
      PublishedJob& at = job(index);
      elastic_[index].is_placed = true;
      at.overhead = book_.overhead().of(at.gpus, restarts, is_known);
      set_end(index, at.end + at.overhead);
    }
  }

  Bookkeeping& book_;
  EventList events_;
  std::vector<Elastic> elastic_;  // by job
  Steps free_;
  std::vector<JobIndex> active_;                            // admitted and not ended
  std::set<std::pair<std::int32_t, std::int32_t>> groups_;  // ranks that were together
  Seconds count_ = 0;                                       // of events
};

}  // namespace

void run_elasticflow(Bookkeeping& book) {
  ElasticFlow{book}.run();
}

}  // namespace weir::simulate::published
