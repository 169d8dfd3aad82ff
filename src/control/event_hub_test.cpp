// SPDX-License-Identifier: Apache-2.0
#include "control/event_hub.h"

#include <gmock/gmock.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "control/store_testing.h"
#include "schedule/core/core.h"

namespace weir::control {
namespace {

using ::testing::ElementsAreArray;
using testing::error_of;
using ::testing::IsEmpty;
using testing::RandomWorld;

// The reader's end of a stream: as slow as it is told to be.
class ReaderSink final : public transport::StreamSink {
 public:
  bool append(std::string_view bytes) override {
    const std::lock_guard lock{mutex_};
    if (!is_open_) return false;
    text_ += bytes;
    return true;
  }
  bool has_room() const override {
    const std::lock_guard lock{mutex_};
    return text_.size() < room_;
  }
  bool is_open() const override {
    const std::lock_guard lock{mutex_};
    return is_open_;
  }
  void call_when_drained(std::function<void()>) override {}
  void close() override { hang_up(); }

  void hang_up() {
    const std::lock_guard lock{mutex_};
    is_open_ = false;
  }
  void set_room(std::size_t bytes) {
    const std::lock_guard lock{mutex_};
    room_ = bytes;
  }
  std::string text() const {
    const std::lock_guard lock{mutex_};
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
  std::size_t room_ = std::size_t{1} << 30;
  bool is_open_ = true;
};

struct Heard {
  std::string id;
  std::string type;
  std::string data;
  friend bool operator==(const Heard&, const Heard&) = default;
  friend void PrintTo(const Heard& heard, std::ostream* out) {
    *out << heard.id << " " << heard.type;
  }
};

std::vector<Heard> parsed(const std::string& text) {
  std::vector<Heard> heard;
  std::size_t at = 0;
  while (true) {
    const auto end = text.find("\n\n", at);
    if (end == std::string::npos) return heard;
    Heard event;
    std::istringstream lines{text.substr(at, end - at)};
    for (std::string line; std::getline(lines, line);) {
      const auto value = [&](std::string_view name) { return line.substr(name.size()); };
      if (line.starts_with("id: ")) event.id = value("id: ");
      if (line.starts_with("event: ")) event.type = value("event: ");
      if (line.starts_with("data: ")) event.data += value("data: ");
    }
    if (!event.id.empty()) heard.push_back(std::move(event));
    at = end + 2;
  }
}

class EventHubTest : public ::testing::Test {
 protected:
  EventHubTest() : core_{world_.new_core()} {
    auto store = Store::open(options_);
    EXPECT_TRUE(store) << error_of(store);
    store_ = std::move(*store);
    EXPECT_TRUE(store_->recover(world_.initial_state()));
    auto reader = StoreReader::open(options_);
    EXPECT_TRUE(reader) << error_of(reader);
    hub_ = std::make_unique<EventHub>(std::move(*reader), store_->end());
    auto own = StoreReader::open(options_);
    EXPECT_TRUE(own) << error_of(own);
    reader_ = std::move(*own);
  }

  // Something happens, and the hub hears that there is more.
  void go_on(int decisions) {
    const auto committed = store_->commit(testing::next_batch(world_, core_, decisions));
    ASSERT_TRUE(committed) << error_of(committed);
    hub_->advance(store_->end());
  }

  std::shared_ptr<ReaderSink> watch(std::uint64_t after, std::optional<JobId> job = {}) {
    auto sink = std::make_shared<ReaderSink>();
    hub_->watch(transport::EventStream{sink}, after, job);
    return sink;
  }

  // Straight from the store.
  std::vector<Heard> all(std::uint64_t after, std::optional<JobId> job = {}) {
    std::vector<Heard> records;
    const auto entries = reader_->entries(0, 1'000'000);
    EXPECT_TRUE(entries) << error_of(entries);
    if (!entries) return records;
    for (const RawEntry& entry : *entries) {
      for (const std::string& line : entry.record_lines) {
        const auto json = nlohmann::json::parse(line);
        const auto& payload = json.at("payload");
        if (json.at("seq").get<std::uint64_t>() <= after) continue;
        if (job && (!payload.contains("job") || payload.at("job") != job->value)) continue;
        records.push_back({json.at("seq").dump(), json.at("type").get<std::string>(), line});
      }
    }
    return records;
  }

