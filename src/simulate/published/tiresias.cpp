// SPDX-License-Identifier: Apache-2.0
//
// Tiresias as published with ElasticFlow: three queues by GPU-time had, first come first served in
// each, whoever fits. Starting costs overhead; it delays an end only if something else happens
// before.
#include <array>
#include <cmath>

#include "simulate/published/bookkeeping.h"

namespace weir::simulate::published {
namespace {

constexpr std::array<Seconds, 2> kLimits{3250, 7200};  // GPU-seconds, of the queues but the last

struct Served {
  bool is_running = false;
  std::size_t queue = 0;
  Seconds executed = 0;
  Seconds checked_at = 0;
};

class Tiresias {
 public:
  explicit Tiresias(Bookkeeping& book)
      : book_{book}, arrivals_{book.jobs}, served_(book.jobs.size()) {}

  void run() {
    while (!arrivals_.empty() || !active_.empty()) {
      const Seconds arrival = arrivals_.empty() ? kNever : arrivals_.first().time;
      const Seconds now = std::min({arrival, end_at_, jump_at_});
      if (now >= kNever) break;
      const bool is_event = std::min(arrival, end_at_) <= jump_at_;
      if (is_event && end_at_ == now) end_jobs();
      if (is_event && arrival == now) add_jobs();
      account(now);
      choose();
      find_next_end(now);
      find_next_jump(now);
      arrivals_.coalesce(now, book_.setup.slot);
    }
  }

 private:
  PublishedJob& job(JobIndex index) { return book_.jobs[index]; }

  void end_jobs() {
    for (const JobIndex index : ending_) {
      book_.complete(index, job(index).end, job(index).end);
      remove(active_, index);
      remove(queues_[served_[index].queue], index);
    }
  }

  void add_jobs() {
    const Moment moment = arrivals_.take_first();
    for (const JobIndex index : moment.come) {
      served_[index].checked_at = job(index).submitted;
      active_.push_back(index);
      queues_[0].push_back(index);
    }
  }

  void account(Seconds now) {
    for (const JobIndex index : active_) {
      Served& at = served_[index];
      const Seconds passed = now - at.checked_at;
      at.checked_at = now;
      if (!at.is_running) continue;
      at.executed += std::max<Seconds>(0, passed - job(index).overhead);
      job(index).overhead = 0;
      if (at.queue < kLimits.size() && at.executed * job(index).asked >= kLimits[at.queue]) {
        remove(queues_[at.queue], index);
        queues_[++at.queue].push_back(index);
      }
    }
  }

  void choose() {
    restarts_ = count_ > 0 && count_ % book_.setup.slot == 0;
    ++count_;
    std::int32_t free = book_.setup.gpus();
    for (std::vector<JobIndex>& queue : queues_) {
      for (const JobIndex index : queue) {
        Served& at = served_[index];
        const bool fits = free >= job(index).asked;
        if (fits) free -= job(index).asked;
        if (fits && !at.is_running)
          job(index).overhead = book_.overhead().of(job(index).asked, restarts_, false);
        at.is_running = fits;
      }
    }
    std::stable_sort(active_.begin(), active_.end(),
                     [&](JobIndex a, JobIndex b) { return job(a).asked > job(b).asked; });
    for (std::vector<JobIndex>& queue : queues_) {
      std::stable_partition(queue.begin(), queue.end(),
                            [&](JobIndex index) { return served_[index].is_running; });
    }
  }

  void find_next_end(Seconds now) {
    end_at_ = kNever;
    for (const JobIndex index : active_) {
      if (!served_[index].is_running) continue;
      Seconds left = job(index).duration - served_[index].executed;
      if (restarts_) {
        job(index).overhead = book_.overhead().of(job(index).asked, true, false);
        left += job(index).overhead;
      }
      const Seconds end = now + left;
      const Seconds heard = std::max(now + book_.setup.slot, end);
      if (heard > end_at_) continue;
      if (heard < end_at_) ending_.clear();
      end_at_ = heard;
      ending_.push_back(index);
      job(index).end = end;
    }
  }

  void find_next_jump(Seconds now) {
    jump_at_ = kNever;
    for (const JobIndex index : active_) {
      const Served& at = served_[index];
      if (!at.is_running || at.queue == kLimits.size()) continue;
      // As published: what it had is not multiplied by its GPUs here.
      const auto left = static_cast<double>(kLimits[at.queue] - at.executed);
      jump_at_ = std::min(jump_at_, now + static_cast<Seconds>(std::ceil(left / job(index).asked)));
    }
    jump_at_ = std::max(jump_at_, now + book_.setup.slot);
  }

  Bookkeeping& book_;
  EventList arrivals_;
  std::vector<Served> served_;  // by job
  std::vector<JobIndex> active_;
  std::array<std::vector<JobIndex>, kLimits.size() + 1> queues_;
  Seconds end_at_ = kNever;
  std::vector<JobIndex> ending_;
  Seconds jump_at_ = kNever;
  Seconds count_ = 0;  // of events
  bool restarts_ = false;
};

}  // namespace

void run_tiresias(Bookkeeping& book) {
  Tiresias{book}.run();
}

}  // namespace weir::simulate::published
