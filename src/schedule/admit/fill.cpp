// SPDX-License-Identifier: Apache-2.0
#include "schedule/admit/fill.h"

#include <algorithm>
#include <cassert>

#include "schedule/admit/slots.h"

namespace weir::schedule {
namespace {

// The levels a plan may use: `before` until `switch_at`, `after` from then on.
struct LevelLimit {
  int before = kPaused;
  int after = kPaused;
  Time switch_at;
  int at(Time time) const { return time < switch_at ? before : after; }
};

// One pass over the window of a job.
class Filling {
 public:
  Filling(const CapacityProfile& profile, const JobToFill& job, const FillRules& rules)
      : profile_{profile}, sizes_{*job.sizes}, job_{job}, rules_{rules} {
    first_piece_ = profile.piece_at(rules.now);
  }

  struct Walk {
    Work done;
    std::optional<Time> end;  // when the need was met
  };

  // Follows the limit from now on until the need is met or the deadline is there.
  Walk walk(const LevelLimit& limit, Work need, std::vector<SizeStep>* steps) const {
    Walk result;
    int level = job_.level;
    Time ready = job_.ready_at;
    if (steps != nullptr) steps->clear();
    const auto go_to = [&](int next, Time at) {
      if (next != level) {
        level = next;
        if (level != kPaused) ready = at + price(level);
      } else if (steps == nullptr || !steps->empty()) {
        return;
      }
      if (steps != nullptr) steps->push_back({at, level});
    };
    for (std::size_t i = first_piece_; i < profile_.size(); ++i) {
      Time from = std::max(profile_.begin_of(i), rules_.now);
      if (from >= job_.deadline) break;
      const Time piece_end = std::min(profile_.end_of(i), job_.deadline);
      while (from < piece_end) {
        const Time to =
            from < limit.switch_at && limit.switch_at < piece_end ? limit.switch_at : piece_end;
        go_to(choose(i, from, limit, level), from);
        if (level != kPaused && ready < to) {
          const Time working = std::max(from, ready);
          const Work gained = rate(level) * (to - working);
          if (result.done + gained >= need) {
            result.end = working + time_for(need - result.done, rate(level));
            result.done = need;
            return result;
          }
          result.done += gained;
        }
        from = to;
      }
    }
    return result;
  }

  // The latest moment from which the higher level is needed, when the lower came first. An
  // estimate: it leaves out that useless changes are not made.
  Time latest_switch(int before, int after, Work need) {
    gather(before, after);
    const std::size_t count = pieces_.size();
    // By piece: the work from its start to the deadline at the higher level, already being there.
    Work later;
    for (std::size_t i = count; i-- > 0;) {
      Piece& piece = pieces_[i];
      if (i + 1 < count && pieces_[i + 1].high != piece.high) later -= entry_loss(pieces_[i + 1]);
      later += rate(piece.high) * piece.length;
      piece.rest_at_high = later;
    }
    for (std::size_t i = count; i-- > 0;) {
      const Piece& piece = pieces_[i];
      Work total = piece.done_before + piece.rest_at_high;
      if (piece.high != piece.level_before) total -= entry_loss(piece);
      if (total < need) continue;
      if (piece.high == piece.low) return piece.from + piece.length;
      const IterationRate gain{rate(piece.high).value - rate(piece.low).value};
      if (gain.value <= 0) return piece.from;
      const WideInteger spare = (total - need).femto_iterations / gain.value;
      const auto length = static_cast<WideInteger>(piece.length.count());
      return piece.from + Duration{static_cast<std::int64_t>(std::min(spare, length))};
    }
    return rules_.now;
  }

  // Whether the largest sizes that fit, at no price, would do so much by the deadline. If not, no
  // plan does.
  bool could_ever_do(Work need) const {
    Work done;
    for (std::size_t i = first_piece_; i < profile_.size(); ++i) {
      const Time from = std::max(profile_.begin_of(i), rules_.now);
      if (from >= job_.deadline) return false;
      const Duration length = std::min(profile_.end_of(i), job_.deadline) - from;
      done += rate(fitting(profile_.free_in(i), levels() - 1)) * length;
      if (done >= need) return true;
    }
    return false;
  }

