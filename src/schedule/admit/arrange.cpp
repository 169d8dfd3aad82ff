// SPDX-License-Identifier: Apache-2.0
#include "schedule/admit/arrange.h"

#include <algorithm>
#include <cassert>

namespace weir::schedule {
namespace {

constexpr std::int32_t kNobody = -1;

std::uint32_t gpus_at(const SizeTable& sizes, int level) {
  return level == kPaused ? 0
                          : static_cast<std::uint32_t>(sizes[static_cast<std::size_t>(level)].gpus);
}

// All plans, swept through time.
class Sweep {
 public:
  Sweep(std::span<const PlanToArrange> plans, const BlockMap& closed, Time now)
      : plans_{plans}, map_{closed}, owner_(closed.gpu_count(), kNobody), now_{now} {
    held_.resize(plans.size());
    result_.timelines.resize(plans.size());
    for (std::size_t i = 0; i < plans.size(); ++i) {
      held_[i] = {kNoGpus, plans[i].spare};
      result_.timelines[i].end = plans[i].plan->end;
      result_.timelines[i].steps.reserve(plans[i].plan->steps.size());
    }
  }

  std::optional<Arrangement> run() {
    gather_changes();
    for (std::size_t first = 0; first < changes_.size();) {
      std::size_t last = first;
      while (last < changes_.size() && changes_[last].at == changes_[first].at) ++last;
      if (!apply(std::span{changes_}.subspan(first, last - first))) return std::nullopt;
      first = last;
    }
    return std::move(result_);
  }

 private:
  struct Change {
    Time at;
    std::int32_t job;
    std::uint32_t gpus;
    std::uint32_t step;
  };
  struct Held {
    GpuBlock block;
    Work spare;
  };

  void gather_changes() {
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      const SizePlan& plan = *plans_[i].plan;
      const auto job = static_cast<std::int32_t>(i);
      for (std::size_t s = 0; s < plan.steps.size(); ++s) {
        if (plan.steps[s].from >= plan.end) break;
        const std::uint32_t gpus = gpus_at(*plans_[i].sizes, plan.steps[s].level);
        changes_.push_back({plan.steps[s].from, job, gpus, static_cast<std::uint32_t>(s)});
      }
      changes_.push_back({plan.end, job, 0, kEnd});
    }
    // At one instant: those who stay as they are, then the large ones.
    std::sort(changes_.begin(), changes_.end(), [&](const Change& a, const Change& b) {
      if (a.at != b.at) return a.at < b.at;
      const bool a_stays = stays(a);
      const bool b_stays = stays(b);
      if (a_stays != b_stays) return a_stays;
      if (a.gpus != b.gpus) return a.gpus > b.gpus;
      return a.job < b.job;
    });
  }

  // Only at the beginning does a job hold the very block it wants.
  bool stays(const Change& change) const {
    return change.step == 0 && change.at == now_ && change.gpus > 0 &&
           plans_[static_cast<std::size_t>(change.job)].block.size == change.gpus;
  }

  bool apply(std::span<const Change> changes) {
    for (const Change& change : changes) release(change.job);
    for (const Change& change : changes) {
      if (change.gpus == 0) {
        note(change, kNoGpus);
        continue;
      }
      GpuBlock from = last_block_[static_cast<std::size_t>(change.job)];
      if (change.step == 0 && change.at == now_) {
        from = plans_[static_cast<std::size_t>(change.job)].block;
      }
      const auto block = find(change.gpus, from, change.at);
      if (!block) return false;
      hold(change.job, *block);
      note(change, *block);
    }
    return true;
  }

  void release(std::int32_t job) {
    Held& held = held_[static_cast<std::size_t>(job)];
    last_block_.resize(plans_.size());
    last_block_[static_cast<std::size_t>(job)] = held.block;
    if (held.block.is_none()) return;
    map_.give_back(held.block);
    std::fill_n(owner_.begin() + held.block.first, held.block.size, kNobody);
    held.block = kNoGpus;
  }

  void hold(std::int32_t job, GpuBlock block) {
    map_.take(block);
    std::fill_n(owner_.begin() + block.first, block.size, job);
    held_[static_cast<std::size_t>(job)].block = block;
  }

  void note(const Change& change, GpuBlock block) {
    if (change.step == kEnd) return;
    result_.timelines[static_cast<std::size_t>(change.job)].steps.push_back({change.at, block});
  }

  // A block of that size, near `from` if possible; others move out of the way if they can afford it.
  std::optional<GpuBlock> find(std::uint32_t gpus, GpuBlock from, Time at) {
    if (!from.is_none()) {
      const GpuBlock near = enclosing(from, gpus);
      if (map_.is_free(near)) return near;
      if (gpus < from.size) {  // another part of what it had
        for (GpuBlock part{from.first, gpus}; part.end() <= from.end(); part.first += gpus) {
          if (map_.is_free(part)) return part;
        }
      }
    }
    if (const auto free = map_.best_fit(gpus)) return free;
    if (map_.free_count() < gpus) return std::nullopt;
    return clear_a_block(gpus, at);
  }

  bool can_move(std::int32_t job, GpuBlock block) const {
    const PlanToArrange& plan = plans_[static_cast<std::size_t>(job)];
    const auto level = static_cast<std::size_t>(level_of(*plan.sizes, block.size));
    return held_[static_cast<std::size_t>(job)].spare >=
           (*plan.sizes)[level].rate * (*plan.sizes)[level].price;
  }

