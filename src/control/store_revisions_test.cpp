// SPDX-License-Identifier: Apache-2.0
//
// Which views have changed, and what is counted as they are written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "control/store.h"
#include "control/store_testing.h"

namespace weir::control {
namespace {

using formats::TemporaryFolder;
using ::testing::ElementsAre;
using testing::error_of;
using testing::options_in;
using ::testing::Pair;

JobView view(std::uint64_t id, const std::string& phase, const std::string& json) {
  return {JobId{id}, phase, Time{}, json};
}

Batch new_jobs(std::uint64_t first, std::uint64_t last, const std::string& phase) {
  Batch batch;
  for (std::uint64_t id = first; id <= last; ++id) {
    batch.new_jobs.push_back({JobId{id}, "job", "{}", {}, {}});
    batch.views.push_back(view(id, phase, "new " + std::to_string(id)));
  }
  return batch;
}

Batch changed(std::vector<JobView> views) {
  Batch batch;
  batch.views = std::move(views);
  return batch;
}

class StoreRevisions : public ::testing::Test {
 protected:
  StoreRevisions() { open(); }

  void open() {
    reader.reset();
    store.reset();
    auto made = Store::open(options);
    ASSERT_TRUE(made) << error_of(made);
    store = std::move(*made);
    reader = StoreReader::open(options).value();
  }
  StoreReader::Page changes(std::uint64_t after, std::size_t limit = 100) {
    JobQuery query;
    query.changed_after = after;
    query.limit = limit;
    return reader->jobs(query).value();
  }
  // What a client does that has seen everything up to `after`; moves it on.
  std::vector<std::string> hear(std::uint64_t& after, std::size_t limit) {
    std::vector<std::string> views;
    while (true) {
      const StoreReader::Page page = changes(after, limit);
      views.insert(views.end(), page.views.begin(), page.views.end());
      after = page.has_more ? page.last : page.revision;
      if (!page.has_more) return views;
    }
  }

