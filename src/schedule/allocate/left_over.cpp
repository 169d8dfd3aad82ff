// SPDX-License-Identifier: Apache-2.0
#include "schedule/allocate/left_over.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "schedule/admit/promises.h"
#include "schedule/share/tenant_ledger.h"

namespace weir::schedule {
namespace {

// Nobody can tell what will be in ten minutes: a change must have paid by then.
constexpr Duration kHorizon = from_seconds(600);

// Whoever was lent GPUs keeps them for a while, and gives up half of them only to somebody who makes
// at least half as much again of them. Other figures (1.1 to 3 times, 0 to 10 minutes) do as well.
constexpr Duration kLentForAtLeast = from_seconds(60);
constexpr std::int64_t kMorePercent = 150;

// Who got GPUs may have to give others back, and who gave way may start elsewhere. All goes by strict
// orders, so it ends; tests/tenant_sweep.cpp has never seen more than a few rounds.
constexpr int kMostRounds = 16;

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
      : now_{now},
        ablation_{ablation},
        closed_{&pool.closed},
        lease_{state.tenants ? state.tenants->lease : Duration{0}},
        map_{pool.closed},
        ledger_{state, pool, now} {
    shares_.reserve(pool.active.size());
    for (const JobId id : pool.active) {
      const TrainingJob& job = state.job(id);
      Share share{id, &job, kNoGpus, kNoGpus, std::nullopt, {}};
      if (job.is_promised()) share.base = job.timeline.block_at(now);
      if (!share.base.is_none()) put(share, share.base);
      shares_.push_back(share);
      has_ranks_ = has_ranks_ || job.spec->priority != shares_.front().job->spec->priority;
    }
    has_ranks_ = has_ranks_ || ledger_.tenant_count() > 1;
  }

  std::vector<WantedBlock> run() {
    keep_what_they_have();
    for (int round = 0; round < kMostRounds; ++round) {
      has_changed_ = false;
      start();
      grow();
      if (!has_changed_ || !has_ranks_) break;
    }
    std::vector<WantedBlock> wanted;
    for (const Share& share : shares_) {
      const bool gave_way = share.gave_way && share.block.size < share.job->block.size;
      if (share.block.is_none() && !gave_way) continue;
      const auto lent = has_ranks_ ? ReasonCode::its_share : ReasonCode::left_over;
      const auto code = share.block == share.base ? ReasonCode::as_promised : lent;
      wanted.push_back({share.id, share.block, gave_way ? *share.gave_way : Reason{code, 0}});
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
    std::optional<Reason> gave_way;

    std::uint32_t tenant() const { return job->tenant; }
    std::int32_t priority() const { return job->spec->priority; }
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
    if (!block.is_none()) map_.take(block);
    ledger_.add(share.tenant(), gpus_in(block) - gpus_in(share.block));
    share.block = block;
  }

  static std::int32_t gpus_in(GpuBlock block) { return static_cast<std::int32_t>(block.size); }

  // Where a quota became smaller than what its tenant has, the more important keep theirs.
  void keep_what_they_have() {
    std::vector<Share*> order;
    for (Share& share : shares_) order.push_back(&share);
    if (!has_ranks_) {
      for (Share* share : order) keep(*share);
      return;
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const Share* a, const Share* b) { return a->priority() > b->priority(); });
    // Who stays elsewhere leaves the GPUs of its promise to who is there.
    for (std::size_t left = order.size() + 1; order.size() < left;) {
      left = order.size();
      std::erase_if(order, [&](Share* share) {
        keep(*share);
        return share->block == share->job->block;
      });
    }
  }

  // A job that has more than it was promised, or the same elsewhere, goes on if nobody else needs
  // the GPUs: staying costs nothing once it makes progress there.
  void keep(Share& share) {
    const GpuBlock present = share.job->block;
    if (present.is_none() || present == share.base || present.size < share.base.size) return;
    if (present.size > share.base.size && !may_borrow(share)) return;
    if (share.job->ready_at > now_ && !can_afford(share, share.job->ready_at)) return;
    if (!ledger_.may_have(share.tenant(), gpus_in(present) - gpus_in(share.block))) {
      const auto most = static_cast<std::uint64_t>(ledger_.maximum_of(share.tenant()));
      share.gave_way = Reason{ReasonCode::over_quota, most};
      return;
    }
    if (is_free_for(share, present)) put(share, present);
  }

