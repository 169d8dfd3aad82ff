// SPDX-License-Identifier: Apache-2.0
#include "worker/accumulation_advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "worker/batch_plan.h"

namespace weir::worker {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::vector<AccumulationChoice> choices_of(const AccumulationQuestion& question) {
  return accumulation_choices(question).value();
}

// 3.60 an hour is 1 thousandth of a currency for each second.
MeasuredGpu a_gpu() {
  return {.name = "a",
          .price = Price{3'600'000},
          .per_pass = 10ms,
          .per_sample = 1ms,
          .update = 5ms,
          .most_local = 64,
          .sizes = {{1, 0ms}}};
}

const AccumulationChoice& with(const std::vector<AccumulationChoice>& choices, std::int32_t gpus,
                               std::int64_t passes) {
  const auto found = std::ranges::find_if(choices, [&](const AccumulationChoice& choice) {
    return choice.gpus == gpus && choice.passes == passes;
  });
  if (found == choices.end()) throw std::runtime_error{"no such choice"};
  return *found;
}

TEST(AccumulationAdvice, OneGpuTakesAsManyPassesAsItsMemoryNeeds) {
  const auto choices = choices_of({.global_batch = 256, .gpus = {a_gpu()}});
  // 4 passes of 64: 4 * 10 + 256 * 1 + 5 = 301 ms, and at 0.001 a second 0.000301.
  EXPECT_EQ(choices.front().passes, 4);
  EXPECT_EQ(choices.front().micro_batch, 64);
  EXPECT_EQ(choices.front().step_time, 301ms);
  EXPECT_DOUBLE_EQ(to_currency(choices.front().step_bill), 0.000301);
  // 256 passes of 1: 2560 + 256 + 5.
  EXPECT_EQ(choices.back().micro_batch, 1);
  EXPECT_EQ(choices.back().step_time, 2821ms);
}

TEST(AccumulationAdvice, SynchronisingIsPaidOnceAStepAndHidesBehindTheLastPass) {
  MeasuredGpu gpu = a_gpu();
  gpu.sizes = {{2, 60ms}};
  gpu.overlap_permille = 500;
  const auto choices = choices_of({.global_batch = 256, .gpus = {gpu}});
  // 128 samples in 2 passes of 64 (74 ms each, half hides 37): 20 + 128 + (60 - 37) + 5.
  EXPECT_EQ(with(choices, 2, 2).step_time, 176ms);
  // In 4 passes of 32 (42 ms each, 21 hidden): 40 + 128 + 39 + 5.
  EXPECT_EQ(with(choices, 2, 4).step_time, 212ms);
}

TEST(AccumulationAdvice, MoreThanAllIsNotHidden) {
  MeasuredGpu gpu = a_gpu();
  gpu.sizes = {{2, 1ms}};
  gpu.overlap_permille = 1000;
  EXPECT_EQ(with(choices_of({.global_batch = 128, .gpus = {gpu}}), 2, 1).step_time, 79ms);
}

TEST(AccumulationAdvice, OnTheSameGpusMorePassesAreNeverWorthIt) {
  const auto kept = worth_considering(choices_of({.global_batch = 256, .gpus = {a_gpu()}}));
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].passes, 4);
}

// The study's case: a small GPU at a third of the price cannot hold the batch at once.
TEST(AccumulationAdvice, ASmallerCheaperGpuIsWorthItsPasses) {
  MeasuredGpu big = a_gpu();
  big.most_local = 256;
  MeasuredGpu small = a_gpu();
  small.name = "small";
  small.price = Price{1'200'000};
  small.most_local = 32;
  const auto kept = worth_considering(choices_of({.global_batch = 256, .gpus = {big, small}}));
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].kind, 0u);  // 10 + 256 + 5 = 271 ms
  EXPECT_EQ(kept[0].step_time, 271ms);
  EXPECT_EQ(kept[1].kind,
            1u);  // 8 * 10 + 256 + 5 = 341 ms at a third: 26 % more time, 58 % less money
  EXPECT_EQ(kept[1].step_time, 341ms);
  EXPECT_EQ(kept[1].step_bill.value * 3 * 271, kept[0].step_bill.value * 341);
}

