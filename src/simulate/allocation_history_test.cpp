// SPDX-License-Identifier: Apache-2.0
#include "simulate/allocation_history.h"

#include <gtest/gtest.h>

namespace weir::simulate {
namespace {

Time at(std::int64_t seconds) {
  return Time{from_seconds(seconds)};
}

Record record(std::int64_t seconds, auto what, ReasonCode code = ReasonCode::as_reported) {
  return {at(seconds), {code, 0}, std::move(what)};
}

TrainingAccepted accepted(std::uint64_t id) {
  TrainingSpec spec;
  spec.name = "job-" + std::to_string(id);
  return {JobId{id}, std::make_shared<const TrainingSpec>(spec), PoolIndex{0}, 0};
}

TEST(AllocationHistory, SplitsASpanIntoWhatThePlanHadAndWhatWasLent) {
  AllocationRecorder recorder;
  recorder.hear(record(0, accepted(1)));
  // Planned: 2 GPUs until 50, then 8.
  recorder.hear(
      record(0, PromiseMade{JobId{1}, at(200), {{{at(0), {0, 2}}, {at(50), {0, 8}}}, at(200)}}));
  recorder.hear(record(0, JobResized{JobId{1}, 1, {0, 4}}, ReasonCode::left_over));
  recorder.hear(record(80, JobReleased{JobId{1}}));
  const AllocationHistory history = recorder.take();
  ASSERT_EQ(history.spans.size(), 1U);
  const AllocationSpan& span = history.spans.front();
  EXPECT_EQ(span.to, at(80));
  EXPECT_EQ(span.reason.code, ReasonCode::left_over);
  ASSERT_EQ(span.promised.size(), 2U);
  EXPECT_EQ(span.promised[0].to, at(50));
  EXPECT_EQ(span.promised[0].gpus, 2U);
  EXPECT_EQ(span.promised[1].gpus, 4U) << "no more than the job has";
  EXPECT_EQ(span.promised[1].to, at(80));
  EXPECT_EQ(span.most_promised(), 4U);
  EXPECT_TRUE(history.jobs[1].is_promised);
  EXPECT_EQ(history.jobs[1].ended, at(80));
}

TEST(AllocationHistory, ARevisedPlanCountsFromItsRevision) {
  AllocationRecorder recorder;
  recorder.hear(record(0, accepted(1)));
  recorder.hear(record(0, PromiseMade{JobId{1}, at(100), {{{at(0), {0, 4}}}, at(100)}}));
  recorder.hear(record(0, JobResized{JobId{1}, 1, {0, 4}}));
  recorder.hear(record(30, TimelineRevised{JobId{1}, {{{at(60), {4, 2}}}, at(100)}}));
  recorder.hear(record(90, JobResized{JobId{1}, 2, kNoGpus}));
  const AllocationHistory history = recorder.take();
  ASSERT_EQ(history.spans.size(), 1U) << "a pause is no span";
  const auto& promised = history.spans.front().promised;
  ASSERT_EQ(promised.size(), 2U);
  EXPECT_EQ(promised[0].to, at(30));
  EXPECT_EQ(promised[1].from, at(60));
  EXPECT_EQ(promised[1].gpus, 2U);
}

TEST(AllocationHistory, JobsWithoutAPromiseHaveNothingPromised) {
  AllocationRecorder recorder;
  recorder.hear(record(5, accepted(1)));
  recorder.hear(record(5, JobUnpromised{JobId{1}, {}, {}}));
  recorder.hear(record(6, JobResized{JobId{1}, 1, {0, 1}}));
  recorder.hear(record(7, accepted(2)));
  recorder.hear(record(9, PromiseRefused{JobId{2}, at(99)}, ReasonCode::no_room));
  const AllocationHistory history = recorder.take();
  EXPECT_EQ(history.begin, at(5));
  EXPECT_EQ(history.end, at(9));
  ASSERT_EQ(history.spans.size(), 1U);
  EXPECT_EQ(history.spans.front().to, at(9)) << "still running: until the last record";
  EXPECT_TRUE(history.spans.front().promised.empty());
  EXPECT_TRUE(history.jobs[2].is_refused);
  EXPECT_EQ(history.jobs[2].earliest, at(99));
}

}  // namespace
}  // namespace weir::simulate
