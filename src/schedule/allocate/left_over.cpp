// SPDX-License-Identifier: Apache-2.0
#include "schedule/allocate/left_over.h"

#include <algorithm>
#include <optional>
#include <queue>

#include "schedule/admit/promises.h"

namespace weir::schedule {
namespace {

// Nobody can tell what will be in ten minutes: a change must have paid by then.
constexpr Duration kHorizon = from_seconds(600);

// Whoever was lent GPUs keeps them for a while, and gives up half of them only to somebody who makes
// at least half as much again of them. Other figures (1.1 to 3 times, 0 to 10 minutes) do as well.
constexpr Duration kLentForAtLeast = from_seconds(60);
constexpr std::int64_t kMorePercent = 150;

// GPU-time saved per GPU lent, as a fraction: rate gained per GPU, times what that work would cost
// at the most expensive level of the job's own plan.
struct Return {
  WideInteger gain = 0;
  WideInteger cost = 1;
  friend bool operator<(const Return& a, const Return& b) {
    return a.gain * b.cost < b.gain * a.cost;
  }
  // How much is needed to take the GPUs away again.
  Return and_more() const { return {gain * kMorePercent, cost * 100}; }
};

class LeftOvers {
 public:
  LeftOvers(const TrainingState& state, const PoolState& pool, Time now, const Ablation& ablation)
      : now_{now}, ablation_{ablation}, map_{pool.closed} {
    shares_.reserve(pool.active.size());
    for (const JobId id : pool.active) {
      const TrainingJob& job = state.job(id);
      Share share{id, &job, kNoGpus, kNoGpus, std::nullopt};
      if (job.is_promised()) share.base = job.timeline.block_at(now);
      if (!share.base.is_none()) map_.take(share.base);
      share.block = share.base;
      shares_.push_back(share);
    }
  }

  std::vector<WantedBlock> run() {
    for (Share& share : shares_) keep(share);
    start();
    grow();
    std::vector<WantedBlock> wanted;
    for (const Share& share : shares_) {
      if (share.block.is_none()) continue;
      const auto code = share.block == share.base ? ReasonCode::as_promised : ReasonCode::left_over;
      wanted.push_back({share.id, share.block, {code, 0}});
    }
    return wanted;
  }

 private:
  struct Share {
    JobId id;
    const TrainingJob* job;
    GpuBlock base;                // promised for now
    GpuBlock block;               // chosen
    std::optional<Work> surplus;  // once it was asked for
  };

  static const SizeOption& size_at(const Share& share, int level) {
    return (*share.job->sizes)[static_cast<std::size_t>(level)];
  }
  static int level_in(const Share& share, GpuBlock block) {
    return level_of(*share.job->sizes, block.size);
  }
  static IterationRate rate_in(const Share& share, GpuBlock block) {
    return block.is_none() ? IterationRate{0} : size_at(share, level_in(share, block)).rate;
  }

  // Whether it may have more than it was promised.
  bool may_borrow(const Share& share) const {
    return ablation_.lends_left_overs || !share.job->is_promised() || share.job->is_at_risk;
  }

  // It will get GPUs that are promised to it, in time.
  bool has_plan(const TrainingJob& job) const {
    return job.is_promised() && !job.is_at_risk && job.timeline.end > now_;
  }

  bool is_free_for(Share& share, GpuBlock block) {
    if (!share.block.is_none()) map_.give_back(share.block);
    const bool is_free = map_.is_free(block);
    if (!share.block.is_none()) map_.take(share.block);
    return is_free;
  }

  void put(Share& share, GpuBlock block) {
    if (!share.block.is_none()) map_.give_back(share.block);
    map_.take(block);
    share.block = block;
  }

  // A job that has more than it was promised, or the same elsewhere, goes on if nobody else needs
  // the GPUs: staying costs nothing once it makes progress there.
  void keep(Share& share) {
    const GpuBlock present = share.job->block;
    if (present.is_none() || present == share.base || present.size < share.base.size) return;
    if (present.size > share.base.size && !may_borrow(share)) return;
    if (share.job->ready_at > now_ && !can_afford(share, share.job->ready_at)) return;
    if (is_free_for(share, present)) put(share, present);
  }