  static void expect_hears(const std::shared_ptr<ReaderSink>& sink,
                           const std::vector<Heard>& expected) {
    for (int i = 0; i < 6000 && parsed(sink->text()).size() < expected.size(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    std::this_thread::sleep_for(std::chrono::milliseconds{5});  // nothing more comes
    EXPECT_THAT(parsed(sink->text()), ElementsAreArray(expected));
  }

  RandomWorld world_{3};
  schedule::Core core_;
  formats::TemporaryFolder folder_;
  StoreOptions options_ = testing::options_in(folder_);
  std::unique_ptr<Store> store_;
  std::unique_ptr<StoreReader> reader_;
  std::unique_ptr<EventHub> hub_;
};

TEST_F(EventHubTest, TellsWhatComesInOrderAndWithoutGaps) {
  go_on(20);
  const auto end = hub_->end().record;
  const auto sink = watch(end);
  EXPECT_EQ(hub_->watchers(), 1u);
  for (int i = 0; i < 30; ++i) go_on(5);
  const auto expected = all(end);
  ASSERT_GT(expected.size(), 20u);
  expect_hears(sink, expected);
}

TEST_F(EventHubTest, ResumesFromAnyRecord) {
  for (int i = 0; i < 10; ++i) go_on(5);
  const auto end = store_->end().record;
  ASSERT_GT(end, 10u);
  for (std::uint64_t after = 0; after <= end + 2; ++after) {
    const auto sink = watch(after);
    expect_hears(sink, all(after));
    sink->hang_up();
  }
  // Ahead of the log: it waits until the log is there.
  const auto ahead = watch(end + 10);
  while (store_->end().record < end + 20) go_on(3);
  expect_hears(ahead, all(end + 10));
}

TEST_F(EventHubTest, TellsOfOneJobOnly) {
  for (int i = 0; i < 60; ++i) go_on(5);
  std::size_t told = 0;
  for (const std::uint64_t id : {1, 2, 12, 999}) {
    const auto expected = all(0, JobId{id});
    told += expected.size();
    const auto sink = watch(0, JobId{id});
    expect_hears(sink, expected);
    if (id == 999) {
      EXPECT_THAT(expected, IsEmpty());
    }
  }
  EXPECT_GT(told, 3u);
}

TEST_F(EventHubTest, ASlowReaderHoldsUpNobodyAndMissesNothing) {
  const auto slow = watch(0);
  slow->set_room(1);
  const auto fast = watch(0);
  for (int i = 0; i < 40; ++i) go_on(20);
  const auto expected = all(0);
  expect_hears(fast, expected);
  const auto had = slow->text().size();
  EXPECT_LT(had, fast->text().size() / 4);
  slow->set_room(had + 1000);
  slow->set_room(std::size_t{1} << 30);
  expect_hears(slow, expected);
}

TEST_F(EventHubTest, LetsGoOfReadersThatHaveGone) {
  const auto gone = watch(0);
  const auto stays = watch(0);
  gone->hang_up();
  for (int i = 0; i < 2000 && hub_->watchers() > 1; ++i) {
    go_on(1);
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  EXPECT_EQ(hub_->watchers(), 1u);
  expect_hears(stays, all(0));
  hub_->stop();
  hub_->stop();
}

TEST_F(EventHubTest, CountsReadersAlsoWhileTheyAreServed) {
  const auto first = watch(0);
  const auto second = watch(0);
  for (int i = 0; i < 200; ++i) {
    go_on(1);
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds{2};
    while (std::chrono::steady_clock::now() < until) {
      ASSERT_EQ(hub_->watchers(), 2u) << "after " << i << " records";
    }
  }
}

TEST(RecordLineHead, IsReadFromTheLine) {
  const auto head = record_line_head(R"({"schema":1,"seq":7,"time":3,"type":"job_released"})");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->seq, 7u);
  EXPECT_EQ(head->type, "job_released");
  EXPECT_FALSE(record_line_head(""));
  EXPECT_FALSE(record_line_head(R"({"seq":x,"type":"a"})"));
  EXPECT_FALSE(record_line_head(R"({"seq":1})"));
}

}  // namespace
}  // namespace weir::control