TEST(AccumulationAdvice, FewerGpusAreCheaperOverASlowNetwork) {
  MeasuredGpu gpu = a_gpu();
  gpu.sizes = {{1, 0ms}, {2, 40ms}, {4, 100ms}, {8, 200ms}};
  const auto kept = worth_considering(choices_of({.global_batch = 256, .gpus = {gpu}}));
  // 1: 301. 2: 20 + 128 + 40 + 5 = 193. 4: 10 + 64 + 100 + 5 = 179. 8: 10 + 32 + 200 + 5 = 247.
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(std::tuple(kept[0].gpus, kept[0].step_time), std::tuple(4, 179ms));
  EXPECT_EQ(std::tuple(kept[1].gpus, kept[1].step_time), std::tuple(2, 193ms));
  EXPECT_EQ(std::tuple(kept[2].gpus, kept[2].step_time), std::tuple(1, 301ms));
}

TEST(AccumulationAdvice, OffersNoSizeThatIsTooUneven) {
  MeasuredGpu gpu = a_gpu();
  gpu.sizes = {{3, 0ms}, {7, 0ms}};
  // 10 on 3: 4 for 10/3, 20 % more; on 7: 2 for 10/7, 40 % more.
  AccumulationQuestion question{.global_batch = 10, .gpus = {gpu}};
  EXPECT_TRUE(choices_of(question).empty());
  question.most_imbalance_permille = 200;
  for (const auto& choice : choices_of(question)) EXPECT_EQ(choice.gpus, 3);
  question.most_imbalance_permille = 400;
  EXPECT_EQ(choices_of(question).back().gpus, 7);
}

TEST(AccumulationAdvice, SaysAllThatIsWrongWithTheQuestion) {
  MeasuredGpu gpu = a_gpu();
  gpu.most_local = 0;
  gpu.per_sample = -1ms;
  gpu.overlap_permille = 1001;
  gpu.sizes = {{0, -1ms}};
  const auto refused = accumulation_choices({.global_batch = 0, .gpus = {gpu}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().details.total(), 6u);
  EXPECT_THAT(to_string(refused.error().details), HasSubstr("a.most_local is \"0\""));
}

TEST(AccumulationAdvice, TheLargestNumbersDoNotOverflow) {
  MeasuredGpu gpu = a_gpu();
  gpu.price = Price{std::int64_t{1} << 32};
  gpu.per_pass = gpu.per_sample = gpu.update = Duration::max();
  gpu.overlap_permille = 1000;
  gpu.most_local = 1;
  gpu.sizes = {{1'000'000, Duration::max()}};
  const auto choices = choices_of({.global_batch = 1'000'000, .gpus = {gpu}});
  ASSERT_EQ(choices.size(), 1u);
  EXPECT_EQ(choices[0].step_time, Duration::max());
  EXPECT_GT(choices[0].step_bill.value, 0);
}

TEST(AccumulationAdvice, NothingToChooseFromIsNoChoice) {
  EXPECT_TRUE(choices_of({.global_batch = 8}).empty());
  EXPECT_TRUE(worth_considering({}).empty());
}

TEST(AccumulationAdvice, OfEqualsTheFirstStays) {
  MeasuredGpu gpu = a_gpu();
  gpu.most_local = 1;
  const std::vector<MeasuredGpu> equals(100, gpu);
  const auto kept = worth_considering(choices_of({.global_batch = 4, .gpus = equals}));
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].kind, 0u);
}

TEST(AccumulationAdvice, WhatIsSlowerForTheSameBillIsNotWorthIt) {
  MeasuredGpu gpu = a_gpu();
  gpu.price = Price{0};
  const auto kept = worth_considering(choices_of({.global_batch = 64, .gpus = {gpu}}));
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].passes, 1);
}

