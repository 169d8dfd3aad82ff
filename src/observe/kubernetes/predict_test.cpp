// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/predict.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "observe/kubernetes/cluster_testing.h"
#include "observe/kubernetes/pending.h"

namespace weir::observe {
namespace {

using testing::ClusterBuilder;
using testing::kNow;

// Ends at 1, 2 (twice) and 4 of five, one not ended at 3: S(1) = 4/5, S(2) = 4/5 * 2/4, S(4) = 0.
TEST(Survival, CountsWhatHasNotEnded) {
  const Survival survival{{1, 2, 2, 4}, {3}};
  EXPECT_DOUBLE_EQ(survival.beyond(0.5), 1);
  EXPECT_DOUBLE_EQ(survival.beyond(1), 0.8);
  EXPECT_DOUBLE_EQ(survival.beyond(2.5), 0.4);
  EXPECT_DOUBLE_EQ(survival.beyond(4), 0);
  EXPECT_DOUBLE_EQ(survival.age_with(0.5), 2);
}

TEST(Survival, DrawsLastLongerThanTheAge) {
  const Survival survival{{10, 20, 30}, {}};
  SeededRng rng{1};
  for (int i = 0; i < 100; ++i) {
    EXPECT_GE(survival.draw(rng, 25), 25);
    EXPECT_GE(survival.draw(rng, 100), 100);
  }
}

Pod ended_after(double seconds, std::int64_t gpus) {
  ClusterBuilder builder;
  Pod pod = builder.pod("trains-17", gpus, "n1");
  pod.phase = PodPhase::succeeded;
  pod.ended =
      *pod.started + std::chrono::duration_cast<Duration>(std::chrono::duration<double>{seconds});
  return pod;
}

TEST(LearnedDurations, TheMostSpecificLikenessWithEnoughPodsAnswers) {
  LearnedDurations learned;
  for (int i = 0; i < 20; ++i) learned.learn(ended_after(100, 1));
  for (int i = 0; i < 3; ++i) {
    auto other = ended_after(5000, 1);
    other.meta.name = "serves";
    learned.learn(other);
  }
  auto same = ended_after(1, 1);
  same.meta.name = "trains-99";
  EXPECT_EQ(learned.like(same)->size(), 20);
  auto few = same;
  few.meta.name = "serves";
  EXPECT_EQ(learned.like(few)->size(), 23) << "three are not enough: its namespace answers";
}

TEST(LearnedDurations, ReadsBackWhatItWrote) {
  LearnedDurations learned;
  for (int i = 1; i < 20; ++i) learned.learn(ended_after(i * 10, i % 3));
  ClusterBuilder builder;
  learned.learn_arrival(std::make_shared<Pod>(builder.pod("new", 2)));
  const auto read = LearnedDurations::from_json(learned.to_json(), "history");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->to_json(), learned.to_json());
  const auto broken = LearnedDurations::from_json("{\"kinds\": 3}", "history");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().details.list().front().file, "history");
}

// One node, one pod that has run 5 of always 10 minutes: the one that waits starts in 5.
TEST(Predict, AKnownDurationGivesTheMomentItself) {
  ClusterBuilder builder;
  builder.node("n1", 8);
  builder.pod("trains-1", 8, "n1");
  builder.pod("waits", 8);
  LearnedDurations learned;
  for (int i = 0; i < 50; ++i) learned.learn(ended_after(600, 8));
  const auto pending = pending_workloads(builder.objects);
  const auto prediction = predict_starts(builder.objects, pending, learned);
  ASSERT_TRUE(prediction.starts.front().is_known());
  const auto band = prediction.starts.front().band();
  EXPECT_NEAR(std::log(band.median / 300), 0, 0.2);
  EXPECT_GT(band.high, band.low);
  EXPECT_LT(band.high, 300 * 2);
}