  IterationRate rate(int level) const {
    return level == kPaused ? IterationRate{0} : sizes_[static_cast<std::size_t>(level)].rate;
  }
  Duration price(int level) const {
    return level == kPaused ? Duration{0} : sizes_[static_cast<std::size_t>(level)].price;
  }
  int levels() const { return static_cast<int>(sizes_.size()); }

 private:
  struct Piece {
    Time from;
    Duration length;
    int low;
    int high;
    int level_before;  // at the lower level, on entering the piece
    Work done_before;  // at the lower level
    Work rest_at_high;
  };

  // The highest level that is at most `limit` and fits what is free.
  int fitting(std::int32_t free, int limit) const {
    while (limit >= 0 && sizes_[static_cast<std::size_t>(limit)].gpus > free) --limit;
    return limit;
  }

  int choose(std::size_t piece, Time from, const LevelLimit& limit, int level) const {
    int next = fitting(profile_.free_in(piece), limit.at(from));
    while (next > level && !earns_its_price(piece, from, level, next)) --next;
    return next;
  }

  // Whether going up pays before there is room no more.
  bool earns_its_price(std::size_t piece, Time from, int level, int next) const {
    const std::int32_t gpus = sizes_[static_cast<std::size_t>(next)].gpus;
    for (std::size_t i = piece; i < profile_.size(); ++i) {
      if (profile_.free_in(i) < gpus) return false;
      const Time to = std::min(profile_.end_of(i), job_.deadline);
      const Duration length = to - from;
      if (length > price(next) && rate(next) * (length - price(next)) > rate(level) * length)
        return true;
      if (to == job_.deadline) return false;
    }
    return false;
  }

  Work entry_loss(const Piece& piece) const {
    return rate(piece.high) * std::min(price(piece.high), piece.length);
  }

  void gather(int before, int after) {
    pieces_.clear();
    int level = job_.level;
    Time ready = job_.ready_at;
    Work done;
    for (std::size_t i = first_piece_; i < profile_.size(); ++i) {
      const Time from = std::max(profile_.begin_of(i), rules_.now);
      if (from >= job_.deadline) break;
      const Time to = std::min(profile_.end_of(i), job_.deadline);
      const LevelLimit low_only{before, before, from};
      const int low = choose(i, from, low_only, level);
      const int high = fitting(profile_.free_in(i), after);
      pieces_.push_back({from, to - from, low, high, level, done, Work{}});
      if (low != level) {
        level = low;
        ready = from + price(low);
      }
      if (low != kPaused && ready < to) done += rate(low) * (to - std::max(from, ready));
    }
  }

