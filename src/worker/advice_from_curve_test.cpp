// SPDX-License-Identifier: Apache-2.0
#include "worker/advice_from_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "domain/whole_numbers.h"

namespace weir::worker {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(AdviceFromCurve, OneGpuTellsWhatASampleCostsAndTheOthersWhatSynchronisingDoes) {
  // 256 samples of 2 ms; two GPUs have 128 each and 30 ms to synchronise, three 86 and 45 ms.
  const auto gpu =
      gpu_from_curve(256, 32, {{3, 86 * 2ms + 45ms}, {1, 512ms}, {2, 256ms + 30ms}}).value();
  EXPECT_EQ(gpu.per_sample, 2ms);
  EXPECT_EQ(gpu.per_pass, 0ms);
  EXPECT_EQ(gpu.most_local, 32);
  ASSERT_EQ(gpu.sizes.size(), 3u);
  EXPECT_EQ(gpu.sizes[0].time, 0ms);
  EXPECT_EQ(gpu.sizes[1].time, 30ms);
  EXPECT_EQ(gpu.sizes[2].gpus, 3);
  EXPECT_EQ(gpu.sizes[2].time, 45ms);
}

TEST(AdviceFromCurve, WithoutOneGpuTheLeastThatAnySizeShowsIsTheSample) {
  // 64 samples in 100 ms, 32 in 60 ms: 1.5625 ms a sample, and 10 ms of the second for synchronising.
  const auto gpu = gpu_from_curve(128, 32, {{2, 100ms}, {4, 60ms}}).value();
  EXPECT_EQ(gpu.per_sample, 1'562'500ns);
  EXPECT_EQ(gpu.sizes[0].time, 0ms);
  EXPECT_EQ(gpu.sizes[1].time, 10ms);
}

TEST(AdviceFromCurve, SaysWhatIsWrong) {
  const auto one = gpu_from_curve(0, 0, {{1, 1ms}});
  ASSERT_FALSE(one);
  EXPECT_THAT(to_string(one.error().details),
              AllOf(HasSubstr("global_batch is \"0\""), HasSubstr("most_local is \"0\""),
                    HasSubstr("two sizes or more")));
  const auto twice = gpu_from_curve(8, 8, {{0, 1ms}, {2, 1ms}, {2, 0ms}});
  ASSERT_FALSE(twice);
  EXPECT_THAT(to_string(twice.error().details),
              AllOf(HasSubstr("steps.gpus is \"0\""), HasSubstr("steps.time is \"0\""),
                    HasSubstr("each size once")));
}

std::int64_t pick(std::int64_t least, std::int64_t end) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(least, end));
}

RC_GTEST_PROP(AdviceFromCurve, FindsTheNumbersThatStepsWereMadeWith, ()) {
  const std::int64_t global_batch = pick(1, 5000);
  const Duration per_sample{pick(1, 1'000'000'000)};
  std::vector<MeasuredStep> steps{{1, global_batch * per_sample}};
  std::vector<Duration> sync{Duration{0}};
  for (std::int32_t gpus = 2; gpus <= 8; gpus *= 2) {
    sync.emplace_back(pick(0, 1'000'000'000));
    steps.push_back({gpus, divide_up(global_batch, gpus) * per_sample + sync.back()});
  }
  const auto gpu = gpu_from_curve(global_batch, 1, steps).value();
  RC_ASSERT(gpu.per_sample == per_sample);
  for (std::size_t i = 0; i < sync.size(); ++i) RC_ASSERT(gpu.sizes[i].time == sync[i]);
}

// Also of curves that are no such sum: superlinear, or slower on more GPUs.
RC_GTEST_PROP(AdviceFromCurve, TheAdviceRepeatsEveryStepThatWasMeasured, ()) {
  const std::int64_t global_batch = pick(1, 5000);
  const std::int64_t most_local = pick(1, 300);
  std::vector<MeasuredStep> steps;
  for (std::int32_t gpus = 1; gpus <= 8; gpus *= 2) {
    steps.push_back({gpus, Duration{pick(1, 1'000'000'000)}});
  }
  steps.erase(steps.begin(), steps.begin() + pick(0, 3));
  AccumulationQuestion question;
  question.global_batch = global_batch;
  question.most_imbalance_permille = 1'000'000;
  question.gpus = {gpu_from_curve(global_batch, most_local, steps).value()};
  const auto choices = accumulation_choices(question).value();
  for (const MeasuredStep& step : steps) {
    const auto first = std::ranges::find(choices, step.gpus, &AccumulationChoice::gpus);
    const bool is_there = first != choices.end();
    RC_ASSERT(is_there);
    RC_ASSERT(first->step_time == step.time);
    RC_ASSERT(first->passes == divide_up(divide_up(global_batch, step.gpus), most_local));
  }
}

}  // namespace
}  // namespace weir::worker
