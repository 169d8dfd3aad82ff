// SPDX-License-Identifier: Apache-2.0
#include "control/cluster_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "control/faulty_vfs.h"
#include "control/store.h"
#include "control/store_testing.h"

namespace weir::control {
namespace {

using schedule::testing::at_second;
using std::chrono::hours;
using testing::error_of;
using testing::options_in;

constexpr std::int64_t kStartSecond = 1'794'729'600;  // 2026-11-15T08:00:00Z, a multiple of 900

ClusterFigures figures(double in_use, std::int64_t kept) {
  ClusterFigures made;
  made.gpus_up = 16;
  made.gpus_in_use = in_use;
  made.gpus_fragmented = in_use / 4;
  made.running = in_use / 2;
  made.waiting = 3;
  made.open = in_use;
  made.at_risk = 1;
  made.promises = {kept, 0, kept * 2};
  return made;
}

TEST(ClusterHistory, TheFinestStepThatCoversTheTimeIsTaken) {
  EXPECT_EQ(history_step_for(60), 5);
  EXPECT_EQ(history_step_for(2 * 3600), 5);
  EXPECT_EQ(history_step_for(2 * 3600 + 1), 60);
  EXPECT_EQ(history_step_for(2 * 86'400), 60);
  EXPECT_EQ(history_step_for(2 * 86'400 + 1), 900);
  EXPECT_EQ(history_step_for(31'536'000), 900);
}

TEST(ClusterHistory, CoarseRowsAreKeptAsLongAsTheRestButNoLongerThanAYear) {
  EXPECT_EQ(history_resolutions(hours{24 * 30})[2].kept_for, 30 * 86'400);
  EXPECT_EQ(history_resolutions(hours{24 * 36'525})[2].kept_for, 366 * 86'400);
  EXPECT_EQ(history_resolutions(Duration{-1})[2].kept_for, 0);
}

TEST(ClusterHistory, StepsBeginAtMultiples) {
  EXPECT_EQ(beginning_of_step(at_second(kStartSecond), 5), kStartSecond);
  EXPECT_EQ(beginning_of_step(at_second(kStartSecond + 4) + std::chrono::milliseconds{999}, 5),
            kStartSecond);
  EXPECT_EQ(beginning_of_step(at_second(kStartSecond + 5), 5), kStartSecond + 5);
  EXPECT_EQ(beginning_of_step(at_second(kStartSecond + 899), 900), kStartSecond);
  EXPECT_EQ(beginning_of_step(at_second(-1), 60), -60);
  EXPECT_EQ(beginning_of_step(at_second(-60), 60), -60);
}

// 2, 4 and 9 GPUs in use: 5 in the mean. Of what only grows the last counts.
TEST(ClusterHistory, ARowIsTheMeanOfItsSamples) {
  HistoryRow row;
  add_sample(row, figures(2, 1));
  EXPECT_EQ(row.figures, figures(2, 1));
  add_sample(row, figures(4, 1));
  add_sample(row, figures(9, 7));
  EXPECT_EQ(row.samples, 3);
  EXPECT_DOUBLE_EQ(row.figures.gpus_in_use, 5);
  EXPECT_DOUBLE_EQ(row.figures.gpus_fragmented, 1.25);
  EXPECT_DOUBLE_EQ(row.figures.running, 2.5);
  EXPECT_DOUBLE_EQ(row.figures.gpus_up, 16);
  EXPECT_DOUBLE_EQ(row.figures.waiting, 3);
  EXPECT_DOUBLE_EQ(row.figures.open, 5);
  EXPECT_DOUBLE_EQ(row.figures.at_risk, 1);
  EXPECT_EQ(row.figures.promises, (PromiseCounts{7, 0, 14}));
}

// ---- In the store

class StoredHistory : public ::testing::Test {
 protected:
  StoredHistory() { open(); }
  void open() {
    reader.reset();
    store.reset();
    auto made = Store::open(options);
    ASSERT_TRUE(made) << error_of(made);
    store = std::move(*made);
    reader = StoreReader::open(options).value();
  }
  void sample(std::int64_t at, double in_use, Duration keep = hours{24 * 30}) {
    Batch batch;
    batch.sample = ClusterSample{at_second(at), figures(in_use, at - kStartSecond), keep};
    ASSERT_TRUE(store->commit(batch));
  }
  std::vector<HistoryRow> rows(std::int64_t step) {
    return reader->history(step, 0, std::int64_t{1} << 40).value();
  }

  formats::TemporaryFolder folder;
  FaultyVfs disk{"history-quick"};  // does not wait for a real disk
  StoreOptions options = options_in(folder, "history-quick");
  std::unique_ptr<Store> store;
  std::unique_ptr<StoreReader> reader;
};

// Compares every row with the plain mean of the samples in it; half of the time between restarts.
TEST_F(StoredHistory, EveryResolutionHasTheMeanOfItsTime) {
  std::map<std::int64_t, std::map<std::int64_t, std::vector<double>>> expected;
  SeededRng rng{4};
  for (std::int64_t at = kStartSecond + 3; at < kStartSecond + 2000; at += 5) {
    if (at > kStartSecond + 700 && at < kStartSecond + 850) continue;  // it did not run
    if (rng.below(40) == 0) open();
    const auto in_use = static_cast<double>(rng.below(17));
    sample(at, in_use);
    for (const std::int64_t step : {5, 60, 900}) expected[step][at / step * step].push_back(in_use);
  }
  for (const auto& [step, by_time] : expected) {
    const std::vector<HistoryRow> found = rows(step);
    ASSERT_EQ(found.size(), by_time.size()) << step;
    auto wanted = by_time.begin();
    for (const HistoryRow& row : found) {
      EXPECT_EQ(row.at, wanted->first);
      double sum = 0;
      for (const double value : wanted->second) sum += value;
      EXPECT_EQ(row.samples, static_cast<std::int64_t>(wanted->second.size()));
      EXPECT_NEAR(row.figures.gpus_in_use, sum / static_cast<double>(wanted->second.size()), 1e-9);
      ++wanted;
    }
  }
  EXPECT_EQ(rows(900).back().figures.promises.kept, 1998) << "the last of its step";
}

TEST_F(StoredHistory, RowsAreBounded) {
  const std::int64_t days = 40;
  for (std::int64_t at = 0; at < days * 86'400; at += 899) sample(kStartSecond + at, 1);
  EXPECT_LE(rows(5).size(), 7200U / 5 + 2);
  EXPECT_LE(rows(60).size(), 2U * 86'400 / 60 + 2);
  EXPECT_LE(rows(900).size(), 30U * 86'400 / 900 + 2);
  EXPECT_GE(rows(900).size(), 30U * 86'400 / 900 - 2);
  sample(kStartSecond + days * 86'400, 1, hours{1});
  EXPECT_LE(rows(900).size(), 6U) << "as long as the server keeps its history";
}

TEST_F(StoredHistory, AClockThatIsAheadForAMomentDoesNotCostThePast) {
  for (std::int64_t at = 0; at < 600; at += 5) sample(kStartSecond + at, 1);
  sample(kStartSecond + 10 * 365 * 86'400LL, 1);
  sample(kStartSecond + 600, 1);
  EXPECT_EQ(reader->history(5, kStartSecond, kStartSecond + 600)->size(), 121U);
}

TEST_F(StoredHistory, IsReadFromAndTo) {
  for (std::int64_t at = 0; at < 100; at += 5) sample(kStartSecond + at, static_cast<double>(at));
  const auto some = reader->history(5, kStartSecond + 20, kStartSecond + 30).value();
  ASSERT_EQ(some.size(), 3U);
  EXPECT_EQ(some.front().at, kStartSecond + 20);
  EXPECT_EQ(some.back().at, kStartSecond + 30);
  EXPECT_TRUE(reader->history(7, 0, kStartSecond * 2)->empty());
}

// The wall clock may be set back: the row goes on with what came again.
TEST_F(StoredHistory, ATimeThatComesAgainIsInTheSameRow) {
  sample(kStartSecond, 2);
  sample(kStartSecond + 5, 2);
  sample(kStartSecond, 4);
  ASSERT_EQ(rows(5).size(), 2U);
  EXPECT_DOUBLE_EQ(rows(5).front().figures.gpus_in_use, 3);
}

TEST_F(StoredHistory, IsNoEntryOfTheLog) {
  sample(kStartSecond, 2);
  EXPECT_EQ(store->end().entry, 0U);
  EXPECT_EQ(store->totals(), StoreTotals{});
  open();
  EXPECT_EQ(store->end().entry, 0U);
}

}  // namespace
}  // namespace weir::control
