// SPDX-License-Identifier: Apache-2.0
#include "schedule/admit/arrange.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <deque>

#include "schedule/admit/promises.h"
#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

// Jobs with plans that fit together by count.
struct Planned {
  SizeTable sizes;
  JobToFill job;
  GpuBlock block;
  SizePlan plan;
  Work spare;
};
struct Plans {
  BlockMap closed;
  std::deque<Planned> jobs;
  std::int64_t now = 0;

  std::vector<PlanToArrange> to_arrange() const {
    std::vector<PlanToArrange> all;
    for (const Planned& job : jobs) all.push_back({&job.sizes, &job.plan, job.block, job.spare});
    return all;
  }
};

void make_plans(Plans& any, std::uint32_t gpus, std::span<const int> reserves) {
  any.closed = BlockMap{gpus};
  if (gpus > 8 && between(0, 3) == 0) any.closed.take({between<std::uint32_t>(0, gpus / 8) * 8, 8});
  BlockMap present = any.closed;
  CapacityProfile profile{at_second(0), static_cast<std::int32_t>(any.closed.free_count())};
  const RescaleCost cost = any_cost();
  const int jobs = between(1, 12);
  for (int i = 0; i < jobs; ++i) {
    Planned& made = any.jobs.emplace_back();
    made.sizes = sizes_of(any_curve(8), cost);
    made.job.sizes = &made.sizes;
    const auto window = between<std::int64_t>(10, 300);
    made.job.deadline = at_second(window);
    const std::int64_t most = made.sizes.back().rate.value / 1'000'000 * window;
    made.job.left = work_of_iterations(between<std::int64_t>(1, most + 2));
    if (between(0, 2) == 0) {
      const auto size = static_cast<std::uint32_t>((*rc::gen::elementOf(made.sizes)).gpus);
      const GpuBlock block{between<std::uint32_t>(0, gpus / size) * size, size};
      if (present.is_free(block)) {
        present.take(block);
        made.block = block;
        made.job.level = level_of(made.sizes, size);
      }
    }
    auto plan = fill(profile, made.job, {at_second(0), Duration{0}, reserves});
    if (!plan) {
      if (!made.block.is_none()) present.give_back(made.block);
      any.jobs.pop_back();
      continue;
    }
    subtract(profile, *plan, made.sizes);
    made.plan = std::move(*plan);
    const SizeOption& top = made.sizes[static_cast<std::size_t>(made.plan.top_level)];
    made.spare = top.rate * (top.price * made.plan.reserve);
  }
  RC_PRE(!any.jobs.empty());
}

// What the job does by then if it follows the timeline; every change of block is paid for.
Work replay(const Timeline& timeline, const Planned& job, Time until) {
  Work done;
  GpuBlock block = job.block;
  Time ready = job.job.ready_at;
  for (std::size_t i = 0; i < timeline.steps.size(); ++i) {
    const TimelineStep& step = timeline.steps[i];
    const Time to =
        std::min(i + 1 < timeline.steps.size() ? timeline.steps[i + 1].from : timeline.end, until);
    const int level = level_of(job.sizes, step.block.size);
    if (step.block != block) {
      block = step.block;
      if (level != kPaused) ready = step.from + job.sizes[static_cast<std::size_t>(level)].price;
    }
    if (level != kPaused && std::max(step.from, ready) < to)
      done += job.sizes[static_cast<std::size_t>(level)].rate * (to - std::max(step.from, ready));
  }
  return done;
}

// The price of all changes of block that are not changes of the plan's size.
Work cost_of_moves(const Timeline& timeline, const Planned& job) {
  Work cost;
  GpuBlock block = job.block;
  for (const TimelineStep& step : timeline.steps) {
    const bool moves =
        !step.block.is_none() && step.block != block && step.block.size == block.size;
    block = step.block;
    if (!moves) continue;
    const auto level = static_cast<std::size_t>(level_of(job.sizes, step.block.size));
    cost += job.sizes[level].rate * job.sizes[level].price;
  }
  return cost;
}

std::vector<Time> moments_of(const std::vector<Timeline>& timelines) {
  std::vector<Time> moments;
  for (const Timeline& timeline : timelines) {
    for (const TimelineStep& step : timeline.steps) moments.push_back(step.from);
  }
  return moments;
}

