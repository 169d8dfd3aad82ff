// SPDX-License-Identifier: Apache-2.0
#include "plan/transformer/transformer_search.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <limits>
#include <set>

#include "plan/transformer/transformer_advice.h"
#include "predict/transformer/kernel_times_testing.h"
#include "predict/transformer/published_runs_testing.h"

namespace weir::plan {
namespace {

using predict::ParallelMode;
using predict::Recompute;
using predict::TransformerPlan;

constexpr double kGiB = 1024.0 * 1024 * 1024;

TransformerRequest small_request(int gpus, std::int64_t batch, double memory_gib) {
  TransformerRequest request;
  request.task = predict::task_on("A100-80G", predict::llama_like(8, 2048, 16, 4, 5632, 32'000),
                                  1 << 14, batch);
  request.gpus = gpus;
  request.memory_bytes = memory_gib * kGiB;
  return request;
}

// Every combination of every number, asked one by one whether it keeps the rules.
double least_by_trying_all(const TransformerRequest& request) {
  const predict::TransformerTask& task = request.task;
  double least = std::numeric_limits<double>::infinity();
  TransformerPlan plan;
  const auto try_plan = [&] {
    const bool stays_on_node =
        plan.mode == ParallelMode::isp || plan.split() <= task.fabric.gpus_per_node;
    if (!stays_on_node || !fits_pins(request.pins, plan) ||
        !predict::broken_rules(task.model, task.sequence, request.gpus, task.batch, plan).empty() ||
        predict::transformer_memory(task.model, task.sequence, task.runtime, plan).needed >
            request.memory_bytes) {
      return;
    }
    least = std::min(least, predict::transformer_time(task, plan).iteration);
  };
  for (const ParallelMode mode :
       {ParallelMode::isp, ParallelMode::mtp, ParallelMode::msp, ParallelMode::fsp})
    for (int hp = 1; hp <= request.gpus; ++hp)
      for (int cp = 1; hp * cp <= request.gpus; ++cp)
        for (int w = 1; w <= cp; ++w)
          for (int pp = 1; hp * cp * pp <= request.gpus; ++pp)
            for (int v = 1; v <= 8; ++v)
              for (std::int64_t mb = 1; mb <= task.batch; ++mb)
                for (const Recompute recompute :
                     {Recompute::none, Recompute::full, Recompute::plus})
                  for (const bool is_head_first : {true, false}) {
                    if (request.gpus % (hp * cp * pp) != 0) continue;
                    plan = {};
                    plan.mode = mode;
                    plan.grid = {hp, cp, w, is_head_first};
                    plan.stages = pp;
                    plan.interleave = v;
                    plan.replicas = request.gpus / (hp * cp * pp);
                    plan.micro_batch = static_cast<int>(mb);
                    plan.micro_count = static_cast<int>(task.batch / (plan.replicas * mb));
                    plan.recompute = recompute;
                    if (plan.batch() != task.batch) continue;
                    for (int wp = 1; wp <= plan.same_weights(); wp *= 2)
                      for (int os = wp; os <= plan.same_weights(); os *= 2)
                        for (const int gs : {wp, os}) {
                          plan.weight_shards = wp;
                          plan.gradient_shards = gs;
                          plan.optimizer_shards = os;
                          for (const bool hides : {true, false})
                            for (const bool pool : {true, false}) {
                              plan.hides_weights = hides;
                              plan.has_memory_pool = pool;
                              try_plan();
                            }
                        }
                  }
  return least;
}

RC_GTEST_PROP(TransformerSearchProperty, FindsWhatTryingEverythingFinds, ()) {
  const int gpus = 1 << *rc::gen::inRange(0, 4);
  // Around what the model needs; nodes of one, two or four GPUs, so that placement matters.
  TransformerRequest request =
      small_request(gpus, 1 << *rc::gen::inRange(0, 4), *rc::gen::inRange(60, 200) / 10.0);
  request.task.fabric.gpus_per_node = 1 << *rc::gen::inRange(0, 3);
  request.task.fabric.nic_bytes_s /= 1 << *rc::gen::inRange(0, 6);
  request.task.fabric.nics = 1;
  request.task.sequence <<= *rc::gen::inRange(0, 3);
  // Also such as stages do not divide, and fewer than there may be GPUs.
  request.task.model.layers = *rc::gen::elementOf(std::vector{8, 8, 7, 6, 3});
  if (*rc::gen::inRange(0, 3) == 0) request.pins.pp = 2;
  if (*rc::gen::inRange(0, 3) == 0) request.pins.zp = 2;
  if (*rc::gen::inRange(0, 4) == 0) request.pins.overlaps = *rc::gen::arbitrary<bool>();
  if (*rc::gen::inRange(0, 4) == 0) request.pins.has_memory_pool = *rc::gen::arbitrary<bool>();
  // From the GPU's type, or by kernels with a CPU that never, sometimes or always holds them up.
  if (*rc::gen::inRange(0, 3) != 0) {
    const double probe = *rc::gen::elementOf(std::vector{0.01, 50.0, 2000.0});
    request.task.compute = predict::roofline_times(request.task.runtime, probe);
  }
  const TransformerAnswer answer =
      search_transformer(request, *rc::gen::inRange<std::size_t>(1, 3));
  const double least = least_by_trying_all(request);
  if (answer.best.empty()) {
    RC_ASSERT(least == std::numeric_limits<double>::infinity());
    return;
  }
  RC_ASSERT(answer.best[0].time.iteration == least);
  RC_ASSERT(answer.best[0].memory.needed <= request.memory_bytes);
  RC_ASSERT(fits_pins(request.pins, answer.best[0].plan));
  if (answer.best.size() > 1) RC_ASSERT(answer.best[1].time.iteration >= least);
}

TransformerRequest llama_request(std::int64_t sequence, std::int64_t kv_heads, std::int64_t batch) {
  TransformerRequest request;
  request.task = predict::task_on("A100-80G", predict::llama2_7b(kv_heads), sequence, batch);
  request.task.fabric.nics = 4;
  request.gpus = 64;
  request.memory_bytes = 80 * kGiB;
  return request;
}

// One sequence over 64 GPUs, where neither heads nor a ring alone are enough.
TEST(TransformerSearch, BeatsTheFamiliesOnOneLongSequence) {
  for (const std::int64_t kv_heads : {32, 8}) {
    for (const int log : {17, 18, 19, 20}) {
      TransformerRequest request = llama_request(std::int64_t{1} << log, kv_heads, 1);
      request.pins.sp = 64;
      const TransformerAnswer answer = search_transformer(request);
      ASSERT_FALSE(answer.best.empty());
      const auto families = attention_families(request);
      EXPECT_FALSE(families[0].best);  // 64 is above the heads
      for (const TransformerAlternative& family : families) {
        if (!family.best) continue;
        EXPECT_LE(answer.best[0].time.iteration, family.best->time.iteration) << family.change;
      }
      EXPECT_GT(families[1].best->time.iteration, 1.02 * answer.best[0].time.iteration);
    }
  }
}

TEST(TransformerSearch, EndsWithinFiveSecondsWithEveryExplanation) {
  const auto start = std::chrono::steady_clock::now();
  const TransformerRequest request = llama_request(1 << 17, 8, 32);
  const TransformerAnswer answer = search_transformer(request, 5);
  ASSERT_EQ(answer.best.size(), 5U);
  EXPECT_EQ(attention_families(request).size(), 3U);
  EXPECT_GT(other_degrees(request, answer.best[0].plan).size(), 5U);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds{5});
}

TEST(TransformerSearch, GivesTheSameAnswerTwice) {
  const TransformerRequest request = llama_request(1 << 18, 8, 16);
  const TransformerAnswer one = search_transformer(request, 5);
  const TransformerAnswer two = search_transformer(request, 5);
  ASSERT_EQ(one.best.size(), two.best.size());
  for (std::size_t i = 0; i < one.best.size(); ++i) EXPECT_EQ(one.best[i].plan, two.best[i].plan);
}

// Of two answers that take as long, the one that needs less memory comes first.
RC_GTEST_PROP(TransformerSearchProperty, TiesGoToLessMemory, ()) {
  const int gpus = 1 << *rc::gen::inRange(0, 4);
  TransformerRequest request = small_request(gpus, gpus * 2, 80);
  request.task.sequence = 1 << *rc::gen::inRange(9, 15);
  if (*rc::gen::arbitrary<bool>()) request.task.gpu.call_us *= 1000;  // the GPU waits for the CPU
  const auto best = search_transformer(request).best;
  RC_PRE(!best.empty());
  for (const TransformerPlan& structure : structures(request)) {
    for (const TransformerPlan& plan : sharded(request, structure)) {
      const auto memory = predict::transformer_memory(request.task.model, request.task.sequence,
                                                      request.task.runtime, plan);
      if (memory.needed >= best.front().memory.needed) continue;
      RC_ASSERT(predict::transformer_time(request.task, plan).iteration >
                best.front().time.iteration);
    }
  }
}

// Llama 405B's dimensions, sharded over 128 GPUs: what gathering ahead and the pool are worth.
TEST(TransformerAdvice, SaysWhatOverlappingAndTheMemoryPoolAreWorth) {
  TransformerRequest request;
  request.task = predict::task_on(
      "A100-80G", predict::llama_like(126, 16'384, 128, 8, 53'248, 128'256), 8192, 128);
  request.gpus = 128;
  request.memory_bytes = 120 * kGiB;
  request.pins.wp = 128;
  const TransformerAnswer answer = search_transformer(request);
  ASSERT_FALSE(answer.best.empty());
  const TransformerChoice& chosen = answer.best[0];
  EXPECT_TRUE(chosen.plan.overlaps());
  const auto with = [&](const std::string& change) {
    for (const TransformerAlternative& other : other_degrees(request, chosen.plan))
      if (other.change == change) return other.best;
    return std::optional<TransformerChoice>{};
  };
  const auto waits = with("overlap=off");
  ASSERT_TRUE(waits);
  EXPECT_GT(waits->time.iteration, 1.05 * chosen.time.iteration);
  const auto other_pool = with(chosen.plan.has_memory_pool ? "pool=off" : "pool=on");
  ASSERT_TRUE(other_pool);
  EXPECT_NE(other_pool->plan.has_memory_pool, chosen.plan.has_memory_pool);
  EXPECT_GE(other_pool->time.iteration, chosen.time.iteration);
}

// One layer gathered needs half the room of two.
TEST(TransformerSearch, GathersOneLayerAtATimeWhereTwoDoNotFit) {
  TransformerRequest request = small_request(4, 4, 80);
  request.pins.wp = 4;
  request.pins.has_memory_pool = false;
  request.pins.overlaps = true;
  const double ahead = search_transformer(request).least_memory;
  request.pins.overlaps = false;
  const double one = search_transformer(request).least_memory;
  ASSERT_LT(one, ahead);
  request.pins.overlaps.reset();
  request.memory_bytes = (one + ahead) / 2;
  const TransformerAnswer answer = search_transformer(request);
  ASSERT_FALSE(answer.best.empty());
  EXPECT_FALSE(answer.best[0].plan.overlaps());
}

TEST(TransformerSpace, HasBothPlacementsWhereTheyDiffer) {
  TransformerRequest request = llama_request(1 << 17, 8, 1);
  request.pins.hp = 8;
  request.pins.cp = 8;
  int head_first = 0;
  int context_first = 0;
  for (const TransformerPlan& plan : structures(request))
    ++(plan.grid.is_head_first ? head_first : context_first);
  EXPECT_EQ(head_first, 4 * 3);  // windows x recomputations
  EXPECT_EQ(context_first, 4 * 3);
  request.pins.cp = 1;
  for (const TransformerPlan& plan : structures(request)) EXPECT_TRUE(plan.grid.is_head_first);
}

TEST(TransformerSpace, KeepsTensorGroupsOnANode) {
  TransformerRequest request = llama_request(6144, 48, 48);
  request.gpus = 24;
  TransformerModel& model = request.task.model;
  model.heads = model.kv_heads = 48;
  model.hidden = 6144;
  model.ffn = 24576;
  model.vocab = 30720;
  std::set<int> degrees;
  for (const TransformerPlan& plan : structures(request))
    if (plan.mode != predict::ParallelMode::isp) degrees.insert(plan.split());
  EXPECT_EQ(degrees, (std::set<int>{1, 2, 4, 8}));
}

// 61 layers on 8 stages take as long as 64: the longest stages set the pace.
TEST(TransformerSpace, HasStagesThatDifferByALayer) {
  const auto best = [](std::int64_t layers) {
    TransformerRequest request;
    request.task = predict::task_on(
        "L40S", predict::llama_like(layers, 7168, 56, 8, 20'480, 100'000), 4096, 512);
    request.gpus = 128;
    request.memory_bytes = 48 * kGiB;
    return search_transformer(request).best.front();
  };
  const TransformerChoice uneven = best(61);
  EXPECT_EQ(uneven.plan.stages, 8);
  EXPECT_EQ(uneven.plan.interleave, 1);
  EXPECT_LE(uneven.time.iteration, best(64).time.iteration);
  TransformerRequest few = llama_request(4096, 32, 64);
  few.task.model.layers = 3;
  for (const TransformerPlan& plan : structures(few)) EXPECT_LE(plan.stages, 3);
}

TEST(TransformerSpace, TriesLargeMicrobatchesOfShortSequences) {
  TransformerRequest request = small_request(1, 512, 80);
  const auto largest = [&] {
    int most = 0;
    for (const TransformerPlan& plan : structures(request)) most = std::max(most, plan.micro_batch);
    return most;
  };
  EXPECT_EQ(largest(), 64);
  request.task.sequence = 32;
  EXPECT_EQ(largest(), 512);
}

TEST(TransformerAdvice, NamesThePinThatNothingFits) {
  TransformerRequest request = llama_request(4096, 32, 64);
  request.pins.tp = 3;
  request.pins.pp = 2;
  const NoTransformerPlan why = why_no_plan(request);
  EXPECT_FALSE(why.is_memory);
  EXPECT_EQ(to_string(why.reasons), "--pin is \"tp=3\", expected tp= one of 1, 2, 4, 8\n");
}

TEST(TransformerAdvice, NamesThePinsThatContradictEachOther) {
  TransformerRequest request = llama_request(4096, 32, 64);
  request.pins.tp = 8;
  request.pins.cp = 2;
  EXPECT_EQ(to_string(why_no_plan(request).reasons),
            "--pin is \"tp=8,cp=2\", expected all of them but tp=8, or but cp=2: together they fit "
            "no plan; a sequence is split by tensor parallelism (tp) or by all-to-alls and rings "
            "(sp, hp, cp), not by both\n");
}

// Not only twice as many: three nodes do where two are too few and the batch can be divided by three.
TEST(TransformerAdvice, NamesTheFewestNodesThatDo) {
  TransformerRequest request = llama_request(4096, 1, 48);
  request.task.fabric.gpus_per_node = 1;
  while (request.memory_bytes > 0) {
    request.gpus = 3;
    const bool fits_three = !search_transformer(request).best.empty();
    request.gpus = 2;
    if (fits_three && search_transformer(request).best.empty()) break;
    request.memory_bytes -= 1024.0 * 1024 * 1024;
  }
  request.gpus = 1;
  EXPECT_THAT(to_string(why_no_plan(request).reasons), testing::HasSubstr("or --nodes 3"));
}

TEST(TransformerAdvice, NamesTheSmallestBatchThatCanBeDivided) {
  TransformerRequest request = llama_request(4096, 32, 7);
  request.gpus = 37;  // neither layers nor heads
  const NoTransformerPlan why = why_no_plan(request);
  EXPECT_FALSE(why.is_memory);
  EXPECT_EQ(
      to_string(why.reasons),
      "--batch is \"7\", expected 37, which can be divided among 37 GPUs (or --sequence 4144, "
      "which 37 GPUs can share)\n");
}

TEST(TransformerAdvice, NamesTheMemoryThatIsEnough) {
  TransformerRequest request = llama_request(4096, 32, 64);
  request.gpus = 1;
  const NoTransformerPlan why = why_no_plan(request);
  EXPECT_TRUE(why.is_memory);
  const double least = search_transformer(request).least_memory;
  EXPECT_NE(to_string(why.reasons)
                .find("--memory is \"80GiB\", expected " +
                      std::to_string(static_cast<int>(std::ceil(least / kGiB))) + "GiB"),
            std::string::npos)
      << to_string(why.reasons);
  request.memory_bytes = std::ceil(least / kGiB) * kGiB;  // what it named is enough
  EXPECT_FALSE(search_transformer(request).best.empty());
}

TEST(TransformerAdvice, AsksForALongerCurveAndNotForNodesWhereACurveWasAsked) {
  const TransformerRequest request = on_gpus(llama_request(4096, 1, 64), 2);
  TransformerRequest small = request;
  small.memory_bytes = 60 * kGiB;
  const std::string of_a_curve = to_string(why_no_plan(small, {.node_of_a_curve = 8}).reasons);
  EXPECT_NE(of_a_curve.find("a --curve up to 4 GPUs"), std::string::npos) << of_a_curve;
  EXPECT_EQ(of_a_curve.find("--nodes"), std::string::npos) << of_a_curve;
  const std::string alone = to_string(why_no_plan(small).reasons);
  EXPECT_NE(alone.find("--nodes 2"), std::string::npos) << alone;
}

TEST(TransformerAdvice, ListsPartsOfANodeAndWholeNodes) {
  EXPECT_EQ(usual_sizes(8, 64), (std::vector{1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64}));
  EXPECT_EQ(usual_sizes(4, 4), (std::vector{1, 2, 4}));
  EXPECT_EQ(usual_sizes(8, 1), (std::vector{1}));
}

}  // namespace
}  // namespace weir::plan