// Few prices, so that equal bills come.
AccumulationQuestion drawn_question() {
  AccumulationQuestion question{.global_batch = *rc::gen::inRange<std::int64_t>(1, 400),
                                .most_imbalance_permille = *rc::gen::inRange(0, 500)};
  const int kinds = *rc::gen::inRange(1, 4);
  for (int kind = 0; kind < kinds; ++kind) {
    MeasuredGpu gpu{.name = std::to_string(kind),
                    .price = Price{*rc::gen::inRange<std::int64_t>(0, 4)},
                    .per_pass = Duration{*rc::gen::inRange<std::int64_t>(0, 1000)},
                    .per_sample = Duration{*rc::gen::inRange<std::int64_t>(0, 1000)},
                    .update = Duration{*rc::gen::inRange<std::int64_t>(0, 1000)},
                    .most_local = *rc::gen::inRange<std::int64_t>(1, 100),
                    .overlap_permille = *rc::gen::inRange(0, 1001)};
    for (std::int32_t gpus = 1; gpus <= 8; gpus *= 2)
      gpu.sizes.push_back({gpus, Duration{*rc::gen::inRange<std::int64_t>(0, 100'000)}});
    question.gpus.push_back(std::move(gpu));
  }
  return question;
}

RC_GTEST_PROP(AccumulationAdvice, EveryChoiceIsABatchPlanThatFits, ()) {
  const AccumulationQuestion question = drawn_question();
  for (const AccumulationChoice& choice : choices_of(question)) {
    const auto plan =
        BatchPlan::make(question.global_batch, {choice.gpus, 0}, choice.micro_batch).value();
    const auto sizes = plan.micro_batches();
    RC_ASSERT(static_cast<std::int64_t>(sizes.size()) == choice.passes);
    RC_ASSERT(std::ranges::max(sizes) == choice.micro_batch);
    RC_ASSERT(choice.micro_batch <= question.gpus[choice.kind].most_local);
    RC_ASSERT(plan.imbalance() * 1000 <= question.most_imbalance_permille + 1e-6);
  }
}

RC_GTEST_PROP(AccumulationAdvice, NoChoiceIsLeftOut, ()) {
  const AccumulationQuestion question = drawn_question();
  const auto choices = choices_of(question);
  std::set<std::tuple<std::size_t, std::int32_t, std::int64_t>> found;
  for (const auto& choice : choices) found.insert({choice.kind, choice.gpus, choice.micro_batch});
  RC_ASSERT(found.size() == choices.size());  // none twice
  for (std::size_t kind = 0; kind < question.gpus.size(); ++kind)
    for (const SyncTime& size : question.gpus[kind].sizes)
      for (std::int64_t most = 1; most <= question.gpus[kind].most_local; ++most) {
        const auto plan = BatchPlan::make(question.global_batch, {size.gpus, 0}, most).value();
        if (plan.imbalance() * 1000 > question.most_imbalance_permille - 1e-6) continue;
        RC_ASSERT(found.contains({kind, size.gpus, std::ranges::max(plan.micro_batches())}));
      }
}

RC_GTEST_PROP(AccumulationAdvice, WhatIsKeptIsBeatenByNothingAndBeatsTheRest, ()) {
  const auto all = choices_of(drawn_question());
  const auto kept = worth_considering(all);
  const auto beats = [](const AccumulationChoice& a, const AccumulationChoice& b) {
    return a.step_time <= b.step_time && a.step_bill <= b.step_bill;
  };
  for (std::size_t i = 1; i < kept.size(); ++i) {
    RC_ASSERT(kept[i - 1].step_time < kept[i].step_time);
    RC_ASSERT(kept[i - 1].step_bill > kept[i].step_bill);
  }
  for (const auto& choice : all)
    RC_ASSERT(std::ranges::any_of(kept, [&](const auto& other) { return beats(other, choice); }));
  for (const auto& choice : kept) RC_ASSERT(std::ranges::find(all, choice) != all.end());
}

}  // namespace
}  // namespace weir::worker