TEST(ArrangeAll, KeepsAJobWhereItIs) {
  const SizeTable sizes = sizes_of({{2, 10}});
  const SizePlan plan{{{at_second(0), 0}}, at_second(10), 0, 0};
  const std::vector<PlanToArrange> plans{{&sizes, &plan, kNoGpus, {}}, {&sizes, &plan, {0, 2}, {}}};
  const auto arrangement = arrange_all(plans, BlockMap{4}, at_second(0));
  ASSERT_TRUE(arrangement);
  EXPECT_EQ(arrangement->timelines[0].steps.front().block, (GpuBlock{2, 2}));
  EXPECT_EQ(arrangement->timelines[1].steps.front().block, (GpuBlock{0, 2}));
  EXPECT_EQ(arrangement->moves, 0);
}

// Two single GPUs in different halves of four, and at second 10 someone wants a half.
std::optional<Arrangement> arrange_around(Work spare) {
  static const SizeTable single = sizes_of({{1, 10}}, {from_seconds(2), from_seconds(0)});
  static const SizeTable pair = sizes_of({{2, 10}}, {from_seconds(2), from_seconds(0)});
  static const SizePlan runs{{{at_second(0), 0}}, at_second(50), 0, 0};
  static const SizePlan comes{{{at_second(0), kPaused}, {at_second(10), 0}}, at_second(50), 0, 0};
  const std::vector<PlanToArrange> plans{
      {&single, &runs, {0, 1}, spare}, {&single, &runs, {2, 1}, {}}, {&pair, &comes, kNoGpus, {}}};
  return arrange_all(plans, BlockMap{4}, at_second(0));
}

TEST(ArrangeAll, MovesAJobOutOfTheWayIfItsSparePaysForIt) {
  const auto arrangement = arrange_around(work_of_iterations(20));  // 2 s at 10/s
  ASSERT_TRUE(arrangement);
  EXPECT_EQ(arrangement->moves, 1);
  EXPECT_EQ(arrangement->timelines[0].steps,
            (std::vector<TimelineStep>{{at_second(0), {0, 1}}, {at_second(10), {3, 1}}}));
  EXPECT_EQ(arrangement->timelines[2].block_at(at_second(10)), (GpuBlock{0, 2}));
}

TEST(ArrangeAll, SaysNoWhenAJobWithoutSpareWouldHaveToMove) {
  EXPECT_FALSE(arrange_around(work_of_iterations(20) - Work{1}));
}

RC_GTEST_PROP(ArrangeAll, BlocksAreDisjointAndOpenAndOfThePlannedSizesAtAllTimes, ()) {
  Plans any;
  make_plans(any, *rc::gen::elementOf(std::vector<std::uint32_t>{8, 16, 24, 64}), kReserves);
  const auto arrangement = arrange_all(any.to_arrange(), any.closed, at_second(0));
  RC_CLASSIFY(!arrangement);
  RC_PRE(arrangement.has_value());
  for (std::size_t i = 0; i < any.jobs.size(); ++i) {
    const Timeline& timeline = arrangement->timelines[i];
    RC_ASSERT(timeline.end == any.jobs[i].plan.end);
    for (std::size_t s = 1; s < timeline.steps.size(); ++s) {
      RC_ASSERT(timeline.steps[s - 1].from < timeline.steps[s].from);
      RC_ASSERT(timeline.steps[s - 1].block != timeline.steps[s].block);
    }
  }
  for (const Time moment : moments_of(arrangement->timelines)) {
    BlockMap map = any.closed;
    for (std::size_t i = 0; i < any.jobs.size(); ++i) {
      const GpuBlock block = arrangement->timelines[i].block_at(moment);
      const auto planned = gpus_of(any.jobs[i].sizes, level_at(any.jobs[i].plan, moment));
      RC_ASSERT(block.size == static_cast<std::uint32_t>(planned));
      if (block.is_none()) continue;
      RC_ASSERT(block.first % block.size == 0U);
      RC_ASSERT(map.is_free(block));
      map.take(block);
    }
  }
}

RC_GTEST_PROP(ArrangeAll, AJobMovesOnlyAtTheExpenseOfItsOwnSpareAndStillDoesItsWork, ()) {
  Plans any;
  make_plans(any, *rc::gen::elementOf(std::vector<std::uint32_t>{8, 16, 24}), kReserves);
  // Some have less to spare than their plan has.
  for (Planned& job : any.jobs) {
    if (between(0, 3) == 0) job.spare = Work{};
  }
  const auto arrangement = arrange_all(any.to_arrange(), any.closed, at_second(0));
  RC_PRE(arrangement.has_value());
  RC_CLASSIFY(arrangement->moves > 0);
  for (std::size_t i = 0; i < any.jobs.size(); ++i) {
    const Planned& job = any.jobs[i];
    RC_ASSERT(cost_of_moves(arrangement->timelines[i], job) <= job.spare);
    RC_ASSERT(replay(arrangement->timelines[i], job, job.job.deadline) >= job.job.left);
  }
}

