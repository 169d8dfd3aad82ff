// SPDX-License-Identifier: Apache-2.0
#include "simulate/live_history.h"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "formats/temporary_file_testing.h"
#include "simulate/live_run_testing.h"
#include "simulate/training_run.h"

namespace weir::simulate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::kModel;
using testing::kStart;
using testing::LiveRun;

// Two jobs of 100 iterations: 10 s at the curve's rate. The first is as fast, the second half as fast; starts
// take 200 ms.
LiveRun two_jobs() {
  LiveRun run;
  run.submit(Duration{0}, "swift", 100);
  run.tell(milliseconds{200}, RanksReady{JobId{1}, 1});
  run.submit(seconds{1}, "slow", 100);
  run.tell(milliseconds{1200}, RanksReady{JobId{2}, 1});
  run.tell(milliseconds{10'200}, JobFinished{JobId{1}});
  run.tell(milliseconds{10'200}, TimerFired{});
  run.tell(milliseconds{21'200}, JobFinished{JobId{2}});
  return run;
}

class LiveHistoryFile : public ::testing::Test {
 protected:
  Result<LiveHistory> read(const std::string& text) {
    return read_live_history(folder_.write("live.jsonl", text));
  }
  formats::TemporaryFolder folder_;
};

TEST_F(LiveHistoryFile, SaysWhoCameHowFastTheyWereAndWhatStartsCost) {
  const auto history = read(two_jobs().text());
  ASSERT_TRUE(history) << to_string(history.error().details);
  ASSERT_EQ(history->workload.jobs.size(), 2U);
  EXPECT_EQ(history->workload.jobs[1].submitted, kStart + seconds{1});
  EXPECT_THAT(history->speeds, ::testing::ElementsAre(1000, 500));
  EXPECT_EQ(history->measured_cost.base, milliseconds{200});
  EXPECT_EQ(history->planned_cost.base, seconds{1});
  EXPECT_EQ(history->finished[0], kStart + milliseconds{10'200});
}

TEST_F(LiveHistoryFile, EveryPoolWithGpusHasItsOwnCurves) {
  for (const std::uint32_t learnt : {0U, 1U}) {
    LiveRun run{"1x4xCPU+1x4xT4", PoolIndex{learnt}};
    run.submit(Duration{0}, "a", 100);
    const auto history = read(run.text());
    ASSERT_TRUE(history) << to_string(history.error().details);
    ASSERT_EQ(history->curves.size(), 2U);
    EXPECT_NE(history->curves[learnt].find(kModel), nullptr);
    EXPECT_EQ(history->curves[1 - learnt].find(kModel), nullptr) << "nobody said so";
  }
}

TEST_F(LiveHistoryFile, PlayedAgainItEndsWhenItEnded) {
  const auto history = read(two_jobs().text());
  ASSERT_TRUE(history);
  TrainingRunConfig config;
  config.speeds.by_row = history->speeds;
  config.planned_cost = history->planned_cost;
  config.real_cost = history->measured_cost;
  const auto outcome = run_training(history->cluster, history->workload, history->curves, config);
  std::vector<std::optional<Time>> played;
  for (const auto& job : outcome.by_job) played.push_back(job.finished);
  const Foretold foretold = compare_finishes(*history, played);
  EXPECT_EQ(foretold.jobs, 2);
  EXPECT_LT(foretold.worst_error, 0.001);
}

TEST_F(LiveHistoryFile, AnErrorIsAShareOfTheTimeFromSubmissionToFinish) {
  const auto history = read(two_jobs().text());
  ASSERT_TRUE(history);
  const Foretold foretold = compare_finishes(
      *history, {*history->finished[0] + milliseconds{1020}, *history->finished[1]});
  EXPECT_NEAR(foretold.mean_error, 0.05, 1e-9);
  EXPECT_NEAR(foretold.worst_error, 0.1, 1e-9);
}

TEST_F(LiveHistoryFile, AJobThatFailedIsPlayedForAsLongAsItRan) {
  LiveRun run;
  run.submit(Duration{0}, "broken", 1000);
  run.tell(Duration{0}, RanksReady{JobId{1}, 1});
  run.tell(seconds{5}, JobFailed{JobId{1}});
  run.submit(seconds{6}, "unlucky", 1000);
  run.tell(seconds{6}, JobCancelled{JobId{2}});
  const auto history = read(run.text());
  ASSERT_TRUE(history);
  ASSERT_EQ(history->workload.jobs.size(), 1U) << "what never ran is left out";
  EXPECT_EQ(history->workload.jobs[0].spec.iterations, 50);
}

TEST_F(LiveHistoryFile, ALogWithoutEventsIsRefused) {
  std::istringstream lines{two_jobs().text()};
  std::string records;
  for (std::string line; std::getline(lines, line);) {
    const bool is_event = line.find("\"seq\"") == std::string::npos && !records.empty();
    if (!is_event) records += line + "\n";
  }
  EXPECT_FALSE(read(records));
}

TEST_F(LiveHistoryFile, DecidedAgainTheRecordsAreTheSameBytes) {
  const std::string text = two_jobs().text();
  const auto replayed = replay(folder_.write("live.jsonl", text));
  ASSERT_TRUE(replayed) << to_string(replayed.error().details);
  EXPECT_EQ(replayed->difference, std::nullopt);
  EXPECT_GT(replayed->records, 8);
}

TEST_F(LiveHistoryFile, TenantsAreDecidedAgainAndKnown) {
  TenantTable table;
  table.tenants = {{"research", kNoParent, 2, {{PoolIndex{0}, 2, 3}}}, {"vision", 0, 1, {}}};
  LiveRun run;
  run.tell(Duration{0}, TenantsChanged{table});
  run.submit(seconds{1}, "a", 100);
  table.lease = seconds{30};
  run.tell(seconds{2}, TenantsChanged{table});
  run.tell(seconds{2}, TimerFired{});
  run.tell(seconds{11}, JobFinished{JobId{1}});
  const std::string text = run.text();
  const auto replayed = replay(folder_.write("live.jsonl", text));
  ASSERT_TRUE(replayed) << to_string(replayed.error().details);
  EXPECT_EQ(replayed->difference, std::nullopt);
  EXPECT_EQ(read(text)->tenants, table) << "the last";
}

TEST_F(LiveHistoryFile, AChangedOrMissingRecordIsFound) {
  const std::string text = two_jobs().text();
  std::string changed = text;
  const auto at = changed.find("\"ready_at\":");
  changed[changed.find_first_of(",}", at) - 1] ^= 1;
  auto replayed = replay(folder_.write("live.jsonl", changed));
  ASSERT_TRUE(replayed);
  EXPECT_NE(replayed->difference, std::nullopt);
  // Without its last line, of the last event's records.
  replayed =
      replay(folder_.write("live.jsonl", text.substr(0, text.rfind('\n', text.size() - 2) + 1)));
  ASSERT_TRUE(replayed);
  EXPECT_NE(replayed->difference, std::nullopt);
}

}  // namespace
}  // namespace weir::simulate
