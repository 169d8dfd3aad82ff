// SPDX-License-Identifier: Apache-2.0
#include "worker/elastic_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "worker/batch_plan_testing.h"
#include "worker/epoch_permutation.h"

namespace weir::worker {
namespace {

using testing::ElementsAre;
using Seen =
    std::vector<std::vector<std::int64_t>>;  // each global batch, in the order of the ranks

// The ranks in lockstep, for some steps. Each has a sampler of its own.
Seen train(std::vector<ElasticSampler>& ranks, std::int64_t batch, int steps) {
  Seen seen;
  const auto size = static_cast<std::int64_t>(ranks.size());
  for (int step = 0; step < steps && ranks[0].next(plan(batch, size, 0)); ++step) {
    seen.emplace_back();
    for (std::int64_t rank = 0; rank < size; ++rank) {
      auto& sampler = ranks[static_cast<std::size_t>(rank)];
      const auto part = sampler.next(plan(batch, size, rank)).value();
      seen.back().insert(seen.back().end(), part.indices.begin(), part.indices.end());
      if (!sampler.advance(part)) ADD_FAILURE() << "the next batch is refused";
    }
  }
  return seen;
}

Seen epoch_alone(const ElasticSampler::State& state, std::int64_t batch) {
  std::vector<ElasticSampler> alone{ElasticSampler{state.length, state.seed, state.is_shuffled}};
  alone[0].set_epoch(state.epoch);
  return train(alone, batch, 1'000'000);
}

TEST(ElasticSampler, OneRankSeesThePermutation) {
  const EpochPermutation order{5, 3, 0};
  EXPECT_EQ(epoch_alone({5, 3}, 2), (Seen{{order[0], order[1]}, {order[2], order[3]}, {order[4]}}));
}

TEST(ElasticSampler, WithoutShufflingTheOrderIsThatOfTheData) {
  std::vector<ElasticSampler> ranks(3, ElasticSampler{8, 3, false});
  EXPECT_EQ(train(ranks, 5, 9), (Seen{{0, 1, 2, 3, 4}, {5, 6, 7}}));
}

RC_GTEST_PROP(ElasticSampler, AnySequenceOfResizesSeesEachSampleOnceInTheSameOrder,
              (std::uint64_t seed, std::uint64_t epoch)) {
  const auto length = *rc::gen::inRange<std::int64_t>(1, 300);
  const auto batch = *rc::gen::inRange<std::int64_t>(1, 40);
  ElasticSampler::State state{length, seed, true, epoch, 0};
  Seen seen;
  while (state.consumed < length) {
    std::vector<ElasticSampler> ranks(*rc::gen::inRange<std::size_t>(1, 9),
                                      ElasticSampler{length, seed + 1});
    for (ElasticSampler& rank : ranks) RC_ASSERT(rank.restore(state).has_value());
    const Seen more = train(ranks, batch, *rc::gen::inRange(1, 4));
    seen.insert(seen.end(), more.begin(), more.end());
    state = decode_sampler_state(encode(ranks.back().state())).value();
    for (const ElasticSampler& rank : ranks) RC_ASSERT(rank.state() == state);
  }
  RC_ASSERT(seen == epoch_alone(state, batch));
  std::vector<std::int64_t> all;
  for (const auto& part : seen) all.insert(all.end(), part.begin(), part.end());
  std::ranges::sort(all);
  for (std::size_t i = 0; i < all.size(); ++i) RC_ASSERT(all[i] == static_cast<std::int64_t>(i));
  RC_ASSERT(static_cast<std::int64_t>(all.size()) == length);
}

TEST(ElasticSampler, TheLastBatchIsSmallerAndPlannedAsSuch) {
  ElasticSampler sampler{7, 1};
  EXPECT_EQ(sampler.at(4, plan(4, 2, 0))->plan, plan(3, 2, 0));
  EXPECT_EQ(sampler.at(4, plan(4, 2, 1))->indices.size(), 1u);
}

TEST(ElasticSampler, ReadingAheadConsumesNothing) {
  ElasticSampler sampler{100, 1};
  const auto first = sampler.next(plan(10, 1, 0)).value();
  EXPECT_EQ(sampler.at(50, plan(10, 1, 0))->first, 50);
  EXPECT_EQ(sampler.state().consumed, 0);
  EXPECT_TRUE(sampler.advance(first));
  EXPECT_EQ(sampler.state().consumed, 10);
}

TEST(ElasticSampler, RefusesABatchOutOfTurn) {
  ElasticSampler sampler{100, 1};
  const auto first = sampler.next(plan(10, 1, 0)).value();
  EXPECT_FALSE(sampler.advance(sampler.at(10, plan(10, 1, 0)).value()));
  EXPECT_TRUE(sampler.advance(first));
  EXPECT_FALSE(sampler.advance(first));
  EXPECT_EQ(sampler.state().consumed, 10);
}

TEST(ElasticSampler, HasNoBatchBeyondTheEpoch) {
  ElasticSampler sampler{10, 1};
  EXPECT_FALSE(sampler.at(10, plan(4, 1, 0)));
  EXPECT_FALSE(sampler.at(-1, plan(4, 1, 0)));
  EXPECT_FALSE((ElasticSampler{0, 1}.next(plan(4, 1, 0))));
}

TEST(ElasticSampler, ANewEpochBeginsAnewAndTheOneUnderWayGoesOn) {
  ElasticSampler sampler{64, 1};
  const auto first = sampler.next(plan(32, 1, 0)).value();
  ASSERT_TRUE(sampler.advance(first));
  sampler.set_epoch(0);
  EXPECT_EQ(sampler.state().consumed, 32);
  sampler.set_epoch(1);
  EXPECT_EQ(sampler.state().consumed, 0);
  EXPECT_NE(sampler.next(plan(32, 1, 0))->indices, first.indices);
}

TEST(ElasticSampler, RefusesACheckpointOfOtherData) {
  ElasticSampler sampler{100, 1};
  EXPECT_FALSE(sampler.restore({99, 1}));
  EXPECT_FALSE(sampler.restore({100, 1, true, 0, 101}));
  EXPECT_FALSE(sampler.restore({100, 1, true, 0, -1}));
  EXPECT_EQ(sampler.state(), (ElasticSampler::State{100, 1, true, 0, 0}));
}

TEST(ElasticSampler, EveryDamageToItsTextIsAnError) {
  const std::string whole = encode(ElasticSampler::State{100, 7, true, 3, 20});
  EXPECT_EQ(whole, "weir-sampler 1 length 100 seed 7 shuffled 1 epoch 3 consumed 20");
  for (std::size_t length = 0; length + 1 < whole.size(); ++length)
    EXPECT_FALSE(decode_sampler_state(whole.substr(0, length))) << length;
  EXPECT_FALSE(decode_sampler_state(whole + " "));
  EXPECT_FALSE(
      decode_sampler_state("weir-sampler 1 length 100 seed 7 shuffled 2 epoch 3 consumed 20"));
  EXPECT_FALSE(
      decode_sampler_state("weir-sampler 1 length 100 seed 7 shuffled 1 epoch 3 consumed 101"));
}

}  // namespace
}  // namespace weir::worker