RC_GTEST_PROP(ArrangeAll, WithEnoughToSpareWhateverFitsByCountIsArranged, ()) {
  Plans any;
  make_plans(any, *rc::gen::elementOf(std::vector<std::uint32_t>{8, 16, 24, 64}), kReserves);
  for (Planned& job : any.jobs) job.spare = work_of_iterations(1'000'000'000);
  RC_ASSERT(arrange_all(any.to_arrange(), any.closed, at_second(0)).has_value());
}

RC_GTEST_PROP(ArrangeAll, WithoutMovesEveryoneBeginsInItsOwnBlock, ()) {
  Plans any;
  make_plans(any, *rc::gen::elementOf(std::vector<std::uint32_t>{8, 16, 24, 64}), kReserves);
  const auto arrangement = arrange_all(any.to_arrange(), any.closed, at_second(0));
  RC_PRE(arrangement.has_value());
  RC_PRE(arrangement->moves == 0);
  for (std::size_t i = 0; i < any.jobs.size(); ++i) {
    const Planned& job = any.jobs[i];
    if (job.block.is_none() || job.plan.steps.front().level != job.job.level) continue;
    RC_ASSERT(arrangement->timelines[i].steps.front().block == job.block);
  }
}

// Whether some aligned block is free of others and of closed GPUs during all of [from, to).
bool has_room(const Plans& any, const std::vector<Timeline>& others, std::uint32_t size, Time from,
              Time to) {
  for (GpuBlock block{0, size}; block.end() <= any.closed.gpu_count(); block.first += size) {
    bool is_free = any.closed.is_free(block);
    for (const Timeline& other : others) {
      for (std::size_t i = 0; i < other.steps.size(); ++i) {
        const Time begin = other.steps[i].from;
        const Time end = i + 1 < other.steps.size() ? other.steps[i + 1].from : other.end;
        if (begin < to && end > from && other.steps[i].block.overlaps(block)) is_free = false;
      }
    }
    if (is_free) return true;
  }
  return false;
}

RC_GTEST_PROP(ArrangeOne, FindsRoomBesideOthersIffEveryStepHasABlockThatIsFreeThroughout, ()) {
  Plans any;
  make_plans(any, *rc::gen::elementOf(std::vector<std::uint32_t>{8, 16, 24}), kReserves);
  const Planned newcomer = std::move(any.jobs.back());
  any.jobs.pop_back();
  const auto arrangement = arrange_all(any.to_arrange(), any.closed, at_second(0));
  RC_PRE(arrangement.has_value());
  const std::vector<Timeline> before = arrangement->timelines;
  std::vector<OtherTimeline> others;
  for (const Timeline& timeline : arrangement->timelines)
    others.push_back({&timeline, timeline.end});
  bool has_room_always = true;
  const SizePlan& plan = newcomer.plan;
  for (std::size_t i = 0; i < plan.steps.size() && plan.steps[i].from < plan.end; ++i) {
    const Time to = i + 1 < plan.steps.size() ? plan.steps[i + 1].from : plan.end;
    const auto gpus = static_cast<std::uint32_t>(gpus_of(newcomer.sizes, plan.steps[i].level));
    if (gpus > 0 && !has_room(any, before, gpus, plan.steps[i].from, to)) has_room_always = false;
  }
  const auto timeline = arrange_one(plan, newcomer.sizes, kNoGpus, others, any.closed);
  RC_CLASSIFY(timeline.has_value());
  RC_ASSERT(timeline.has_value() == has_room_always);
  RC_ASSERT(arrangement->timelines == before);
  if (!timeline) return;
  std::vector<Timeline> all = before;
  all.push_back(*timeline);
  for (const Time moment : moments_of(all)) {
    BlockMap map = any.closed;
    for (const Timeline& one : all) {
      const GpuBlock block = one.block_at(moment);
      if (block.is_none()) continue;
      RC_ASSERT(map.is_free(block));
      map.take(block);
    }
    const auto planned = gpus_of(newcomer.sizes, level_at(plan, moment));
    RC_ASSERT(timeline->block_at(moment).size == static_cast<std::uint32_t>(planned));
  }
}

}  // namespace
}  // namespace weir::schedule
