// SPDX-License-Identifier: Apache-2.0
//
// A feed over HTTP that dies and comes back is in tests/api_contract.py.
#include "control/supply_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <fstream>
#include <mutex>

#include "control/controller_testing.h"
#include "formats/temporary_file_testing.h"
#include "formats/time_text.h"

namespace weir::control {
namespace {

using testing::HandClocks;
using ::testing::HasSubstr;

constexpr Duration kOneHour = std::chrono::hours{1};

// Hourly from a time on; the values count up.
std::string csv_from(Time begin, int count, const char* column = "carbon_g_per_kwh") {
  std::string text = std::string{"utc_time,"} + column + "\n";
  for (int hour = 0; hour < count; ++hour)
    text += formats::format_time(begin + hour * kOneHour) + "," + std::to_string(hour) + "\n";
  return text;
}

// The latest that a feed told.
class Heard {
 public:
  SupplyFeed::Listener listener() {
    return [this](const SupplyNews& news) {
      const std::lock_guard lock{mutex_};
      news_ = news;
      ++count_;
      changed_.notify_all();
    };
  }
  SupplyNews wait_until(const std::function<bool(const SupplyNews&)>& test) {
    std::unique_lock lock{mutex_};
    const bool came = changed_.wait_for(lock, std::chrono::seconds{60},
                                        [&] { return count_ > 0 && test(news_); });
    EXPECT_TRUE(came);
    return news_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  SupplyNews news_;
  int count_ = 0;
};

struct FeedWorld {
  formats::TemporaryFolder folder;
  HandClocks clocks;
  Heard heard;
  std::filesystem::path file = folder.path() / "grid.csv";
  Time today = [this] {
    const Duration since = clocks.wall().time_since_epoch();
    return Time{since - since % (24 * kOneHour)};
  }();

  void write(const std::string& text) const {
    std::ofstream{file.string() + ".new"} << text;
    std::filesystem::rename(file.string() + ".new", file);
  }
  auto start(const std::string& url = {}) {
    formats::SupplySource source;
    source.url = url;
    source.file = file;
    source.every = std::chrono::seconds{1};
    return SupplyFeed::start(source, heard.listener(), clocks);
  }
};

TEST(SupplyFeed, AFileIsReadAgainWhenItChanges) {
  FeedWorld world;
  world.write(csv_from(world.today, 48));
  const auto feed = world.start();
  ASSERT_TRUE(feed) << testing::error_of(feed);
  const SupplyNews first = (*feed)->news();
  EXPECT_EQ(first.series.values().size(), 48U);
  EXPECT_FALSE(first.state.stale_since);
  EXPECT_EQ(first.state.read_at, world.clocks.wall());
  world.write(csv_from(world.today, 50));
  const SupplyNews second = world.heard.wait_until(
      [](const SupplyNews& news) { return news.series.values().size() == 50; });
  EXPECT_EQ(second.state.problem, "");
}

TEST(SupplyFeed, AFileThatIsGoneOrBrokenLeavesWhatWasKnown) {
  FeedWorld world;
  world.write(csv_from(world.today, 48));
  const Time read_at = world.clocks.wall();
  const auto feed = world.start();
  ASSERT_TRUE(feed) << testing::error_of(feed);
  world.clocks.pass(kOneHour);
  world.write("nonsense");
  const SupplyNews stale = world.heard.wait_until(
      [](const SupplyNews& news) { return news.state.stale_since.has_value(); });
  EXPECT_EQ(stale.state.stale_since, read_at);
  EXPECT_THAT(stale.state.problem, HasSubstr("grid.csv"));
  EXPECT_EQ(stale.series.values().size(), 48U);
  EXPECT_THAT(stale_line(stale.state), HasSubstr("supply is stale since"));
  world.write(csv_from(world.today, 49));
  const SupplyNews back = world.heard.wait_until(
      [](const SupplyNews& news) { return !news.state.stale_since.has_value(); });
  EXPECT_EQ(back.series.values().size(), 49U);
  EXPECT_EQ(back.state.problem, "");
  EXPECT_GE(back.state.failures, 1U);
}

TEST(SupplyFeed, AFileThatCannotBeReadAtTheStartIsAMistake) {
  FeedWorld world;
  EXPECT_FALSE(world.start());
  world.write("utc_time,power_cap_kw\n2026-01-01T00:00Z,5\n2026-01-01T01:00Z,5\n");
  EXPECT_THAT(testing::error_of(world.start()), HasSubstr("power_cap"));
}

TEST(SupplyFeed, ASeriesThatHasEndedIsStaleSinceThen) {
  FeedWorld world;
  world.write(csv_from(world.today - 48 * kOneHour, 36));
  const auto feed = world.start();
  ASSERT_TRUE(feed) << testing::error_of(feed);
  EXPECT_EQ((*feed)->news().state.stale_since, world.today - 12 * kOneHour);
  EXPECT_THAT((*feed)->news().state.problem, HasSubstr("its last day repeats"));
}

// Port 1 of this machine: nobody is there.
TEST(SupplyFeed, AFeedThatNeverAnsweredHasItsFile) {
  FeedWorld world;
  world.write(csv_from(world.today, 48));
  const auto feed = world.start("http://127.0.0.1:1/now.csv");
  ASSERT_TRUE(feed) << testing::error_of(feed);
  const SupplyNews news = (*feed)->news();
  EXPECT_EQ(news.series.values().size(), 48U);
  EXPECT_EQ(news.state.stale_since, world.clocks.wall());
  EXPECT_EQ(news.state.source, "http://127.0.0.1:1/now.csv");
  EXPECT_NE(news.state.problem, "");
}

TEST(SupplyFeed, WithoutAFileNothingIsKnownAndNothingWaits) {
  FeedWorld world;
  const auto feed = world.start("http://127.0.0.1:1/now.csv");
  ASSERT_TRUE(feed) << testing::error_of(feed);
  EXPECT_TRUE((*feed)->news().series.empty());
}

TEST(DaysAround, OfALongSeriesAreTheDaysAroundNow) {
  const Time begin{};
  std::vector<double> values(24 * 400);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  const SupplySeries year{begin, kOneHour, values};
  const Time noon = begin + (24 * 100 + 12) * kOneHour;
  const SupplySeries days = days_around(year, noon);
  EXPECT_LE(days.values().size(), 24U * 36);
  for (int hour = -24; hour < 24 * 30; hour += 5)
    EXPECT_EQ(days.at(noon + hour * kOneHour), year.at(noon + hour * kOneHour)) << hour;
  EXPECT_EQ(days_around(year, noon + 3 * kOneHour), days) << "once a day";
  for (const Time outside : {begin - 1000 * kOneHour, year.end() + 1000 * kOneHour}) {
    for (int hour = 0; hour < 48; ++hour)
      EXPECT_EQ(days_around(year, outside).at(outside + hour * kOneHour),
                year.at(outside + hour * kOneHour))
          << "the nearest day repeats";
  }
}

}  // namespace
}  // namespace weir::control
