// SPDX-License-Identifier: Apache-2.0
#include "control/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "control/faulty_vfs.h"
#include "control/sqlite.h"
#include "control/store_testing.h"
#include "formats/log_codec.h"

namespace weir::control {
namespace {

using formats::TemporaryFolder;
using schedule::Core;
using schedule::State;
using testing::add_to;
using testing::difference;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::next_batch;
using testing::options_in;
using testing::RandomWorld;

std::unique_ptr<Store> opened(const StoreOptions& options) {
  auto store = Store::open(options);
  EXPECT_TRUE(store) << error_of(store);
  return store ? std::move(*store) : nullptr;
}

std::unique_ptr<StoreReader> reader_of(const StoreOptions& options) {
  auto reader = StoreReader::open(options);
  EXPECT_TRUE(reader) << error_of(reader);
  return reader ? std::move(*reader) : nullptr;
}

TEST(Store, ANewOneIsEmptyAndPrivate) {
  const TemporaryFolder folder;
  const auto store = opened(options_in(folder));
  EXPECT_EQ(store->end().entry, 0U);
  EXPECT_EQ(store->end().record, 0U);
  RandomWorld world{1};
  const auto recovery = store->recover(world.initial_state());
  ASSERT_TRUE(recovery) << error_of(recovery);
  EXPECT_EQ(recovery->records_folded, 0U);
  EXPECT_FALSE(recovery->clock);
  const auto permissions = std::filesystem::status(options_in(folder).file).permissions();
  EXPECT_EQ(permissions & (std::filesystem::perms::group_all | std::filesystem::perms::others_all),
            std::filesystem::perms::none);
}

TEST(Store, SettingsAreKept) {
  const TemporaryFolder folder;
  {
    const auto store = opened(options_in(folder));
    EXPECT_EQ(store->setting("cluster"), std::nullopt);
    ASSERT_TRUE(store->set_setting("cluster", "2x8xA100"));
    ASSERT_TRUE(store->set_setting("cluster", "3x8xA100"));
  }
  EXPECT_EQ(opened(options_in(folder))->setting("cluster"), "3x8xA100");
}

// The heart of it: a core that never stopped, and one rebuilt from the store at random moments (from
// the log alone, or from a snapshot and the log after it), decide the same to the last record.
TEST(Store, ARestartIsNotNoticed) {
  const int worlds = 40 * testing::times_longer();
  const FaultyVfs disk{"quick"};  // does not wait for a real disk
  for (int seed = 0; seed < worlds; ++seed) {
    const TemporaryFolder folder;
    const StoreOptions options = options_in(folder, "quick");
    RandomWorld world{static_cast<std::uint64_t>(seed), seed % 5 == 4 ? "edf" : "weir"};
    SeededRng rng{static_cast<std::uint64_t>(seed) + 1000};
    Core never_stopped = world.new_core();
    auto core = std::make_unique<Core>(world.new_core());
    auto store = opened(options);
    for (int step = 0; step < 12; ++step) {
      Batch batch;
      const auto decisions = 1 + rng.below(12);
      for (std::uint64_t i = 0; i < decisions; ++i) {
        const Event event = world.next_event(never_stopped);
        const auto records = never_stopped.handle(event);
        ASSERT_EQ(core->handle(event), records) << "seed " << seed << " step " << step;
        add_to(batch, event, records);
      }
      ASSERT_TRUE(store->commit(batch));
      if (rng.below(3) == 0) {
        ASSERT_TRUE(store->save_snapshot(store->end().entry, write_snapshot(core->state())));
      }
      if (rng.below(2) == 0) continue;
      const LogPosition end = store->end();
      store.reset();
      store = opened(options);
      auto recovery = store->recover(world.initial_state());
      ASSERT_TRUE(recovery) << error_of(recovery);
      ASSERT_EQ(recovery->end.entry, end.entry);
      ASSERT_EQ(recovery->end.record, end.record);
      ASSERT_EQ(difference(recovery->state, never_stopped.state()), "") << "seed " << seed;
      core = std::make_unique<Core>(world.config(), std::move(recovery->state));
    }
  }
}

TEST(Store, TheLogReadsBackAsItWasWritten) {
  const TemporaryFolder folder;
  RandomWorld world{5};
  Core core = world.new_core();
  const auto store = opened(options_in(folder));
  const auto reader = reader_of(options_in(folder));
  std::vector<Decision> all;
  for (int i = 0; i < 20; ++i) {
    const Batch batch = next_batch(world, core, 5);
    all.insert(all.end(), batch.decisions.begin(), batch.decisions.end());
    ASSERT_TRUE(store->commit(batch));
  }
  std::uint64_t entry = 0;
  std::uint64_t record = 0;
  while (entry < all.size()) {
    const auto page = reader->entries(entry, 7);
    ASSERT_TRUE(page) << error_of(page);
    ASSERT_FALSE(page->empty());
    for (const RawEntry& raw : *page) {
      const Decision& decision = all[entry];
      ASSERT_EQ(raw.entry, ++entry);
      const auto event = formats::read_event_line(raw.event_line);
      ASSERT_TRUE(event) << error_of(event);
      EXPECT_EQ(event->at, decision.event.at);
      EXPECT_TRUE(event->what == decision.event.what);
      ASSERT_EQ(raw.record_lines.size(), decision.records.size());
      for (std::size_t i = 0; i < decision.records.size(); ++i) {
        const auto read = formats::read_record_line(raw.record_lines[i]);
        ASSERT_TRUE(read) << error_of(read);
        EXPECT_EQ(read->record, decision.records[i]);
        EXPECT_EQ(*reader->entry_after_record(record), raw.entry) << record;
        ++record;
      }
    }
  }
  EXPECT_EQ(store->end().record, record);
  EXPECT_EQ(*reader->entry_after_record(record), std::nullopt);
  EXPECT_TRUE(reader->entries(entry, 7)->empty());
}

TEST(Store, EntriesAreFoundByJob) {
  const TemporaryFolder folder;
  RandomWorld world{6};
  Core core = world.new_core();
  const auto store = opened(options_in(folder));
  Batch batch = next_batch(world, core, 80);
  ASSERT_TRUE(store->commit(batch));
  const auto reader = reader_of(options_in(folder));
  const std::vector<RawEntry> all = reader->entries(0, 1000).value();
  for (const NewJob& job : batch.new_jobs) {
    const std::string mention = "\"job\":" + std::to_string(job.job.value);
    std::vector<std::uint64_t> expected;
    for (const RawEntry& raw : all) {
      for (const std::string& line : raw.record_lines) {
        const std::size_t at = line.find(mention);
        if (at == std::string::npos || std::isdigit(line[at + mention.size()]) != 0) continue;
        if (expected.empty() || expected.back() != raw.entry) expected.push_back(raw.entry);
      }
    }
    std::vector<std::uint64_t> found;
    const std::vector<RawEntry> of_job = reader->entries_of(job.job, 1000).value();
    for (const RawEntry& raw : of_job) found.push_back(raw.entry);
    EXPECT_EQ(found, expected) << job.job.value;
  }
}

// A few jobs by hand.
Batch jobs_batch(std::uint64_t first, std::uint64_t last, const std::string& phase) {
  Batch batch;
  for (std::uint64_t id = first; id <= last; ++id) {
    const std::string number = std::to_string(id);
    batch.new_jobs.push_back({JobId{id}, id % 2 == 0 ? "even" : "odd", "document " + number,
                              "key " + number, "digest " + number});
    batch.views.push_back({JobId{id}, phase, Time{Duration{1}}, "view " + number});
  }
  return batch;
}

TEST(Store, JobsAreListedInPages) {
  const TemporaryFolder folder;
  const auto store = opened(options_in(folder));
  ASSERT_TRUE(store->commit(jobs_batch(1, 10, "running")));
  ASSERT_TRUE(store->commit(jobs_batch(11, 15, "finished")));
  const auto reader = reader_of(options_in(folder));
  const auto page = [&](JobQuery query) { return reader->jobs(query).value(); };

  auto first = page({.limit = 3});
  EXPECT_THAT(first.views, ElementsAre("view 1", "view 2", "view 3"));
  EXPECT_TRUE(first.has_more);
  EXPECT_EQ(first.last, 3U);
  EXPECT_THAT(page({.after = 3, .limit = 2}).views, ElementsAre("view 4", "view 5"));
  const auto last = page({.after = 13, .limit = 2});
  EXPECT_THAT(last.views, ElementsAre("view 14", "view 15"));
  EXPECT_FALSE(last.has_more);
  EXPECT_TRUE(page({.after = 15}).views.empty());

  EXPECT_THAT(page({.limit = 2, .newest_first = true}).views, ElementsAre("view 15", "view 14"));
  EXPECT_THAT(page({.after = 14, .limit = 2, .newest_first = true}).views,
              ElementsAre("view 13", "view 12"));
  EXPECT_THAT(page({.limit = 2, .phase = "finished"}).views, ElementsAre("view 11", "view 12"));
  EXPECT_THAT(page({.after = 9, .limit = 2, .phase = "running"}).views, ElementsAre("view 10"));
  EXPECT_THAT(page({.limit = 2, .name = "even"}).views, ElementsAre("view 2", "view 4"));
  EXPECT_THAT(page({.limit = 9, .phase = "finished", .name = "even", .newest_first = true}).views,
              ElementsAre("view 14", "view 12"));
  EXPECT_TRUE(page({.phase = "unheard of"}).views.empty());
}

TEST(Store, AJobIsFoundByIdNameAndKey) {
  const TemporaryFolder folder;
  const auto store = opened(options_in(folder));
  ASSERT_TRUE(store->commit(jobs_batch(1, 5, "running")));
  const auto reader = reader_of(options_in(folder));
  EXPECT_EQ(*reader->job_view(JobId{2}), "view 2");
  EXPECT_EQ(*reader->job_document(JobId{2}), "document 2");
  EXPECT_EQ(*reader->job_view(JobId{6}), std::nullopt);
  EXPECT_EQ(*reader->job_document(JobId{6}), std::nullopt);
  EXPECT_EQ(*reader->job_named("odd"), JobId{5});
  EXPECT_EQ(*reader->job_named("other"), std::nullopt);
  const auto key = reader->find_key("key 3").value();
  ASSERT_TRUE(key);
  EXPECT_EQ(key->job, JobId{3});
  EXPECT_EQ(key->request_digest, "digest 3");
  EXPECT_EQ(reader->find_key("key 9").value(), std::nullopt);
}

TEST(Store, TheLatestViewCounts) {
  const TemporaryFolder folder;
  const auto store = opened(options_in(folder));
  Batch batch = jobs_batch(1, 2, "accepted");
  batch.views.push_back({JobId{1}, "running", Time{}, "newer"});
  ASSERT_TRUE(store->commit(batch));
  const auto reader = reader_of(options_in(folder));
  EXPECT_EQ(*reader->job_view(JobId{1}), "newer");
  Batch later;
  later.views.push_back({JobId{1}, "running", Time{}, "newest"});
  later.views.push_back({JobId{2}, "finished", Time{}, "done"});
  ASSERT_TRUE(store->commit(later));
  EXPECT_EQ(*reader->job_view(JobId{1}), "newest");
  EXPECT_THAT(reader->jobs({.phase = "finished"})->views, ElementsAre("done"));
  EXPECT_THAT(*reader->count_by_phase(),
              ElementsAre(std::pair{"finished", 1}, std::pair{"running", 1}));
}

TEST(Store, AnErrorInABatchUndoesAllOfIt) {
  const TemporaryFolder folder;
  const auto store = opened(options_in(folder));
  RandomWorld world{1};
  ASSERT_TRUE(store->commit(jobs_batch(1, 1, "running")));
  Batch batch = jobs_batch(2, 3, "running");
  batch.new_jobs[1].job = JobId{1};
  EXPECT_FALSE(store->commit(batch));
  EXPECT_EQ(*reader_of(options_in(folder))->job_view(JobId{2}), std::nullopt);
  EXPECT_THAT(error_of(store->commit(jobs_batch(2, 2, "running"))), HasSubstr("recover() first"));
  ASSERT_TRUE(store->recover(world.initial_state()));
  EXPECT_TRUE(store->commit(jobs_batch(2, 2, "running")));
}

TEST(Store, KeysAreFoundInEveryBucket) {
  const TemporaryFolder folder;
  const auto store = opened(options_in(folder));
  ASSERT_TRUE(store->commit(jobs_batch(1, 20'000, "running")));
  const auto reader = reader_of(options_in(folder));
  for (std::uint64_t id = 1; id <= 20'000; id += 499) {
    const auto key = reader->find_key("key " + std::to_string(id)).value();
    ASSERT_TRUE(key) << id;
    EXPECT_EQ(key->job, JobId{id});
  }
  EXPECT_EQ(reader->find_key("key 20001").value(), std::nullopt);
}

TEST(Store, TheClockGoesOn) {
  const TemporaryFolder folder;
  RandomWorld world{1};
  {
    Batch batch;
    batch.clock = ClockMark{"boot-7", 123, Time{Duration{456}}, Duration{-789}};
    ASSERT_TRUE(opened(options_in(folder))->commit(batch));
  }
  const auto recovery = opened(options_in(folder))->recover(world.initial_state());
  ASSERT_TRUE(recovery && recovery->clock);
  EXPECT_EQ(recovery->clock->boot_id, "boot-7");
  EXPECT_EQ(recovery->clock->boottime_ns, 123);
  EXPECT_EQ(recovery->clock->now, Time{Duration{456}});
  EXPECT_EQ(recovery->clock->wall_ahead, Duration{-789});
}

// A process that is killed while it starts another one leaves its lock to that one, for a moment.
TEST(Store, WaitsForTheLockOfAProcessThatIsGone) {
  const TemporaryFolder folder;
  { const auto made = opened(options_in(folder)); }
  const std::string lock_file = options_in(folder).file.string() + ".lock";
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(gone, nullptr, 0), gone);
  const int lock = ::open(lock_file.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  const std::string line = fmt::format("pid {:<40}", gone);
  ASSERT_EQ(::pwrite(lock, line.data(), 40, 0), 40);
  std::thread heir{[lock] {
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
    ::close(lock);
  }};
  EXPECT_TRUE(Store::open(options_in(folder)));
  heir.join();
}

TEST(Store, ASecondWriterIsRefusedAndToldWho) {
  const TemporaryFolder folder;
  const auto store = opened(options_in(folder));
  const auto second = Store::open(options_in(folder));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::unavailable);
  EXPECT_THAT(error_of(second), HasSubstr("held by process " + std::to_string(::getpid())));
}

TEST(Store, AnotherProgramsFileIsRefusedAndLeftAlone) {
  const TemporaryFolder folder;
  const StoreOptions options = options_in(folder);
  folder.write("weir.db", "this is no database at all, it is a letter to somebody");
  EXPECT_THAT(error_of(Store::open(options)), HasSubstr("weir.db"));
  EXPECT_EQ(std::filesystem::file_size(options.file), 54U);
}

TEST(Store, AFolderThatIsNotThereIsNamed) {
  const TemporaryFolder folder;
  StoreOptions options = options_in(folder);
  options.file = folder.path() / "nowhere" / "weir.db";
  const auto store = Store::open(options);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::unavailable);
  EXPECT_THAT(error_of(store), HasSubstr("nowhere"));
}

TEST(Store, ADamagedSnapshotIsSaidAndTheOneBeforeIsUsed) {
  const TemporaryFolder folder;
  RandomWorld world{9};
  Core core = world.new_core();
  const auto store = opened(options_in(folder));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(store->commit(next_batch(world, core, 20)));
    ASSERT_TRUE(store->save_snapshot(store->end().entry, write_snapshot(core.state())));
  }
  {
    auto connection = SqliteConnection::open(options_in(folder).file, "", Access::read_write);
    ASSERT_TRUE(
        connection->execute("UPDATE snapshots SET bytes = zeroblob(100) WHERE entry = 60", "t"));
  }
  const auto recovery = store->recover(world.initial_state());
  ASSERT_TRUE(recovery) << error_of(recovery);
  EXPECT_EQ(recovery->snapshot_entry, 40U);
  ASSERT_EQ(recovery->damage.size(), 1U);
  EXPECT_THAT(recovery->damage[0].what, HasSubstr("snapshot at entry 60"));
  EXPECT_EQ(difference(recovery->state, core.state()), "");
}

TEST(Store, ASnapshotMayBeGivenLater) {
  const TemporaryFolder folder;
  RandomWorld world{10};
  Core core = world.new_core();
  const auto store = opened(options_in(folder));
  ASSERT_TRUE(store->commit(next_batch(world, core, 30)));
  const std::string snapshot = write_snapshot(core.state());
  ASSERT_TRUE(store->commit(next_batch(world, core, 30)));
  ASSERT_TRUE(store->save_snapshot(30, snapshot));
  const auto recovery = store->recover(world.initial_state());
  ASSERT_TRUE(recovery) << error_of(recovery);
  EXPECT_EQ(recovery->snapshot_entry, 30U);
  EXPECT_EQ(difference(recovery->state, core.state()), "");
  EXPECT_FALSE(store->save_snapshot(61, snapshot));
  EXPECT_FALSE(store->save_snapshot(60, ""));
}

TEST(Store, RecordsOfAnotherClusterAreRefused) {
  const TemporaryFolder folder;
  RandomWorld world{10};
  Core core = world.new_core();
  const auto store = opened(options_in(folder));
  ASSERT_TRUE(store->commit(next_batch(world, core, 200)));
  Cluster none;
  EXPECT_THAT(error_of(store->recover(schedule::initial_state_for_training(none))),
              HasSubstr("does not fit"));
}

TEST(Store, ABackupMadeWhileCommitsGoOnIsWhole) {
  const TemporaryFolder folder;
  RandomWorld world{11};
  Core core = world.new_core();
  const auto store = opened(options_in(folder));
  ASSERT_TRUE(store->commit(next_batch(world, core, 50)));
  std::atomic<bool> is_done{false};
  std::thread other{[&] {
    for (int i = 0; i < 3; ++i) {
      const auto made = store->backup(folder.path() / ("backup-" + std::to_string(i)));
      EXPECT_TRUE(made) << error_of(made);
    }
    is_done = true;
  }};
  do ASSERT_TRUE(store->commit(next_batch(world, core, 3)));
  while (!is_done);
  other.join();

  const auto originals = reader_of(options_in(folder));
  for (int i = 0; i < 3; ++i) {
    StoreOptions options = options_in(folder);
    options.file = folder.path() / ("backup-" + std::to_string(i));
    const auto copy = opened(options);
    const std::uint64_t end = copy->end().entry;
    EXPECT_GE(end, 50U);
    const auto recovery = copy->recover(world.initial_state());
    ASSERT_TRUE(recovery) << error_of(recovery);
    const auto lines = originals->entries(0, end).value();
    const auto copied = reader_of(options)->entries(0, end + 1).value();
    ASSERT_EQ(lines.size(), copied.size());
    for (std::size_t k = 0; k < lines.size(); ++k)
      EXPECT_EQ(lines[k].record_lines, copied[k].record_lines);
  }
  EXPECT_FALSE(store->backup(folder.path() / "backup-0"));
  EXPECT_FALSE(store->backup(folder.path() / "nowhere" / "backup"));
}

TEST(Store, ARestoredBackupIsTakenAsItIs) {
  const TemporaryFolder folder;
  RandomWorld world{11};
  Core core = world.new_core();
  const StoreOptions options = options_in(folder);
  {
    const auto store = opened(options);
    ASSERT_TRUE(store->commit(next_batch(world, core, 10)));
    ASSERT_TRUE(store->backup(folder.path() / "backup"));
    ASSERT_TRUE(store->commit(next_batch(world, core, 10)));
  }
  std::filesystem::copy_file(folder.path() / "backup", options.file,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(opened(options)->end().entry, 10U);
}

TEST(Store, RetentionForgetsTheBeginningInSteps) {
  const TemporaryFolder folder;
  RandomWorld world{12};
  Core core = world.new_core();
  const StoreOptions options = options_in(folder);
  auto store = opened(options);
  ASSERT_TRUE(store->commit(next_batch(world, core, 100)));
  const Time then = world.now();
  // Nothing without a snapshot.
  EXPECT_THAT(store->forget_before(Time::max(), 1000).value(), ElementsAre());
  ASSERT_TRUE(store->save_snapshot(store->end().entry, write_snapshot(core.state())));
  ASSERT_TRUE(store->commit(next_batch(world, core, 100)));
  ASSERT_TRUE(store->save_snapshot(store->end().entry, write_snapshot(core.state())));
  std::vector<JobId> forgotten;
  const auto reader = reader_of(options);
  for (int i = 0; i < 100; ++i) {
    const auto step = store->forget_before(then, 7);
    ASSERT_TRUE(step) << error_of(step);
    forgotten.insert(forgotten.end(), step->begin(), step->end());
  }
  ASSERT_FALSE(forgotten.empty());
  for (const JobId job : forgotten) {
    EXPECT_EQ(*reader->job_view(job), std::nullopt);
    EXPECT_EQ(*reader->job_document(job), std::nullopt);
    EXPECT_EQ(reader->find_key("key-" + std::to_string(job.value)).value(), std::nullopt);
    EXPECT_TRUE(reader->entries_of(job, 10)->empty());
    EXPECT_EQ(core.state().training.job(job).spec, nullptr) << "only jobs that are over";
  }
  for (const JobId job : core.state().training.pools.front().active)
    EXPECT_NE(*reader->job_view(job), std::nullopt);
  const auto rest = reader->entries(0, 1000).value();
  ASSERT_FALSE(rest.empty());
  EXPECT_GT(rest.front().entry, 50U);
  EXPECT_LE(rest.front().entry, 101U);
  EXPECT_EQ(*reader->entry_after_record(0), rest.front().entry);
  // It opens as a whole log that begins later.
  store.reset();
  store = opened(options);
  const auto recovery = store->recover(world.initial_state());
  ASSERT_TRUE(recovery) << error_of(recovery);
  EXPECT_EQ(difference(recovery->state, core.state()), "");
  // Everything may go that both snapshots cover.
  ASSERT_TRUE(store->forget_before(Time::max(), 1000));
  EXPECT_EQ(reader->entries(0, 1000)->front().entry, 101U);
  ASSERT_TRUE(store->commit(next_batch(world, core, 5)));
  store.reset();
  EXPECT_EQ(opened(options)->end().entry, 205U);
}

TEST(Store, ReadersSeeWholeBatchesWhileTheWriterGoesOn) {
  const TemporaryFolder folder;
  const StoreOptions options = options_in(folder);
  const auto store = opened(options);
  std::atomic<bool> stops{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      const auto reader = reader_of(options);
      while (!stops) {
        const auto page = reader->jobs({.limit = 100000});
        ASSERT_TRUE(page) << error_of(page);
        ASSERT_EQ(page->views.size() % 8, 0U);
      }
    });
  }
  for (std::uint64_t i = 0; i < 40; ++i)
    ASSERT_TRUE(store->commit(jobs_batch(i * 8 + 1, i * 8 + 8, "running")));
  stops = true;
  for (std::thread& thread : readers) thread.join();
}

TEST(Store, TheWriteAheadLogDoesNotGrowForEver) {
  const TemporaryFolder folder;
  const StoreOptions options = options_in(folder);
  const auto store = opened(options);
  ASSERT_TRUE(store->commit(jobs_batch(1, 1, "running")));
  std::uintmax_t largest = 0;
  const std::filesystem::path wal = options.file.string() + "-wal";
  for (int i = 0; i < 60; ++i) {
    Batch batch;
    batch.views.push_back(
        {JobId{1}, "running", Time{}, std::string(2'000'000, static_cast<char>('a' + i % 26))});
    ASSERT_TRUE(store->commit(batch));
    largest = std::max(largest, std::filesystem::file_size(wal));
  }
  EXPECT_LT(largest, 90'000'000U);
  EXPECT_GT(store->size_bytes(), 2'000'000U);
}

}  // namespace
}  // namespace weir::control