  // Jobs without GPUs come before jobs that want more: promised ones, the least laxity first; then
  // soft deadlines; then by age.
  void start() {
    find_lenders();
    // The queue may be long: do not sort it for nothing.
    if (map_.free_count() == 0 && lenders_.empty()) return;
    std::vector<Share*> idle;
    for (Share& share : shares_) {
      // What must run in one piece waits for GPUs that nobody takes away again: those of its plan,
      // unless it has outlived that.
      const bool waits = share.job->spec->in_one_piece && has_plan(*share.job);
      if (share.block.is_none() && !waits && may_borrow(share)) idle.push_back(&share);
    }
    const auto rank = [&](const Share& share) {
      if (share.job->is_promised())
        return std::pair{0, laxity(*share.job, now_, share.job->spec->deadline)};
      if (share.job->has_deadline()) return std::pair{1, share.job->spec->deadline - now_};
      return std::pair{2, share.job->submitted - Time{}};
    };
    std::stable_sort(idle.begin(), idle.end(),
                     [&](const Share* a, const Share* b) { return rank(*a) < rank(*b); });
    for (Share* share : idle) {
      if (map_.free_count() == 0 && lenders_.empty()) break;
      if (!pays(*share, 0) || !can_afford(*share, 0)) continue;
      const auto least = static_cast<std::uint32_t>(size_at(*share, 0).gpus);
      // A promised job has its time; others have only what is lent.
      if (!grows_to(*share, least) && !share->job->is_promised())
        trades(*share, least, std::nullopt);
    }
  }

  // Whether the job does more within the horizon by going to that level.
  bool pays(const Share& share, int level) const {
    const SizeOption& next = size_at(share, level);
    const Work left = share.job->left_at(now_);
    const Duration horizon = std::min(kHorizon, next.price + time_for(left, next.rate));
    if (horizon <= next.price) return false;
    Work otherwise = rate_in(share, share.block) * horizon;
    if (!share.block.is_none() && share.block != share.job->block) {  // a change is due anyway
      const SizeOption& size = size_at(share, level_in(share, share.block));
      otherwise = size.rate * std::max(Duration{0}, horizon - size.price);
    }
    return next.rate * (horizon - next.price) > otherwise;
  }

  // Whether the promise survives going there and being sent back at the worst moment: when the job
  // is there but has done nothing yet. It then lacks what its timeline would have done meanwhile,
  // and pays for the way back.
  bool can_afford(Share& share, int level) const {
    return can_afford(share, now_ + size_at(share, level).price);
  }
  bool can_afford(Share& share, Time there) const {
    const TrainingJob& job = *share.job;
    if (!has_plan(job)) return true;
    if (!share.surplus) share.surplus = surplus(job, now_);
    Work lost = planned_work(job, now_, there);
    if (const GpuBlock back = job.timeline.block_at(there); !back.is_none()) {
      const SizeOption& size = size_at(share, level_in(share, back));
      lost += size.rate * size.price;
    }
    return *share.surplus >= lost;
  }

  // The most expensive level of the job's own plan sets the price of its work.
  Return return_of(const Share& share, int from, int to) const {
    const SizeTable& sizes = *share.job->sizes;
    int top = 0;
    if (share.job->is_promised()) {
      for (const TimelineStep& step : share.job->timeline.steps)
        top = std::max(top, level_of(sizes, step.block.size));
    }
    const auto at = static_cast<std::size_t>(top);
    const std::int64_t price_gpus = sizes[at].gpus - (at > 0 ? sizes[at - 1].gpus : 0);
    const std::int64_t price_rate = sizes[at].rate.value - (at > 0 ? sizes[at - 1].rate.value : 0);
    const SizeOption& a = size_at(share, from);
    const SizeOption& b = size_at(share, to);
    const auto gain = static_cast<WideInteger>(b.rate.value - a.rate.value) * price_gpus;
    const auto cost = static_cast<WideInteger>(b.gpus - a.gpus) * price_rate;
    // More GPUs are faster, so both are positive, and the inverse has the opposite order.
    return ablation_.lends_where_least ? Return{cost, gain} : Return{gain, cost};
  }

  struct Wish {
    Return value;
    std::size_t share;
    int level;
    // Larger is served first; of equals, the older job and the smaller step.
    friend bool operator<(const Wish& a, const Wish& b) {
      if (a.value < b.value) return true;
      if (b.value < a.value) return false;
      return a.share != b.share ? a.share > b.share : a.level > b.level;
    }
  };

