// SPDX-License-Identifier: Apache-2.0
#include "control/progress_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "control/faulty_vfs.h"
#include "control/store.h"
#include "control/store_testing.h"

namespace weir::control {
namespace {

using schedule::testing::at_second;
using ::testing::IsEmpty;

ProgressPoint point(std::int64_t at, std::int64_t gpus) {
  return {JobId{1}, at_second(at), gpus, at, 1.0, std::nullopt};
}

std::vector<ProgressPoint> without(std::vector<ProgressPoint> points,
                                   const std::vector<Time>& times) {
  const std::set<Time> gone(times.begin(), times.end());
  std::erase_if(points, [&](const ProgressPoint& each) { return gone.contains(each.at); });
  return points;
}

TEST(ProgressPoints, FewAreAllKept) {
  std::vector<ProgressPoint> points;
  EXPECT_THAT(points_to_drop(points), IsEmpty());
  for (std::int64_t i = 0; i < 600; ++i) points.push_back(point(i, 1));
  EXPECT_THAT(points_to_drop(points), IsEmpty());
}

// As a job that runs for ten days lives: whenever there are too many, some go.
TEST(ProgressPoints, ALongJobKeepsPointsFromAllItsTime) {
  std::vector<ProgressPoint> points;
  constexpr std::int64_t kEnd = 10 * 86'400;
  for (std::int64_t at = 0; at < kEnd; at += 10) {
    points.push_back(point(at, 1 + (at / 86'400) % 2));  // its GPUs change every day
    if (points.size() > kMostProgressPoints) points = without(points, points_to_drop(points));
    ASSERT_LE(points.size(), kMostProgressPoints);
  }
  EXPECT_GE(points.size(), 150U);
  EXPECT_EQ(points.front().at, at_second(0));
  EXPECT_EQ(points.back().at, at_second(kEnd - 10));
  std::int64_t changes = 0;
  Duration widest{0};
  for (std::size_t i = 1; i < points.size(); ++i) {
    widest = std::max(widest, points[i].at - points[i - 1].at);
    if (points[i].gpus == points[i - 1].gpus) continue;
    ++changes;
    EXPECT_EQ(points[i].done % 86'400, 0) << "a change stays where it was";
  }
  EXPECT_EQ(changes, 9);
  EXPECT_LE(widest, from_seconds(kEnd / 150)) << "no day is without points";
}

TEST(ProgressPoints, ChangesGoTooWhenThereAreTooMany) {
  std::vector<ProgressPoint> points;
  for (std::int64_t i = 0; i <= 600; ++i) points.push_back(point(i, i % 2));
  const auto rest = without(points, points_to_drop(points));
  EXPECT_LE(rest.size(), 302U);
  EXPECT_EQ(rest.front(), points.front());
  EXPECT_EQ(rest.back(), points.back());
}

// ---- In the store

TEST(StoredProgress, ReadsBackOnTheWallClock) {
  const formats::TemporaryFolder folder;
  const auto store = Store::open(testing::options_in(folder)).value();
  const auto reader = StoreReader::open(testing::options_in(folder)).value();
  Batch batch;
  batch.progress = {{JobId{7}, at_second(100), 2, 50, 1.5, 0.25},
                    {JobId{8}, at_second(100), 1, 1, std::nullopt, std::nullopt},
                    {JobId{7}, at_second(110), 0, 60, std::nullopt, std::nullopt}};
  batch.clock = ClockMark{"boot", 1, at_second(110), from_seconds(1000)};
  ASSERT_TRUE(store->commit(batch));
  EXPECT_THAT(*reader->progress(JobId{7}),
              ::testing::ElementsAre(
                  ProgressPoint{JobId{7}, at_second(1100), 2, 50, 1.5, 0.25},
                  ProgressPoint{JobId{7}, at_second(1110), 0, 60, std::nullopt, std::nullopt}));
  EXPECT_EQ(*reader->count_progress(JobId{7}), 2U);
  EXPECT_EQ(*reader->count_progress(JobId{9}), 0U);
  // The same moment again: the later one counts.
  Batch again;
  again.progress = {{JobId{7}, at_second(110), 4, 61, 3.0, std::nullopt}};
  ASSERT_TRUE(store->commit(again));
  EXPECT_EQ(reader->progress(JobId{7})->back(),
            (ProgressPoint{JobId{7}, at_second(1110), 4, 61, 3.0, std::nullopt}));
}

TEST(StoredProgress, IsThinnedOut) {
  const formats::TemporaryFolder folder;
  const auto store = Store::open(testing::options_in(folder)).value();
  const auto reader = StoreReader::open(testing::options_in(folder)).value();
  Batch batch;
  std::vector<ProgressPoint> written;
  for (std::int64_t i = 0; i < 900; ++i) written.push_back(point(i, 1 + i / 300));
  batch.progress = written;
  ProgressPoint other = point(3, 1);
  other.job = JobId{2};
  batch.progress.push_back(other);
  batch.to_thin_out = {JobId{1}, JobId{2}, JobId{3}};
  ASSERT_TRUE(store->commit(batch));
  EXPECT_EQ(*reader->progress(JobId{1}), without(written, points_to_drop(written)));
  EXPECT_LT(*reader->count_progress(JobId{1}), 310U);
  EXPECT_EQ(*reader->count_progress(JobId{2}), 1U);
}

}  // namespace
}  // namespace weir::control
