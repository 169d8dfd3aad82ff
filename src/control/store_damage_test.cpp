// SPDX-License-Identifier: Apache-2.0
//
// Stores that were damaged by others: never a shorter or different log without a word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "control/sqlite.h"
#include "control/store.h"
#include "control/store_testing.h"

namespace weir::control {
namespace {

using formats::TemporaryFolder;
using schedule::Core;
using testing::difference;
using testing::error_of;
using ::testing::HasSubstr;
using testing::next_batch;
using testing::options_in;
using testing::RandomWorld;

constexpr int kEntries = 90;

// A store of 90 entries with a snapshot at 60, closed.
class ClosedStore {
 public:
  ClosedStore() : world{21}, core{world.new_core()}, options{options_in(folder)} {
    auto store = Store::open(options).value();
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(store->commit(next_batch(world, core, kEntries / 3)));
      if (i == 1) {
        EXPECT_TRUE(store->save_snapshot(store->end().entry, write_snapshot(core.state())));
      }
    }
    lines = lines_now();
  }

  void change(const char* sql) const {
    auto connection = SqliteConnection::open(options.file, "", Access::read_write);
    ASSERT_TRUE(connection) << error_of(connection);
    const auto done = connection->execute(sql, "damage");
    ASSERT_TRUE(done) << error_of(done);
  }

  std::string problem() const { return error_of(Store::open(options)); }

  std::vector<RawEntry> lines_now() const {
    return StoreReader::open(options).value()->entries(0, 10 * kEntries).value();
  }