  const CapacityProfile& profile_;
  const SizeTable& sizes_;
  const JobToFill& job_;
  const FillRules& rules_;
  std::size_t first_piece_ = 0;
  std::vector<Piece> pieces_;
};

std::optional<SizePlan> fill_with_reserve(Filling& filling, const JobToFill& job,
                                          const FillRules& rules, int reserve) {
  const Duration window = job.deadline - rules.now;
  for (int q = 0; q < filling.levels(); ++q) {
    const Work need = job.left + filling.rate(q) * (filling.price(q) * reserve);
    if (filling.rate(q) * window < need) continue;
    const LevelLimit constant{q, q, rules.now};
    const auto whole = filling.walk(constant, need, nullptr);
    if (!whole.end) continue;
    SizePlan plan;
    plan.top_level = q;
    plan.reserve = reserve;
    if (rules.raises_late && (q > 0 || rules.starts_late)) {
      const Time at = slot_before(filling.latest_switch(q - 1, q, need), rules.slot);
      if (at > rules.now) {
        if (const auto end = filling.walk({q - 1, q, at}, need, &plan.steps).end) {
          plan.end = slot_after(*end, rules.slot);
          return plan;
        }
      }
    }
    plan.end = slot_after(*filling.walk(constant, need, &plan.steps).end, rules.slot);
    return plan;
  }
  return std::nullopt;
}

// How long from then on so many GPUs are free, up to `wanted`.
Duration free_for(const CapacityProfile& profile, Time from, std::int32_t gpus, Duration wanted) {
  for (std::size_t i = profile.piece_at(from); i < profile.size(); ++i) {
    if (profile.free_in(i) < gpus) return std::max(Duration{0}, profile.begin_of(i) - from);
    if (profile.end_of(i) - from >= wanted) return wanted;
  }
  return wanted;
}

// One that runs goes on; one that does not begins where it first can run to its end.
std::optional<SizePlan> fill_in_one_piece(const CapacityProfile& profile, const JobToFill& job,
                                          const FillRules& rules) {
  const SizeOption& size = job.sizes->front();
  const bool runs = job.level == 0;
  SizePlan plan;
  plan.top_level = 0;
  Time from = rules.now;
  while (true) {
    const Time ready = runs ? std::max(rules.now, job.ready_at) : from + size.price;
    const Duration work = time_for(job.left, size.rate);
    if (ready >= job.deadline || work > job.deadline - ready) return std::nullopt;
    plan.end = slot_after(ready + work, rules.slot);
    if (plan.end > job.deadline) return std::nullopt;
    const Duration room = free_for(profile, from, size.gpus, plan.end - from);
    if (room == plan.end - from) break;
    if (runs) return std::nullopt;
    // On to the next time that has room.
    std::size_t piece = profile.piece_at(from + room);
    while (piece < profile.size() && profile.free_in(piece) < size.gpus) ++piece;
    if (piece == profile.size()) return std::nullopt;
    from = slot_after(profile.begin_of(piece), rules.slot);
  }
  if (from > rules.now) plan.steps.push_back({rules.now, kPaused});
  plan.steps.push_back({from, 0});
  return plan;
}

void change(CapacityProfile& profile, const SizePlan& plan, const SizeTable& sizes,
            std::int32_t sign) {
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const SizeStep& step = plan.steps[i];
    if (step.level == kPaused || step.from >= plan.end) continue;
    profile.add(step.from, plan.end_of(i), sign * sizes[static_cast<std::size_t>(step.level)].gpus);
  }
}

}  // namespace

std::optional<SizePlan> fill(const CapacityProfile& profile, const JobToFill& job,
                             const FillRules& rules) {
  if (job.deadline <= rules.now) return std::nullopt;
  if (job.in_one_piece) return fill_in_one_piece(profile, job, rules);
  Filling filling{profile, job, rules};
  // Most jobs that do not fit would not fit if changes were free and reserves not wanted.
  if (!filling.could_ever_do(job.left)) return std::nullopt;
  for (const int reserve : rules.reserves) {
    if (auto plan = fill_with_reserve(filling, job, rules, reserve)) return plan;
  }
  return std::nullopt;
}

SizePlan fill_greedily(const CapacityProfile& profile, const JobToFill& job,
                       const FillRules& rules) {
  JobToFill patient = job;
  patient.deadline = Time::max();
  Filling filling{profile, patient, rules};
  SizePlan plan;
  plan.top_level = filling.levels() - 1;
  const LevelLimit all{plan.top_level, plan.top_level, rules.now};
  plan.end =
      slot_after(filling.walk(all, job.left, &plan.steps).end.value_or(Time::max()), rules.slot);
  return plan;
}

void subtract(CapacityProfile& profile, const SizePlan& plan, const SizeTable& sizes) {
  change(profile, plan, sizes, -1);
}

void give_back(CapacityProfile& profile, const SizePlan& plan, const SizeTable& sizes) {
  change(profile, plan, sizes, 1);
}

}  // namespace weir::schedule