  TemporaryFolder folder;
  StoreOptions options = options_in(folder);
  std::unique_ptr<Store> store;
  std::unique_ptr<StoreReader> reader;
};

TEST_F(StoreRevisions, AnEmptyStoreHasNone) {
  EXPECT_EQ(changes(0).revision, 0U);
  EXPECT_TRUE(changes(0).views.empty());
  EXPECT_EQ(store->totals(), StoreTotals{});
}

TEST_F(StoreRevisions, ChangesComeInTheOrderInWhichTheyWereMade) {
  ASSERT_TRUE(store->commit(new_jobs(1, 4, "queued")));
  EXPECT_THAT(changes(0).views, ElementsAre("new 1", "new 2", "new 3", "new 4"));
  const std::uint64_t before = changes(0).revision;
  ASSERT_TRUE(store->commit(changed({view(3, "running", "3 runs"), view(1, "queued", "1 again")})));
  EXPECT_THAT(changes(before).views, ElementsAre("3 runs", "1 again"));
  EXPECT_THAT(changes(0).views, ElementsAre("new 2", "new 4", "3 runs", "1 again"));
  EXPECT_TRUE(changes(changes(0).revision).views.empty());
}

TEST_F(StoreRevisions, EveryPageSaysHowFarItIs) {
  ASSERT_TRUE(store->commit(new_jobs(1, 10, "queued")));
  const StoreReader::Page first = reader->jobs({.limit = 3}).value();
  EXPECT_EQ(first.revision, 10U);
  ASSERT_TRUE(store->commit(changed({view(2, "running", "2 runs")})));
  EXPECT_EQ(reader->jobs({.after = first.last, .limit = 3})->revision, 11U);
  EXPECT_THAT(changes(first.revision).views, ElementsAre("2 runs"))
      << "what changed after the first page, also behind the pages that were read";
}

// All in one batch, and so at the same moment: none is lost between pages.
TEST_F(StoreRevisions, TenThousandChangesInOneBatchComeInPages) {
  constexpr std::uint64_t kJobs = 10'000;
  ASSERT_TRUE(store->commit(new_jobs(1, kJobs, "queued")));
  std::uint64_t after = changes(0, 1).revision;
  Batch batch;
  for (std::uint64_t id = kJobs; id >= 1; --id)
    batch.views.push_back(view(id, id % 2 == 0 ? "running" : "queued", std::to_string(id)));
  ASSERT_TRUE(store->commit(batch));
  const std::vector<std::string> heard = hear(after, 999);
  EXPECT_EQ(heard.size(), kJobs);
  EXPECT_EQ(std::set<std::string>(heard.begin(), heard.end()).size(), kJobs);
  EXPECT_TRUE(hear(after, 999).empty());
}

// A client that hears of changes has at any time what a client that reads everything has.
TEST_F(StoreRevisions, WhoHearsOfChangesMissesNothing) {
  SeededRng rng{7};
  std::map<std::string, std::string> known;  // the number before the space: the job
  std::uint64_t after = 0;
  std::uint64_t jobs = 0;
  for (int round = 0; round < 60; ++round) {
    Batch batch = new_jobs(jobs + 1, jobs + rng.below(5), "queued");
    jobs += batch.new_jobs.size();
    for (JobView& each : batch.views)
      each.json = std::to_string(each.job.value) + " " + std::to_string(round);
    for (std::uint64_t i = rng.below(8); i > 0 && jobs > 0; --i) {
      const std::uint64_t id = 1 + rng.below(jobs);
      batch.views.push_back(
          view(id, rng.below(2) == 0 ? "queued" : "running",
               std::to_string(id) + " " + std::to_string(round) + "." + std::to_string(i)));
    }
    ASSERT_TRUE(store->commit(batch));
    if (round % 10 == 9) open();
    for (const std::string& json : hear(after, 1 + rng.below(4)))
      known[json.substr(0, json.find(' '))] = json;
    const StoreReader::Page whole = reader->jobs({.limit = 10'000}).value();
    ASSERT_EQ(known.size(), whole.views.size()) << round;
    for (const std::string& json : whole.views)
      ASSERT_EQ(known[json.substr(0, json.find(' '))], json) << round;
  }
}

TEST_F(StoreRevisions, GoOnAfterARestart) {
  ASSERT_TRUE(store->commit(new_jobs(1, 3, "queued")));
  ASSERT_TRUE(store->commit(changed({view(1, "running", "1 runs")})));
  open();
  EXPECT_EQ(store->totals().revision, 4U);
  ASSERT_TRUE(store->commit(changed({view(2, "running", "2 runs")})));
  EXPECT_THAT(changes(4).views, ElementsAre("2 runs"));
}

TEST_F(StoreRevisions, AFailedBatchUsesNone) {
  ASSERT_TRUE(store->commit(new_jobs(1, 3, "queued")));
  const StoreTotals before = store->totals();
  Batch bad = changed({view(1, "running", "1 runs")});
  bad.promises.kept = 1;
  bad.new_jobs.push_back({JobId{1}, "again", "{}", {}, {}});  // its number is used
  ASSERT_FALSE(store->commit(bad));
  EXPECT_EQ(store->totals(), before);
  ASSERT_TRUE(store->recover(schedule::initial_state_for_training(testing::small_cluster(1, 1))));
  EXPECT_EQ(store->totals(), before);
  ASSERT_TRUE(store->commit(changed({view(1, "running", "1 runs")})));
  EXPECT_EQ(store->totals().revision, before.revision + 1);
}

TEST_F(StoreRevisions, JobsAreCountedByPhase) {
  ASSERT_TRUE(store->commit(new_jobs(1, 5, "queued")));
  Batch batch = changed({view(1, "running", "a"), view(2, "running", "b"), view(2, "paused", "c"),
                         view(99, "running", "nobody")});
  ASSERT_TRUE(store->commit(batch));
  EXPECT_THAT(store->totals().by_phase,
              ElementsAre(Pair("paused", 1), Pair("queued", 3), Pair("running", 1)));
  EXPECT_EQ(store->totals().by_phase, *reader->count_by_phase());
  open();
  EXPECT_EQ(store->totals().by_phase, *reader->count_by_phase());
}

TEST_F(StoreRevisions, PromisesAreCountedSinceTheStoreWasMade) {
  Batch batch = new_jobs(1, 3, "queued");
  batch.promises = {2, 1, 4};
  ASSERT_TRUE(store->commit(batch));
  open();
  Batch more;
  more.promises.refused = 1;
  ASSERT_TRUE(store->commit(more));
  EXPECT_EQ(store->totals().promises, (PromiseCounts{2, 1, 5}));
  open();
  EXPECT_EQ(store->totals().promises, (PromiseCounts{2, 1, 5}));
}

// Jobs that are forgotten are not counted any more; what became of their promises is, and no revision
// is used twice.
TEST_F(StoreRevisions, ForgettingLeavesWhatIsCounted) {
  testing::RandomWorld world{3};
  schedule::Core core = world.new_core();
  std::uint64_t revision = 0;
  for (int i = 0; i < 40; ++i) {
    Batch batch = testing::next_batch(world, core, 5);
    batch.promises.kept = 1;
    for (const JobView& each : batch.views)
      batch.progress.push_back({each.job, world.now(), 1, 2, 3.0, std::nullopt});
    ASSERT_TRUE(store->commit(batch));
    if (i % 10 == 9) {
      ASSERT_TRUE(store->save_snapshot(store->end().entry, write_snapshot(core.state())));
    }
  }
  revision = store->totals().revision;
  const auto gone = store->forget_before(Time::max(), 100'000);
  ASSERT_TRUE(gone) << error_of(gone);
  ASSERT_FALSE(gone->empty());
  for (const JobId job : *gone) EXPECT_TRUE(reader->progress(job)->empty());
  EXPECT_EQ(store->totals().by_phase, *reader->count_by_phase());
  EXPECT_EQ(store->totals().promises.kept, 40);
  open();
  EXPECT_EQ(store->totals().revision, revision);
  EXPECT_EQ(store->totals().promises.kept, 40);
  EXPECT_EQ(store->totals().by_phase, *reader->count_by_phase());
}

}  // namespace
}  // namespace weir::control
