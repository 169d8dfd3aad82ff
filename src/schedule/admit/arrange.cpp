// SPDX-License-Identifier: Apache-2.0
#include "schedule/admit/arrange.h"

#include <algorithm>
#include <cassert>

#include "schedule/place/owned_blocks.h"

namespace weir::schedule {
namespace {

std::uint32_t gpus_at(const SizeTable& sizes, int level) {
  return level == kPaused ? 0
                          : static_cast<std::uint32_t>(sizes[static_cast<std::size_t>(level)].gpus);
}

// All plans, swept through time.
class Sweep {
 public:
  Sweep(std::span<const PlanToArrange> plans, const BlockMap& closed, Time now)
      : plans_{plans}, owned_{closed, plans.size()}, now_{now}, last_block_(plans.size()) {
    result_.timelines.resize(plans.size());
    for (std::size_t i = 0; i < plans.size(); ++i) {
      spare_.push_back(plans[i].spare);
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
    std::size_t job;
    std::uint32_t gpus;
    std::uint32_t step;
  };

  void gather_changes() {
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      const SizePlan& plan = *plans_[i].plan;
      for (std::size_t s = 0; s < plan.steps.size(); ++s) {
        if (plan.steps[s].from >= plan.end) break;
        const std::uint32_t gpus = gpus_at(*plans_[i].sizes, plan.steps[s].level);
        changes_.push_back({plan.steps[s].from, i, gpus, static_cast<std::uint32_t>(s)});
      }
      changes_.push_back({plan.end, i, 0, kEnd});
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
           plans_[change.job].block.size == change.gpus;
  }

  bool apply(std::span<const Change> changes) {
    for (const Change& change : changes) release(change.job);
    for (const Change& change : changes) {
      if (change.gpus == 0) {
        note(change, kNoGpus);
        continue;
      }
      GpuBlock from = last_block_[change.job];
      if (change.step == 0 && change.at == now_) {
        from = plans_[change.job].block;
      }
      const auto block = find(change.gpus, from, change.at);
      if (!block) return false;
      owned_.hold(change.job, *block);
      note(change, *block);
    }
    return true;
  }

  void release(std::size_t job) {
    last_block_[job] = owned_.block_of(job);
    owned_.release(job);
  }

  void note(const Change& change, GpuBlock block) {
    if (change.step == kEnd) return;
    result_.timelines[change.job].steps.push_back({change.at, block});
  }

  // A block of that size, near `from` if possible; others move out of the way if they can afford it.
  std::optional<GpuBlock> find(std::uint32_t gpus, GpuBlock from, Time at) {
    if (!from.is_none()) {
      const GpuBlock near = enclosing(from, gpus);
      if (owned_.map().is_free(near)) return near;
      if (gpus < from.size) {  // another part of what it had
        for (GpuBlock part{from.first, gpus}; part.end() <= from.end(); part.first += gpus) {
          if (owned_.map().is_free(part)) return part;
        }
      }
    }
    if (const auto free = owned_.map().best_fit(gpus)) return free;
    if (owned_.map().free_count() < gpus) return std::nullopt;
    return clear_a_block(gpus, at);
  }

  // What moving costs it, at the size it has.
  Work price_of_moving(std::size_t job) const {
    const SizeTable& sizes = *plans_[job].sizes;
    const SizeOption& size =
        sizes[static_cast<std::size_t>(level_of(sizes, owned_.block_of(job).size))];
    return size.rate * size.price;
  }

  std::optional<GpuBlock> clear_a_block(std::uint32_t gpus, Time at) {
    const auto block = owned_.cheapest_to_clear(
        gpus, [&](std::size_t job) { return spare_[job] >= price_of_moving(job); });
    if (!block) return std::nullopt;
    const std::vector<std::size_t> movers = owned_.jobs_in(*block);
    std::vector<std::uint32_t> sizes;
    for (const std::size_t job : movers) {
      sizes.push_back(owned_.block_of(job).size);
      spare_[job] -= price_of_moving(job);
      release(job);
    }
    owned_.reserve(*block);  // so that none of them goes back
    bool all_placed = true;
    for (std::size_t i = 0; i < movers.size() && all_placed; ++i) {
      const auto elsewhere = find(sizes[i], kNoGpus, at);
      all_placed = elsewhere.has_value();
      if (all_placed) move(movers[i], *elsewhere, at);
    }
    owned_.unreserve(*block);
    if (!all_placed) return std::nullopt;
    return block;
  }

  void move(std::size_t job, GpuBlock to, Time at) {
    owned_.hold(job, to);
    auto& steps = result_.timelines[job].steps;
    if (!steps.empty() && steps.back().from == at) {
      steps.back().block = to;
    } else {
      steps.push_back({at, to});
    }
    ++result_.moves;
  }

  static constexpr std::uint32_t kEnd = static_cast<std::uint32_t>(-1);

  std::span<const PlanToArrange> plans_;
  OwnedBlocks owned_;
  Time now_;
  std::vector<Work> spare_;           // by job
  std::vector<GpuBlock> last_block_;  // by job: before its last change
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
    const Time to = plan.end_of(s);
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