  TemporaryFolder folder;
  RandomWorld world;
  Core core;
  StoreOptions options;
  std::vector<RawEntry> lines;
};

TEST(StoreDamage, AWholeStoreOpens) {
  const ClosedStore closed;
  EXPECT_EQ(closed.problem(), "");
}

TEST(StoreDamage, AMissingEntryIsNamed) {
  const ClosedStore closed;
  closed.change("DELETE FROM log WHERE entry = 41");
  EXPECT_THAT(closed.problem(), HasSubstr("without entry 41: missing"));
  EXPECT_THAT(closed.problem(), HasSubstr("restore a backup, or start once more and accept"));
}

TEST(StoreDamage, ARangeOfMissingEntriesIsNamed) {
  const ClosedStore closed;
  closed.change("DELETE FROM log WHERE entry BETWEEN 70 AND 75");
  EXPECT_THAT(closed.problem(), HasSubstr("without entries 70 to 75"));
  EXPECT_THAT(closed.problem(), ::testing::Not(HasSubstr("accept the loss")));
}

TEST(StoreDamage, AChangedEntryIsNamed) {
  const ClosedStore closed;
  closed.change("UPDATE log SET body = CAST(body || ' ' AS BLOB) WHERE entry = 12");
  EXPECT_THAT(closed.problem(), HasSubstr("without entry 12: its checksum differs"));
}

TEST(StoreDamage, SwappedEntriesAreNamed) {
  const ClosedStore closed;
  closed.change(
      "UPDATE log SET entry = 1000 WHERE entry = 5; UPDATE log SET entry = 5 WHERE entry = 6;"
      "UPDATE log SET entry = 6 WHERE entry = 1000");
  EXPECT_THAT(closed.problem(), HasSubstr("without entries 5 to 6"));
}

TEST(StoreDamage, ALogCutAtItsEndIsNoticed) {
  const ClosedStore closed;
  closed.change("DELETE FROM log WHERE entry > 80");
  EXPECT_THAT(closed.problem(), HasSubstr("without entries 81 to 90: committed, and gone"));
}

TEST(StoreDamage, AnOlderFileInPlaceOfTheStoreIsNoticed) {
  ClosedStore closed;
  const std::filesystem::path older = closed.folder.path() / "older";
  std::filesystem::copy_file(closed.options.file, older);
  {
    auto store = Store::open(closed.options).value();
    ASSERT_TRUE(store->commit(next_batch(closed.world, closed.core, 10)));
  }
  std::filesystem::copy_file(older, closed.options.file,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(closed.problem(), HasSubstr("without entries 91 to 100: committed, and gone"));
  closed.options.accepts_damage = true;
  auto store = Store::open(closed.options);
  ASSERT_TRUE(store) << error_of(store);
  EXPECT_EQ((*store)->end().entry, 90U);
  const auto recovery = (*store)->recover(closed.world.initial_state());
  ASSERT_TRUE(recovery) << error_of(recovery);
  ASSERT_EQ(recovery->damage.size(), 1U);
  EXPECT_EQ(recovery->damage[0].first_entry, 91U);
  EXPECT_EQ(recovery->damage[0].last_entry, 100U);
  store->reset();
  closed.options.accepts_damage = false;
  EXPECT_EQ(closed.problem(), "") << "it was accepted once and for all";
}

// Which jobs the lost entries were about is forgotten with them: new entries take their numbers.
TEST(StoreDamage, AfterAnAcceptedCutTheLogGoesOnAboutTheSameJobs) {
  ClosedStore closed;
  closed.change("DELETE FROM log WHERE entry > 80");
  closed.options.accepts_damage = true;
  auto store = Store::open(closed.options);
  ASSERT_TRUE(store) << error_of(store);
  ASSERT_EQ((*store)->end().entry, 80U);
  store->reset();
  auto connection = SqliteConnection::open(closed.options.file, "", Access::read_write);
  ASSERT_TRUE(connection) << error_of(connection);
  auto rows = connection->prepare("SELECT count(*), max(entry) FROM log_by_job");
  ASSERT_TRUE(rows) << error_of(rows);
  ASSERT_EQ(rows->step(), SqliteStatement::Step::row);
  EXPECT_GT(rows->integer(0), 0);
  EXPECT_LE(rows->integer(1), 80);
}

TEST(StoreDamage, ADeletedWriteAheadLogIsNoticed) {
  const TemporaryFolder folder;
  const TemporaryFolder elsewhere;
  RandomWorld world{21};
  Core core = world.new_core();
  const auto store = Store::open(options_in(folder)).value();
  ASSERT_TRUE(store->commit(next_batch(world, core, 10)));
  // As after a kill: the store was not closed.
  for (const char* part : {"", "-wal", ".lock"})
    std::filesystem::copy_file(options_in(folder).file.string() + part,
                               elsewhere.path() / (std::string{"weir.db"} + part));
  ASSERT_EQ(error_of(Store::open(options_in(elsewhere))), "");
  std::filesystem::copy_file(options_in(folder).file, elsewhere.path() / "weir.db",
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::remove(elsewhere.path() / "weir.db-wal");
  EXPECT_THAT(error_of(Store::open(options_in(elsewhere))), HasSubstr("without entries 1 to 10"));
}

TEST(StoreDamage, WhatASnapshotCoversCanBeAccepted) {
  ClosedStore closed;
  closed.change("DELETE FROM log WHERE entry BETWEEN 20 AND 29");
  closed.options.accepts_damage = true;
  auto store = Store::open(closed.options);
  ASSERT_TRUE(store) << error_of(store);
  const auto recovery = (*store)->recover(closed.world.initial_state());
  ASSERT_TRUE(recovery) << error_of(recovery);
  EXPECT_EQ(difference(recovery->state, closed.core.state()), "");
  ASSERT_EQ(recovery->damage.size(), 1U);
  EXPECT_EQ(recovery->damage[0].first_entry, 20U);
  EXPECT_EQ(recovery->damage[0].last_entry, 29U);
  ASSERT_TRUE((*store)->commit(next_batch(closed.world, closed.core, 5)));
  EXPECT_EQ((*store)->end().entry, 95U);
}

TEST(StoreDamage, WhatNoSnapshotCoversCannot) {
  ClosedStore closed;
  closed.change("DELETE FROM log WHERE entry = 61");
  closed.options.accepts_damage = true;
  EXPECT_THAT(closed.problem(), HasSubstr("without entry 61"));
}

TEST(StoreDamage, AChangedDocumentIsNamed) {
  const ClosedStore closed;
  closed.change("UPDATE documents SET document = x'41' WHERE id = 2");
  EXPECT_THAT(closed.problem(), HasSubstr("the document of job 2"));
  EXPECT_FALSE(StoreReader::open(closed.options).value()->job_document(JobId{2}));
}

TEST(StoreDamage, AStoreOfANewerWeirIsRefused) {
  const ClosedStore closed;
  closed.change("PRAGMA user_version = 99");
  EXPECT_THAT(closed.problem(), HasSubstr("use the newer weir that wrote it"));
  EXPECT_FALSE(StoreReader::open(closed.options));
}

// Whatever bytes are changed or cut off: either the log is as it was, or the start is refused.
TEST(StoreDamage, RandomDamageIsNeverSilent) {
  const ClosedStore closed;
  std::ifstream in{closed.options.file, std::ios::binary};
  const std::string whole{std::istreambuf_iterator<char>{in}, {}};
  SeededRng rng{77};
  int refused = 0;
  for (int i = 0; i < 250 * testing::times_longer(); ++i) {
    std::string bytes = whole;
    const std::uint64_t kind = rng.below(4);
    if (kind == 0) {
      bytes.resize(rng.below(bytes.size()));
    } else if (kind == 1) {
      const std::size_t page = rng.below(bytes.size() / 4096) * 4096;
      for (std::size_t k = 0; k < 4096; ++k)
        bytes[page + k] = rng.below(2) == 0 ? '\0' : static_cast<char>(rng.next());
    } else {
      const std::size_t at = rng.below(bytes.size());
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << rng.below(8)));
    }
    const TemporaryFolder folder;
    const StoreOptions options = options_in(folder);
    folder.write("weir.db", bytes);
    std::filesystem::copy_file(closed.options.file.string() + ".lock",
                               folder.path() / "weir.db.lock");
    auto store = Store::open(options);
    if (!store) {
      ++refused;
      EXPECT_NE(error_of(store), "");
      continue;
    }
    EXPECT_EQ((*store)->end().entry, static_cast<std::uint64_t>(kEntries)) << i;
    const auto recovery = (*store)->recover(closed.world.initial_state());
    if (!recovery) continue;
    ASSERT_EQ(difference(recovery->state, closed.core.state()), "") << i;
    const auto lines = StoreReader::open(options).value()->entries(0, 10 * kEntries);
    ASSERT_TRUE(lines) << error_of(lines);
    ASSERT_EQ(lines->size(), closed.lines.size());
    for (std::size_t k = 0; k < lines->size(); ++k) {
      ASSERT_EQ((*lines)[k].event_line, closed.lines[k].event_line) << i;
      ASSERT_EQ((*lines)[k].record_lines, closed.lines[k].record_lines) << i;
    }
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace weir::control