  // Nobody who has no GPUs yet can get any.
  bool is_used_up() const { return !has_ranks_ && map_.free_count() == 0 && lenders_.empty(); }

  // Jobs without GPUs come before jobs that want more: promised ones, the least laxity first; then
  // the others by their tenants' turns, of one tenant by priority, then soft deadlines, then by age.
  void start() {
    find_lenders();
    hopeless_.clear();
    // The queue may be long: do not sort it for nothing.
    if (is_used_up()) return;
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
    std::vector<std::vector<Share*>> lines(ledger_.tenant_count());
    for (Share* share : idle) {
      if (!share->job->is_promised()) {
        lines[share->tenant()].push_back(share);
      } else if (!is_used_up()) {
        start(*share);
      }
    }
    for (auto& line : lines) {
      std::stable_sort(line.begin(), line.end(), [](const Share* a, const Share* b) {
        return a->priority() > b->priority();
      });
      std::reverse(line.begin(), line.end());  // the first is taken from the back
    }
    if (has_ranks_) start_guaranteed(lines);
    while (!is_used_up()) {
      const auto next = next_line(lines);
      if (!next) break;
      Share& share = *lines[*next].back();
      lines[*next].pop_back();
      start(share);
    }
  }

  // Jobs that fit into what their tenants are guaranteed come first, also before more important ones
  // that would have to borrow: who borrows may be sent away again.
  void start_guaranteed(std::vector<std::vector<Share*>>& lines) {
    for (std::uint32_t tenant = 0; tenant < lines.size(); ++tenant) {
      std::vector<Share*>& line = lines[tenant];
      for (std::size_t i = line.size(); i-- > 0 && ledger_.is_guaranteed(tenant, 1);) {
        if (!ledger_.is_guaranteed(tenant, size_at(*line[i], 0).gpus)) continue;
        start(*line[i]);
        if (!line[i]->block.is_none()) line.erase(line.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }

  // Whose turn it is: the higher priority, then who has had less.
  std::optional<std::uint32_t> next_line(const std::vector<std::vector<Share*>>& lines) const {
    std::optional<std::uint32_t> best;
    const auto priority = [&](std::uint32_t tenant) { return lines[tenant].back()->priority(); };
    for (std::uint32_t tenant = 0; tenant < lines.size(); ++tenant) {
      if (lines[tenant].empty()) continue;
      if (!best || priority(*best) < priority(tenant) ||
          (priority(*best) == priority(tenant) && ledger_.goes_first(tenant, *best)))
        best = tenant;
    }
    return best;
  }

  void start(Share& share) {
    if (!pays(share, 0) || !can_afford(share, 0)) return;
    const auto least = static_cast<std::uint32_t>(size_at(share, 0).gpus);
    if (grows_to(share, least)) {
      has_changed_ = true;  // its tenant may have borrowed now, and others a claim
      return;
    }
    // A promised job has its time; others have only what is lent.
    if (share.job->is_promised() || trades(share, least, std::nullopt)) return;
    evict_for(share, least, Aim::start);
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

  // Whether the promise survives going there and being sent back.
  bool can_afford(Share& share, int level) const {
    return can_afford(share, now_ + size_at(share, level).price);
  }
  bool can_afford(Share& share, Time there) const {
    const TrainingJob& job = *share.job;
    if (!has_plan(job)) return true;
    if (!share.surplus) share.surplus = surplus(job, now_);
    return *share.surplus >= lost_by_leaving(job, now_, there);
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

  // By the tenants' turns; of one tenant, where GPUs save most.
  void grow() {
    hopeless_.clear();
    std::vector<std::priority_queue<Wish>> wishes(ledger_.tenant_count());
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      Share& share = shares_[i];
      if (share.block.is_none() || !may_borrow(share)) continue;
      wish_for_more(wishes[share.tenant()], i);
    }
    while (const auto tenant = next_to_grow(wishes)) {
      std::priority_queue<Wish>& own = wishes[*tenant];
      const Wish wish = own.top();
      if (!has_ranks_ && map_.free_count() == 0 && !is_worth_a_trade(wish.value)) break;
      own.pop();
      Share& share = shares_[wish.share];
      if (share.block.is_none() || level_in(share, share.block) >= wish.level) continue;
      if (!pays(share, wish.level) || !can_afford(share, wish.level)) continue;
      const auto gpus = static_cast<std::uint32_t>(size_at(share, wish.level).gpus);
      if (grows_to(share, gpus) || trades(share, gpus, wish.value) ||
          evict_for(share, gpus, Aim::growth)) {
        wish_for_more(own, wish.share);
        has_changed_ = true;  // whoever grew beyond its guarantee may have to give way now
      }
    }
  }

  std::optional<std::uint32_t> next_to_grow(
      const std::vector<std::priority_queue<Wish>>& wishes) const {
    std::optional<std::uint32_t> best;
    for (std::uint32_t tenant = 0; tenant < wishes.size(); ++tenant) {
      if (wishes[tenant].empty()) continue;
      const bool is_due = ledger_.is_guaranteed(tenant, 1);
      const bool is_best_due = best && ledger_.is_guaranteed(*best, 1);
      if (!best || is_due > is_best_due ||
          (is_due == is_best_due && ledger_.goes_first(tenant, *best)))
        best = tenant;
    }
    return best;
  }

  // False when there is no room for it, or its tenant may not have more.
  bool grows_to(Share& share, std::uint32_t gpus) {
    if (gpus - share.block.size > map_.free_count()) return false;
    if (!ledger_.may_have(share.tenant(), static_cast<std::int32_t>(gpus - share.block.size)))
      return false;
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
    lenders_.clear();
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

  // Whether somebody of its tenant gives up half of its GPUs so that `to` gets so many: whoever makes
  // least of them, and much less than they would be worth there. Without a worth, whoever it is.
  bool trades(Share& to, std::uint32_t gpus, const std::optional<Return>& worth) {
    constexpr std::size_t kTries = 4;
    for (std::size_t i = 0; i < std::min(kTries, lenders_.size()); ++i) {
      const auto lender = lenders_.end() - 1 - static_cast<std::ptrdiff_t>(i);
      if (worth && !(lender->value.and_more() < *worth)) return false;
      Share& from = shares_[lender->share];
      if (&from == &to || from.block != from.job->block) continue;  // it grew
      if (from.tenant() != to.tenant() || from.priority() > to.priority()) continue;
      if (!can_afford(from, level_in(from, from.block) - 1)) continue;
      const GpuBlock whole = from.block;
      put(from, {whole.first, whole.size / 2});
      if (grows_to(to, gpus)) {
        lenders_.erase(lender);
        has_changed_ = true;  // the half may be more than was needed
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

  enum class Aim : std::uint8_t { start, growth };

  // Who gives way, and what it has then.
  struct Victim {
    std::size_t share;
    GpuBlock after;
    Claim claim = Claim::none;
  };
  struct Eviction {
    GpuBlock block;
    std::vector<Victim> victims;
    std::int32_t highest_priority = std::numeric_limits<std::int32_t>::min();
    std::int64_t loss = 0;  // GPU-milliseconds
    // The lowest priorities first, or whoever had to go would send away somebody else; then by loss.
    bool is_better_than(const Eviction& other) const {
      return std::tuple{highest_priority, loss, victims.size()} <
             std::tuple{other.highest_priority, other.loss, other.victims.size()};
    }
  };

  // Whether jobs with a lesser claim make room in one block, so that `to` gets so many GPUs.
  bool evict_for(Share& to, std::uint32_t gpus, Aim aim) {
    if (!has_ranks_) return false;
    const auto key = std::tuple{to.tenant(), to.priority(), gpus};
    if (hopeless_.contains(key)) return false;
    const auto eviction = cheapest_eviction(to, gpus, aim);
    if (!eviction) {
      if (aim == Aim::start) hopeless_.insert(key);
      return false;
    }
    for (const Victim& victim : eviction->victims) {
      Share& share = shares_[victim.share];
      put(share, victim.after);
      share.gave_way = Reason{code_of(victim.claim), to.id.value};
    }
    put(to, eviction->block);
    has_changed_ = true;
    return true;
  }

  static ReasonCode code_of(Claim claim) {
    if (claim == Claim::guaranteed) return ReasonCode::quota_reclaimed;
    return claim == Claim::priority ? ReasonCode::outranked : ReasonCode::had_its_turn;
  }

  std::optional<Eviction> cheapest_eviction(const Share& to, std::uint32_t gpus, Aim aim) {
    std::vector<std::size_t> owner(closed_->gpu_count(), shares_.size());
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      for (std::uint32_t slot = shares_[i].block.first; slot < shares_[i].block.end(); ++slot)
        owner[slot] = i;
    }
    std::optional<Eviction> best;
    for (std::uint32_t first = 0; first + gpus <= closed_->gpu_count(); first += gpus) {
      const GpuBlock block{first, gpus};
      if (!closed_->is_free(block)) continue;
      std::vector<std::size_t> owners;
      for (std::uint32_t slot = first; slot < first + gpus; ++slot) {
        const std::size_t share = owner[slot];
        const bool is_known = !owners.empty() && owners.back() == share;
        if (share < shares_.size() && &shares_[share] != &to && !is_known) owners.push_back(share);
      }
      auto found = eviction_from(to, block, owners, aim);
      if (found && (!best || found->is_better_than(*best))) best = std::move(found);
    }
    return best;
  }

  // Nothing when one of them has as good a claim, or the quota is still in the way.
  std::optional<Eviction> eviction_from(const Share& to, GpuBlock block,
                                        const std::vector<std::size_t>& owners, Aim aim) {
    Eviction eviction{block, {}};
    std::vector<TenantGpus> given_up;
    const std::int32_t more = gpus_in(block) - gpus_in(to.block);
    const auto add = [&](std::size_t index) {
      const auto victim = as_victim(to, more, index, block, aim);
      if (!victim) return false;
      const Share& share = shares_[index];
      const std::int32_t gives = gpus_in(share.block) - gpus_in(victim->after);
      eviction.victims.push_back(*victim);
      eviction.highest_priority = std::max(eviction.highest_priority, share.priority());
      eviction.loss += loss_of(share, victim->after);
      // The next is judged as if this one were gone.
      ledger_.add(share.tenant(), -gives);
      given_up.push_back({share.tenant(), gives});
      return true;
    };
    bool is_possible = std::all_of(owners.begin(), owners.end(), add);
    if (is_possible && !ledger_.may_have(to.tenant(), more) && aim == Aim::start)
      is_possible = frees_quota(to, more, owners, add);
    const bool sends_own_away =
        std::any_of(given_up.begin(), given_up.end(),
                    [&](const TenantGpus& each) { return each.tenant == to.tenant(); });
    is_possible = is_possible && !eviction.victims.empty() && ledger_.may_have(to.tenant(), more) &&
                  !(sends_own_away && ledger_.straddles(to.tenant(), more));
    for (const TenantGpus& each : given_up) ledger_.add(each.tenant, each.gpus);
    if (!is_possible) return std::nullopt;
    return eviction;
  }

  // Where the block would be there but not the quota: others of its tenant give way, the lowest
  // priority and the least loss first.
  template <class Add>
  bool frees_quota(const Share& to, std::int32_t more, const std::vector<std::size_t>& owners,
                   const Add& add) {
    std::vector<std::tuple<std::int32_t, std::int64_t, std::size_t>> lower;
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      const Share& share = shares_[i];
      if (share.block.is_none() || share.priority() >= to.priority()) continue;
      if (std::find(owners.begin(), owners.end(), i) != owners.end()) continue;
      lower.emplace_back(share.priority(), loss_of(share, kNoGpus), i);
    }
    std::sort(lower.begin(), lower.end());
    for (const auto& each : lower) {
      const std::size_t index = std::get<2>(each);
      if (ledger_.may_have(to.tenant(), more)) return true;
      // Only those who share the limit that is in the way.
      const TenantGpus gone{shares_[index].tenant(), gpus_in(shares_[index].block)};
      if (ledger_.excess(to.tenant(), more, {&gone, 1}) < ledger_.excess(to.tenant(), more, {}))
        add(index);
    }
    return ledger_.may_have(to.tenant(), more);
  }

  std::optional<Victim> as_victim(const Share& to, std::int32_t more, std::size_t index,
                                  GpuBlock block, Aim aim) {
    Share& share = shares_[index];
    if (share.block == share.base) return std::nullopt;  // promised
    const auto after = rest_of(share, block);
    if (!after) return std::nullopt;
    TenantLedger::Wish wish{to.tenant(), to.priority(), more};
    // Who has GPUs does not send others away for being less important.
    if (aim == Aim::growth) wish.priority = std::min(wish.priority, share.priority());
    const Duration had = now_ - share.job->served.since;
    const bool is_there = share.block == share.job->block;
    const bool has_had_its_lease = is_there && had >= lease_;
    // Who has GPUs can wait for more, unless the other has not even begun.
    if (aim == Aim::growth && is_there && !has_had_its_lease) return std::nullopt;
    const Claim claim =
        ledger_.claim(wish, {share.tenant(), share.priority(),
                             gpus_in(share.block) - gpus_in(*after), has_had_its_lease});
    if (claim == Claim::none) return std::nullopt;
    return Victim{index, *after, claim};
  }

  // What a job keeps when it leaves the block: the largest of its sizes beside it, or what it was
  // promised. Nothing when its promise needs GPUs that others have by now.
  std::optional<GpuBlock> rest_of(Share& share, GpuBlock block) const {
    const bool may_shrink = !share.job->spec->in_one_piece;
    for (int level = level_in(share, share.block); may_shrink && level-- > 0;) {
      const auto gpus = static_cast<std::uint32_t>(size_at(share, level).gpus);
      if (gpus <= share.base.size || !can_afford(share, level)) break;
      for (std::uint32_t at = share.block.first; at + gpus <= share.block.end(); at += gpus) {
        if (!block.overlaps({at, gpus})) return GpuBlock{at, gpus};
      }
    }
    if (share.base.is_none()) return kNoGpus;
    const bool is_there = !share.base.overlaps(block) && is_free_or_of(share, share.base);
    return is_there ? std::optional{share.base} : std::nullopt;
  }

  bool is_free_or_of(const Share& share, GpuBlock block) const {
    std::uint32_t own = 0;
    const std::uint32_t first = std::max(share.block.first, block.first);
    const std::uint32_t end = std::min(share.block.end(), block.end());
    if (first < end) own = end - first;
    return map_.free_in(block) + own == block.size;
  }

  // GPU-time that is lost when a job goes on with that block, or later.
  std::int64_t loss_of(const Share& share, GpuBlock after) const {
    if (share.block != share.job->block) return 0;  // it has not begun there
    if (share.job->spec->in_one_piece) return share.job->gpu_milliseconds_at(now_);
    const GpuBlock goes_on = after.is_none() ? share.block : after;
    const SizeOption& size = size_at(share, level_in(share, goes_on));
    return size.price / std::chrono::milliseconds{1} * size.gpus;
  }

  Time now_;
  Ablation ablation_;
  const BlockMap* closed_;
  Duration lease_;
  BlockMap map_;
  TenantLedger ledger_;
  bool has_ranks_ = false;    // there are tenants, or priorities
  bool has_changed_ = false;  // in this round, so that another may find more to do
  std::vector<Share> shares_;
  std::vector<Lender> lenders_;
  // Tenant, priority and GPUs for which nobody makes room.
  std::set<std::tuple<std::uint32_t, std::int32_t, std::uint32_t>> hopeless_;
};

}  // namespace

std::vector<WantedBlock> allocate_with_left_overs(const TrainingState& state, const PoolState& pool,
                                                  Time now, const Ablation& ablation) {
  return LeftOvers{state, pool, now, ablation}.run();
}

}  // namespace weir::schedule
