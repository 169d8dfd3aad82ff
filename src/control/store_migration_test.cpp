// SPDX-License-Identifier: Apache-2.0
//
// A store of the first schema, kept in tests/fixtures/store with the promises that were in it, is
// brought up to date and its promises are the same. WEIR_WRITE_FIXTURES=1 writes the fixture anew;
// do that only while no store of that schema is in use anywhere.
//
// The store of the second schema was made by `weir serve` itself, and stopped: two promises kept, one
// broken, three jobs refused, one failed and one cancelled, and jobs that wait and run.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "control/sqlite.h"
#include "control/store.h"
#include "control/store_log.h"
#include "control/store_schema.h"
#include "control/store_testing.h"
#include "domain/source_folder_testing.h"
#include "formats/log_codec.h"

namespace weir::control {
namespace {

using formats::TemporaryFolder;
using schedule::Core;
using testing::error_of;
using testing::options_in;

const std::filesystem::path kFixtures = source_folder() / "tests/fixtures/store";

// Four nodes of four GPUs; never to change.
schedule::State fixture_state() {
  return schedule::initial_state_for_training(testing::small_cluster(4, 4));
}

// One line per job that is not over: what it was promised.
std::string promises_text(const schedule::State& state) {
  std::string text;
  for (std::uint64_t id = 1; id <= state.training.jobs.size(); ++id) {
    const schedule::TrainingJob& job = state.training.job(JobId{id});
    text += fmt::format("job {} phase {} generation {}", id, static_cast<int>(job.phase),
                        job.generation);
    if (job.spec != nullptr) {
      text += fmt::format(" name {} deadline {} end {} steps", job.spec->name,
                          job.spec->deadline.time_since_epoch().count(),
                          job.timeline.end.time_since_epoch().count());
      for (const TimelineStep& step : job.timeline.steps)
        text += fmt::format(" [{} {} {}]", step.from.time_since_epoch().count(), step.block.first,
                            step.block.size);
    }
    text += '\n';
  }
  return text;
}

std::vector<Event> fixture_events() {
  using schedule::testing::at_second;
  std::vector<Event> events;
  CurveUpdated curve{PoolIndex{0}, {"resnet50", 256}, {}};
  curve.curve = schedule::testing::a_curve({{1, 10}, {2, 19}, {4, 36}, {8, 60}});
  events.push_back({at_second(100), TimerFired{}});
  events.back().what = curve;
  for (int i = 0; i < 12; ++i) {
    TrainingSpec spec;
    spec.name = fmt::format("train-{}", i);
    spec.curve = curve.key;
    spec.iterations = 6'000 + 3'000 * i;
    spec.deadline_kind = i % 5 == 4 ? DeadlineKind::none : DeadlineKind::hard;
    spec.deadline = at_second(100 + 60 * i + (i % 4 == 3 ? 20 : 4'000 + 300 * i));
    events.push_back({at_second(100 + 60 * i), TrainingSubmitted{spec}});
    events.push_back({at_second(100 + 60 * i), TimerFired{}});
    if (i % 3 == 2)
      events.push_back(
          {at_second(110 + 60 * i), RanksReady{JobId{static_cast<std::uint64_t>(i)}, 1}});
  }
  events.push_back({at_second(900), JobFinished{JobId{1}}});
  events.push_back({at_second(900), TimerFired{}});
  return events;
}

// As the first version wrote it.
void write_version_1(const std::filesystem::path& file, std::string& promises) {
  std::filesystem::remove(file);
  auto connection = SqliteConnection::open(file, "", Access::read_write_create).value();
  ASSERT_TRUE(connection.execute("PRAGMA page_size = 512", "fixture"));  // to keep it small
  ASSERT_TRUE(create_version_1(connection));
  auto insert = connection.prepare("INSERT INTO log VALUES (?, ?, ?, ?, ?)").value();
  auto insert_job =
      connection.prepare("INSERT INTO jobs VALUES (?, ?, 'promised', 5, ?, ?)").value();
  auto insert_document =
      connection.prepare("INSERT INTO documents VALUES (?, ?, NULL, NULL, ?)").value();
  ASSERT_TRUE(
      connection.execute("INSERT INTO settings VALUES ('cluster', '4x4xT4');"
                         "INSERT INTO clock VALUES (1, 'boot', 7, 900000000000, 11)",
                         "fixture"));
  Core core{testing::config_for("weir"), fixture_state()};
  LogPosition end;
  std::uint32_t link = kFirstLink;
  for (const Event& event : fixture_events()) {
    const auto records = core.handle(event);
    std::string body;
    formats::append_event_line(body, event);
    const std::uint64_t first = end.record + 1;
    for (const Record& record : records) {
      body += '\n';
      formats::append_record_line(body, record, ++end.record, "0.1.0");
      if (const auto* accepted = std::get_if<TrainingAccepted>(&record.what)) {
        const std::string view = fmt::format("{{\"id\":{}}}", accepted->job.value);
        ASSERT_TRUE(insert_job.bind(1, accepted->job.value)
                        .bind_text(2, accepted->spec->name)
                        .bind_blob(3, view)
                        .bind(4, std::uint64_t{checksum_of(view)})
                        .run());
        ASSERT_TRUE(insert_document.bind(1, accepted->job.value)
                        .bind_blob(2, view)
                        .bind(3, std::uint64_t{checksum_of(view)})
                        .run());
      }
    }
    const LogRow row{++end.entry, event.at.time_since_epoch().count(), first, body};
    const std::uint32_t content = content_checksum(row);
    link = next_link(link, content);
    ASSERT_TRUE(insert.bind(1, row.entry)
                    .bind(2, row.at)
                    .bind(3, row.first_record)
                    .bind_blob(4, row.body)
                    .bind(5, Chain{content, link}.number())
                    .run());
  }
  promises = promises_text(core.state());
}

std::string content_of(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

// A copy of the fixture, to be changed.
class StoreMigration : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("WEIR_WRITE_FIXTURES") != nullptr) {
      std::string promises;
      write_version_1(kFixtures / "v1.sqlite", promises);
      std::ofstream{kFixtures / "v1_promises.txt"} << promises;
    }
    std::filesystem::copy_file(kFixtures / "v1.sqlite", options.file);
  }
  TemporaryFolder folder;
  StoreOptions options = options_in(folder);
};

TEST_F(StoreMigration, TheFirstSchemaOpensAndItsPromisesAreUnchanged) {
  const std::string expected = content_of(kFixtures / "v1_promises.txt");
  ASSERT_THAT(expected, ::testing::HasSubstr("steps ["));
  for (int start = 0; start < 2; ++start) {
    auto store = Store::open(options);
    ASSERT_TRUE(store) << error_of(store);
    const auto recovery = (*store)->recover(fixture_state());
    ASSERT_TRUE(recovery) << error_of(recovery);
    EXPECT_EQ(promises_text(recovery->state), expected);
    EXPECT_EQ((*store)->setting("cluster"), "4x4xT4");
    ASSERT_TRUE(recovery->clock);
    EXPECT_EQ(recovery->clock->boottime_ns, 7);
  }
}

TEST_F(StoreMigration, WhatIsNewIsFilledFromWhatWasThere) {
  ASSERT_TRUE(Store::open(options));
  const auto reader = StoreReader::open(options).value();
  const auto all = reader->entries(0, 1000).value();
  const auto of_first = reader->entries_of(JobId{1}, 1000).value();
  ASSERT_GE(of_first.size(), 3U);
  EXPECT_LT(of_first.size(), all.size());
  EXPECT_THAT(of_first.front().event_line, ::testing::HasSubstr("train-0"));
  EXPECT_THAT(of_first.back().record_lines.front(), ::testing::HasSubstr("job_released"));
  EXPECT_EQ(*reader->job_view(JobId{1}), "{\"id\":1}");
}

TEST_F(StoreMigration, WorkGoesOn) {
  auto store = Store::open(options).value();
  auto recovery = store->recover(fixture_state()).value();
  const LogPosition before = store->end();
  EXPECT_GT(before.entry, 20U);
  Core core{testing::config_for("weir"), std::move(recovery.state)};
  Batch batch;
  const Event event{schedule::testing::at_second(1000), JobCancelled{JobId{2}}};
  testing::add_to(batch, event, core.handle(event));
  ASSERT_TRUE(store->commit(batch));
  store.reset();
  store = Store::open(options).value();
  EXPECT_EQ(store->end().entry, before.entry + 1);
}

// A reader does not change a store, so it says what to do.
TEST_F(StoreMigration, AReaderAsksForTheMigration) {
  EXPECT_THAT(error_of(StoreReader::open(options)),
              ::testing::HasSubstr("start weir serve on it once"));
}

TEST_F(StoreMigration, AnOldStoreThatIsDamagedIsRefused) {
  {
    auto connection = SqliteConnection::open(options.file, "", Access::read_write).value();
    ASSERT_TRUE(connection.execute("DELETE FROM log WHERE entry = 4", "damage"));
  }
  EXPECT_THAT(error_of(Store::open(options)), ::testing::HasSubstr("without entry 4"));
}

class StoreMigrationFromVersion2 : public ::testing::Test {
 protected:
  StoreMigrationFromVersion2() {
    std::filesystem::copy_file(kFixtures / "v2.sqlite", options.file);
    std::filesystem::permissions(options.file, std::filesystem::perms::owner_write,
                                 std::filesystem::perm_options::add);
  }
  TemporaryFolder folder;
  StoreOptions options = options_in(folder);
};

TEST_F(StoreMigrationFromVersion2, PromisesAndPhasesAreCounted) {
  for (int start = 0; start < 2; ++start) {
    const auto store = Store::open(options);
    ASSERT_TRUE(store) << error_of(store);
    const StoreTotals totals = (*store)->totals();
    EXPECT_EQ(totals.promises, (PromiseCounts{2, 1, 3}));
    EXPECT_EQ(totals.revision, 19U);
    EXPECT_THAT(totals.by_phase, ::testing::ElementsAre(
                                     ::testing::Pair("cancelled", 1), ::testing::Pair("failed", 1),
                                     ::testing::Pair("finished", 4), ::testing::Pair("queued", 5),
                                     ::testing::Pair("refused", 3), ::testing::Pair("running", 4),
                                     ::testing::Pair("waiting", 1)));
  }
}

TEST_F(StoreMigrationFromVersion2, ChangesComeInPages) {
  const auto store = Store::open(options).value();
  const auto reader = StoreReader::open(options).value();
  std::vector<std::string> views;
  JobQuery query;
  query.changed_after = 0;
  query.limit = 4;
  while (true) {
    const StoreReader::Page page = reader->jobs(query).value();
    EXPECT_EQ(page.revision, 19U);
    views.insert(views.end(), page.views.begin(), page.views.end());
    if (!page.has_more) break;
    query.changed_after = page.last;
  }
  EXPECT_EQ(views, reader->jobs({.limit = 100})->views) << "each job once";
  // Later changes come after what was there.
  Batch batch;
  batch.views.push_back({JobId{2}, "finished", Time{}, "changed"});
  ASSERT_TRUE(store->commit(batch));
  query.changed_after = 19;
  EXPECT_THAT(reader->jobs(query)->views, ::testing::ElementsAre("changed"));
  EXPECT_TRUE(reader->progress(JobId{2})->empty());
  EXPECT_TRUE(reader->history(5, 0, 1LL << 40)->empty());
}

}  // namespace
}  // namespace weir::control
