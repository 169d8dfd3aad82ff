// SPDX-License-Identifier: Apache-2.0
//
// Themis as published with ElasticFlow: every slot, time shares that make the worst ratio of finish
// times least; whoever has the largest share runs. The isolated speed is the share of the cluster,
// not a speed, as published. Rescales are free.
#include <cmath>
#include <numeric>

#include "simulate/published/bookkeeping.h"

namespace weir::simulate::published {
namespace {

// The ratio of a job with share x of the time: base + scale / x.
struct Ratio {
  double base = 0;
  double scale = 0;
  std::int32_t gpus = 1;

  double share_for(double ratio) const { return scale / (ratio - base); }
};

// The least worst ratio, and no more time for anybody than that ratio needs. In real numbers, as the
// original: the policy's own (schedule/policies/fair_shares.h) is exact and would decide ties anew.
std::vector<double> fair_shares(const std::vector<Ratio>& jobs, std::int32_t gpus) {
  double low = 0;
  for (const Ratio& job : jobs) low = std::max(low, job.base + job.scale);
  const auto demand = [&](double ratio) {
    double sum = 0;
    for (const Ratio& job : jobs) sum += job.gpus * job.share_for(ratio);
    return sum;
  };
  double high = low;
  if (demand(low) > gpus) {
    while (demand(high) > gpus) high *= 2;
    for (int step = 0; step < 200 && low < high; ++step) {
      const double middle = low + (high - low) / 2;
      if (middle <= low || middle >= high) break;
      (demand(middle) > gpus ? low : high) = middle;
    }
  }
  std::vector<double> shares;
  for (const Ratio& job : jobs) shares.push_back(std::min(1.0, job.share_for(high)));
  return shares;
}

struct Fairness {
  bool was_seen = false;
  double isolated_time = 0;  // what it has done so far, on its share of the cluster
  double left_before = 0;
  double isolated_before = 0;
  Seconds remaining = 0;
};

class Themis {
 public:
  explicit Themis(Bookkeeping& book)
      : book_{book}, events_{book.jobs}, fairness_(book.jobs.size()) {
    for (JobIndex index = 0; index < book.jobs.size(); ++index)
      fairness_[index].remaining = book.jobs[index].duration;
  }

  void run() {
    Seconds now = events_.first().time;
    while (!events_.empty() || !active_.empty()) {
      if (events_.at(now) != nullptr) {
        event_at_ = now;
        const Moment moment = events_.take(now);
        for (const JobIndex index : moment.end) {
          book_.complete(index, job(index).end, job(index).end);
          remove(active_, index);
        }
        active_.insert(active_.end(), moment.come.begin(), moment.come.end());
      }
      std::vector<JobIndex> running;
      if (!active_.empty()) running = choose();
      const Seconds next = now + book_.setup.slot;
      put_off(now);
      if (const auto ended = run_until(next, now, running); !ended.empty()) {
        events_.add(next);
        Moment& moment = *events_.at(next);
        moment.end.insert(moment.end.end(), ended.begin(), ended.end());
      }
      events_.sort();
      now = next;
    }
  }

 private:
  PublishedJob& job(JobIndex index) { return book_.jobs[index]; }

  std::vector<JobIndex> choose() {
    std::vector<Ratio> ratios;
    const auto equal_share =
        static_cast<double>((book_.setup.gpus() + static_cast<std::int32_t>(active_.size()) - 1) /
                            static_cast<std::int32_t>(active_.size()));
    for (const JobIndex index : active_) {
      const PublishedJob& at = job(index);
      Fairness& fairness = fairness_[index];
      const double isolated = std::min(1.0, equal_share / at.asked);
      if (fairness.was_seen)
        fairness.isolated_time += (fairness.left_before - at.left) / fairness.isolated_before;
      const double ideal = fairness.isolated_time + at.left / isolated;
      ratios.push_back({static_cast<double>(event_at_ - at.submitted) / ideal,
                        at.left / at.rate_at(at.asked) / ideal, at.asked});
      fairness.was_seen = true;
      fairness.left_before = at.left;
      fairness.isolated_before = isolated;
    }
    const std::vector<double> shares = fair_shares(ratios, book_.setup.gpus());
    std::vector<std::size_t> order(active_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return shares[a] > shares[b]; });
    std::vector<JobIndex> sorted;
    for (const std::size_t i : order) sorted.push_back(active_[i]);
    active_ = std::move(sorted);
    std::vector<JobIndex> running;
    std::int32_t free = book_.setup.gpus();
    for (const JobIndex index : active_) {
      if (job(index).asked > free) continue;
      free -= job(index).asked;
      running.push_back(index);
    }
    return running;
  }

  // Arrivals within the slot wait for its end.
  void put_off(Seconds now) {
    if (events_.empty()) return;
    events_.coalesce(now, book_.setup.slot);
    Moment& first = events_.first();
    if (first.time - now < book_.setup.slot) first.time = now + book_.setup.slot;
  }

  std::vector<JobIndex> run_until(Seconds next, Seconds now, const std::vector<JobIndex>& running) {
    std::vector<JobIndex> ended;
    for (const JobIndex index : active_) {
      if (!contains(running, index)) continue;
      PublishedJob& at = job(index);
      Fairness& fairness = fairness_[index];
      Seconds end = now + fairness.remaining;
      fairness.remaining = std::max<Seconds>(0, fairness.remaining - book_.setup.slot);
      at.left -= static_cast<double>(book_.setup.slot) * at.rate_at(at.asked);
      if (at.left <= 0) {
        fairness.remaining = 0;
        end = next;
      }
      if (end > next) continue;
      at.end = end;
      ended.push_back(index);
    }
    return ended;
  }

  Bookkeeping& book_;
  EventList events_;
  std::vector<Fairness> fairness_;  // by job
  std::vector<JobIndex> active_;
  Seconds event_at_ = 0;
};

}  // namespace

void run_themis(Bookkeeping& book) {
  Themis{book}.run();
}

}  // namespace weir::simulate::published