  // The GPUs that would have to move out of the block; nothing when someone in it cannot.
  std::optional<std::uint32_t> occupied(GpuBlock block) const {
    std::uint32_t gpus = 0;
    for (std::uint32_t slot = block.first; slot < block.end();) {
      const std::int32_t job = owner_[slot];
      if (job == kNobody) {
        if (!map_.is_free({slot, 1})) return std::nullopt;  // closed
        ++slot;
        continue;
      }
      const GpuBlock theirs = held_[static_cast<std::size_t>(job)].block;
      if (theirs.size >= block.size || !can_move(job, theirs)) return std::nullopt;
      gpus += theirs.size;
      slot = theirs.end();
    }
    return gpus;
  }

  std::optional<GpuBlock> clear_a_block(std::uint32_t gpus, Time at) {
    GpuBlock best;
    std::uint32_t least = gpus;
    for (GpuBlock block{0, gpus}; block.end() <= map_.gpu_count(); block.first += gpus) {
      const auto moving = occupied(block);
      if (moving && *moving < least) {
        least = *moving;
        best = block;
      }
    }
    if (best.is_none()) return std::nullopt;
    std::vector<std::int32_t> movers;
    for (std::uint32_t slot = best.first; slot < best.end();) {
      const std::int32_t job = owner_[slot];
      slot += job == kNobody ? 1 : held_[static_cast<std::size_t>(job)].block.size;
      if (job != kNobody) movers.push_back(job);
    }
    std::vector<GpuBlock> were;
    for (const std::int32_t job : movers)
      were.push_back(held_[static_cast<std::size_t>(job)].block);
    std::vector<std::size_t> order(movers.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return were[a].size > were[b].size; });
    for (const std::int32_t job : movers) release(job);
    map_.take(best);  // so that none of them goes back
    bool all_placed = true;
    for (const std::size_t i : order) {
      const auto elsewhere = find(were[i].size, kNoGpus, at);
      if (!elsewhere) {
        all_placed = false;
        break;
      }
      move(movers[i], were[i], *elsewhere, at);
    }
    map_.give_back(best);
    if (!all_placed) return std::nullopt;
    return best;
  }

  void move(std::int32_t job, GpuBlock from, GpuBlock to, Time at) {
    const PlanToArrange& plan = plans_[static_cast<std::size_t>(job)];
    const auto level = static_cast<std::size_t>(level_of(*plan.sizes, from.size));
    held_[static_cast<std::size_t>(job)].spare -=
        (*plan.sizes)[level].rate * (*plan.sizes)[level].price;
    hold(job, to);
    auto& steps = result_.timelines[static_cast<std::size_t>(job)].steps;
    if (!steps.empty() && steps.back().from == at) {
      steps.back().block = to;
    } else {
      steps.push_back({at, to});
    }
    ++result_.moves;
  }

  static constexpr std::uint32_t kEnd = static_cast<std::uint32_t>(-1);

  std::span<const PlanToArrange> plans_;
  BlockMap map_;
  std::vector<std::int32_t> owner_;  // by GPU
  Time now_;
  std::vector<Held> held_;
  std::vector<GpuBlock> last_block_;
  std::vector<Change> changes_;
  Arrangement result_;
};

}  // namespace

std::optional<Arrangement> arrange_all(std::span<const PlanToArrange> plans, const BlockMap& closed,
                                       Time now) {
  return Sweep{plans, closed, now}.run();
}

std::size_t FixedTimelines::add(const Timeline& timeline, Time end) {
  const std::size_t number = ends_.size();
  ends_.push_back(end);
  for (std::size_t i = 0; i < timeline.steps.size(); ++i) {
    const TimelineStep& step = timeline.steps[i];
    if (!step.block.is_none())
      uses_.push_back(
          {step.from, timeline.end_of(i), step.block, static_cast<std::uint32_t>(number)});
  }
  return number;
}

std::optional<Timeline> FixedTimelines::arrange(const SizePlan& plan, const SizeTable& sizes,
                                                GpuBlock present) const {
  Timeline timeline;
  timeline.end = plan.end;
  GpuBlock last = present;
  for (std::size_t s = 0; s < plan.steps.size() && plan.steps[s].from < plan.end; ++s) {
    const Time from = plan.steps[s].from;
    const Time to =
        s + 1 < plan.steps.size() ? std::min(plan.steps[s + 1].from, plan.end) : plan.end;
    const std::uint32_t gpus = gpus_at(sizes, plan.steps[s].level);
    if (gpus == 0) {
      timeline.steps.push_back({from, kNoGpus});
      last = kNoGpus;
      continue;
    }
    // What anybody uses at any time of the step.
    BlockMap taken = *closed_;
    for (const Use& use : uses_) {
      if (use.from < to && from < use.to && from < ends_[use.number]) taken.cover_later(use.block);
    }
    taken.count_free();
    std::optional<GpuBlock> block;
    if (!last.is_none() && taken.is_free(enclosing(last, gpus))) block = enclosing(last, gpus);
    const bool must_stay = s == 0 && gpus == present.size;
    if (!block && !must_stay) block = taken.best_fit(gpus);
    if (!block) return std::nullopt;
    timeline.steps.push_back({from, *block});
    last = *block;
  }
  return timeline;
}

std::optional<Timeline> arrange_one(const SizePlan& plan, const SizeTable& sizes, GpuBlock present,
                                    std::span<const OtherTimeline> others, const BlockMap& closed) {
  FixedTimelines fixed{closed};
  for (const OtherTimeline& other : others) fixed.add(*other.timeline, other.end);
  return fixed.arrange(plan, sizes, present);
}

}  // namespace weir::schedule