TEST(Predict, TheSameSeedGivesTheSameAnswerAndNothingLearntGivesNone) {
  ClusterBuilder builder;
  builder.node("n1", 8);
  builder.pod("trains-1", 8, "n1");
  builder.pod("waits", 8);
  LearnedDurations learned;
  const auto pending = pending_workloads(builder.objects);
  EXPECT_FALSE(predict_starts(builder.objects, pending, learned).starts.front().is_known());
  SeededRng rng{3};
  for (int i = 0; i < 50; ++i) learned.learn(ended_after(rng.lognormal(6, 1), 8));
  EXPECT_EQ(predict_starts(builder.objects, pending, learned).starts.front().seconds,
            predict_starts(builder.objects, pending, learned).starts.front().seconds);
}

TEST(Predict, WhatNoNodeCouldEverHoldHasNoStart) {
  ClusterBuilder builder;
  builder.node("n1", 8);
  builder.pod("waits", 16);
  LearnedDurations learned;
  learned.learn(ended_after(600, 8));
  const auto pending = pending_workloads(builder.objects);
  EXPECT_FALSE(predict_starts(builder.objects, pending, learned).starts.front().is_known());
}

TEST(Calibration, UnknownLeavesTheBandAlmostAsItIs) {
  const Calibration calibration;
  const WaitBand raw{100, 200, 400};
  const auto band = calibration.adjusted(raw, kNow);
  EXPECT_NEAR(band.low, 100, 12);
  EXPECT_NEAR(band.median, 200, 1);
  EXPECT_NEAR(band.high, 400, 40);
}

// Predictions whose bands are too narrow by any factor: after two hundred starts eight of ten fall inside.
RC_GTEST_PROP(Calibration, WidensUntilEightOfTenFallInside, ()) {
  SeededRng rng{*rc::gen::arbitrary<std::uint64_t>()};
  Calibration calibration;
  const double spread = 0.2 + 2 * rng.uniform();
  const double shift = rng.uniform() - 0.5;
  const WaitBand raw{500, 1000, 2000};
  int inside = 0;
  for (int i = 0; i < 600; ++i) {
    const auto at = kNow + std::chrono::hours{i};
    const auto band = calibration.adjusted(raw, at);
    const double wait = 1000 * rng.lognormal(shift, spread);
    if (i >= 300 && wait >= band.low && wait <= band.high) ++inside;
    const auto name = std::to_string(i);
    calibration.predicted(name, at, raw);
    calibration.started(
        name, at + std::chrono::duration_cast<Duration>(std::chrono::duration<double>{wait}));
  }
  RC_ASSERT(inside >= 300 * 0.68);
  RC_ASSERT(inside <= 300 * 0.92);
}

TEST(Calibration, PodsAskedAboutJustNowAreNotTakenForEarlyStarts) {
  Calibration calibration;
  const WaitBand raw{10, 20, 40};
  for (int i = 0; i < 100; ++i) calibration.predicted("old-" + std::to_string(i), kNow, raw);
  const auto later = kNow + std::chrono::seconds{20};
  for (int i = 0; i < 100; ++i) calibration.started("old-" + std::to_string(i), later);
  for (int i = 0; i < 100; ++i) calibration.predicted("new-" + std::to_string(i), later, raw);
  EXPECT_GT(calibration.adjusted(raw, later).low, 15);
}

TEST(Calibration, PodsThatStillWaitCountAsLate) {
  Calibration calibration;
  const WaitBand raw{10, 20, 40};
  for (int i = 0; i < 100; ++i) calibration.predicted("waits-" + std::to_string(i), kNow, raw);
  for (int i = 0; i < 50; ++i)
    calibration.started("waits-" + std::to_string(i), kNow + std::chrono::seconds{20});
  EXPECT_GT(calibration.adjusted(raw, kNow + std::chrono::hours{1}).high, 1000);
  const auto read = Calibration::from_json(calibration.to_json(), "history");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->to_json(), calibration.to_json());
}

}  // namespace
}  // namespace weir::observe