  void grow() {
    std::priority_queue<Wish> wishes;
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      Share& share = shares_[i];
      if (share.block.is_none() || !may_borrow(share)) continue;
      wish_for_more(wishes, i);
    }
    while (!wishes.empty()) {
      const Wish wish = wishes.top();
      if (map_.free_count() == 0 && !is_worth_a_trade(wish.value)) break;
      wishes.pop();
      Share& share = shares_[wish.share];
      if (level_in(share, share.block) >= wish.level) continue;
      if (!pays(share, wish.level) || !can_afford(share, wish.level)) continue;
      const auto gpus = static_cast<std::uint32_t>(size_at(share, wish.level).gpus);
      if (grows_to(share, gpus) || trades(share, gpus, wish.value))
        wish_for_more(wishes, wish.share);
    }
  }

  // False when there is no room for it.
  bool grows_to(Share& share, std::uint32_t gpus) {
    if (gpus - share.block.size > map_.free_count()) return false;
    if (!share.block.is_none() && is_free_for(share, enclosing(share.block, gpus))) {
      put(share, enclosing(share.block, gpus));
      return true;
    }
    const auto elsewhere = map_.best_fit(gpus);
    if (elsewhere) put(share, *elsewhere);
    return elsewhere.has_value();
  }

  // Who could give up half of its GPUs: jobs that keep more than they were promised.
  struct Lender {
    Return value;  // of that half
    std::size_t share;
    // The least useful last; of equals, the oldest job.
    friend bool operator<(const Lender& a, const Lender& b) {
      if (b.value < a.value) return true;
      if (a.value < b.value) return false;
      return a.share > b.share;
    }
  };

  void find_lenders() {
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      Share& share = shares_[i];
      const TrainingJob& job = *share.job;
      if (share.block.is_none() || share.block != job.block) continue;
      if (share.block.size <= share.base.size || job.spec->in_one_piece) continue;
      if (job.ready_at > now_ || now_ - job.served.since < kLentForAtLeast) continue;
      const int level = level_in(share, share.block);
      const bool has_half =
          level > 0 && size_at(share, level - 1).gpus * 2 == size_at(share, level).gpus;
      if (has_half) lenders_.push_back({return_of(share, level - 1, level), i});
    }
    std::sort(lenders_.begin(), lenders_.end());
  }

  bool is_worth_a_trade(const Return& worth) const {
    return !lenders_.empty() && lenders_.back().value.and_more() < worth;
  }

  // Whether somebody gives up half of its GPUs so that `to` gets so many: whoever makes least of
  // them, and much less than they would be worth there. Without a worth, whoever it is.
  bool trades(Share& to, std::uint32_t gpus, const std::optional<Return>& worth) {
    constexpr std::size_t kTries = 4;
    for (std::size_t i = 0; i < std::min(kTries, lenders_.size()); ++i) {
      const auto lender = lenders_.end() - 1 - static_cast<std::ptrdiff_t>(i);
      if (worth && !(lender->value.and_more() < *worth)) return false;
      Share& from = shares_[lender->share];
      if (&from == &to || from.block != from.job->block) continue;  // it grew
      if (!can_afford(from, level_in(from, from.block) - 1)) continue;
      const GpuBlock whole = from.block;
      put(from, {whole.first, whole.size / 2});
      if (grows_to(to, gpus)) {
        lenders_.erase(lender);
        return true;
      }
      put(from, whole);
    }
    return false;
  }

  void wish_for_more(std::priority_queue<Wish>& wishes, std::size_t index) const {
    const Share& share = shares_[index];
    const int level = level_in(share, share.block);
    const int levels = static_cast<int>(share.job->sizes->size());
    for (int next = level + 1; next < levels; ++next)
      wishes.push({return_of(share, level, next), index, next});
  }

  Time now_;
  Ablation ablation_;
  BlockMap map_;
  std::vector<Share> shares_;
  std::vector<Lender> lenders_;
};

}  // namespace

std::vector<WantedBlock> allocate_with_left_overs(const TrainingState& state, const PoolState& pool,
                                                  Time now, const Ablation& ablation) {
  return LeftOvers{state, pool, now, ablation}.run();
}

}  // namespace weir::schedule
