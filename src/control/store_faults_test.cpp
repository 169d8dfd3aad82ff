// SPDX-License-Identifier: Apache-2.0
//
// The store on a disk on which power fails, writes fail, or there is no room.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "control/faulty_vfs.h"
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

// A store under load and what its user knows: which batches were acknowledged.
class Torture {
 public:
  Torture(std::uint64_t seed, const StoreOptions& options)
      : rng_{seed}, world_{seed}, options_{options}, acknowledged_{world_.initial_state()} {
    options_.checkpoints_in_background = false;  // so that a seed says all
  }

  SeededRng& rng() { return rng_; }
  bool is_open() const { return store_ != nullptr; }
  void close() { store_.reset(); }

  // After a start: everything acknowledged is there; what was under way is, or is not, as a whole.
  std::string start() {
    auto store = Store::open(options_);
    if (!store) return "open: " + error_of(store);
    store_ = std::move(*store);
    return recover();
  }

  std::string recover() {
    auto recovery = store_->recover(world_.initial_state());
    if (!recovery) return "recover: " + error_of(recovery);
    const bool is_before = difference(recovery->state, acknowledged_) == "" &&
                           recovery->end.entry == acknowledged_end_;
    const bool is_after = under_way_ && difference(recovery->state, *under_way_) == "" &&
                          recovery->end.entry == under_way_end_;
    if (!is_before && !is_after)
      return "at entry " + std::to_string(recovery->end.entry) + ", acknowledged " +
             std::to_string(acknowledged_end_);
    if (!is_before) {
      acknowledged_ = std::move(*under_way_);
      acknowledged_end_ = under_way_end_;
    }
    under_way_.reset();
    core_ = std::make_unique<Core>(world_.config(), std::move(recovery->state));
    return {};
  }

  // False when the commit failed.
  bool work() {
    const Batch batch = next_batch(world_, *core_, 1 + static_cast<int>(rng_.below(6)));
    under_way_ = std::make_unique<schedule::State>(core_->fork_state());
    under_way_end_ = acknowledged_end_ + batch.decisions.size();
    if (const auto committed = store_->commit(batch); !committed) {
      failure_ = committed.error().code;
      return false;
    }
    acknowledged_ = std::move(*under_way_);
    acknowledged_end_ = under_way_end_;
    under_way_.reset();
    // May fail, and must not matter.
    if (rng_.below(5) == 0)
      (void)store_->save_snapshot(acknowledged_end_, write_snapshot(core_->state()));
    if (rng_.below(9) == 0) (void)store_->forget_before(world_.now() - from_seconds(300), 5);
    return true;
  }
  void forget_under_way() { under_way_.reset(); }
  ErrorCode failure() const { return failure_; }

 private:
  SeededRng rng_;
  RandomWorld world_;
  StoreOptions options_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Core> core_;
  schedule::State acknowledged_;
  std::unique_ptr<schedule::State> under_way_;
  std::uint64_t acknowledged_end_ = 0;
  std::uint64_t under_way_end_ = 0;
  ErrorCode failure_ = ErrorCode::failure;
};

TEST(StoreFaults, NothingAcknowledgedIsLostWhenThePowerFails) {
  int failures_of_power = 0;
  const int worlds = 60 * testing::times_longer();
  for (int seed = 0; seed < worlds; ++seed) {
    const TemporaryFolder folder;
    FaultyVfs disk{"faulty-power"};
    Torture torture{static_cast<std::uint64_t>(seed), options_in(folder, "faulty-power")};
    for (int round = 0; round < 6; ++round) {
      // Anywhere: while it opens, migrates, commits, or copies the write-ahead log.
      disk.lose_power_at(1 + torture.rng().below(round % 2 == 0 ? 30 : 400), torture.rng().next());
      const std::string problem = torture.start();
      if (!disk.has_lost_power()) {
        ASSERT_EQ(problem, "") << "seed " << seed << " round " << round;
        while (torture.work()) {
        }
      }
      ASSERT_TRUE(disk.has_lost_power()) << "seed " << seed << " round " << round;
      ++failures_of_power;
      torture.close();
      disk.restore_power();
    }
    ASSERT_EQ(torture.start(), "") << "seed " << seed;
  }
  RecordProperty("power_failures", failures_of_power);
}

// The test above can fail: on a disk that lies about syncs, acknowledged batches are lost. That is
// noticed at the next start, because the lock file knows better.
TEST(StoreFaults, ADiskThatLiesIsFoundOut) {
  int found_out = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const TemporaryFolder folder;
    FaultyVfs disk{"faulty-liar"};
    Torture torture{seed, options_in(folder, "faulty-liar")};
    ASSERT_EQ(torture.start(), "");
    ASSERT_TRUE(torture.work());
    disk.lie_about_syncs();
    disk.lose_power_at(40 + torture.rng().below(100), torture.rng().next());
    while (torture.work()) {
    }
    torture.close();
    disk.restore_power();
    const std::string problem = torture.start();
    if (problem != "") {
      EXPECT_THAT(problem, HasSubstr("open: ")) << "nothing wrong may come from a start";
      ++found_out;
    }
  }
  EXPECT_GT(found_out, 5);
}

TEST(StoreFaults, AFailedCommitLeavesNothingBehindAndWorkGoesOnLater) {
  const std::vector<int> failures = {SQLITE_FULL, SQLITE_READONLY, SQLITE_IOERR_WRITE,
                                     SQLITE_IOERR_FSYNC};
  for (int seed = 0; seed < 40 * testing::times_longer(); ++seed) {
    const TemporaryFolder folder;
    FaultyVfs disk{"faulty-writes"};
    Torture torture{static_cast<std::uint64_t>(seed) + 500, options_in(folder, "faulty-writes")};
    ASSERT_EQ(torture.start(), "");
    for (int round = 0; round < 8; ++round) {
      disk.fail_from(1 + torture.rng().below(60), failures[torture.rng().below(failures.size())]);
      while (torture.work()) {
      }
      EXPECT_EQ(torture.failure(), ErrorCode::unavailable);
      disk.heal();
      torture.forget_under_way();  // it failed: it must not be there
      ASSERT_EQ(torture.recover(), "") << "seed " << seed << " round " << round;
      if (round % 3 != 2) continue;
      // Not even after a loss of power.
      disk.lose_power_at(1, torture.rng().next());
      torture.forget_under_way();
      torture.work();
      torture.close();
      disk.restore_power();
      ASSERT_EQ(torture.start(), "") << "seed " << seed << " round " << round;
    }
  }
}

TEST(StoreFaults, ADiskThatIsStillFullIsSaidAgain) {
  const TemporaryFolder folder;
  FaultyVfs disk{"faulty-full"};
  Torture torture{1, options_in(folder, "faulty-full")};
  ASSERT_EQ(torture.start(), "");
  ASSERT_TRUE(torture.work());
  disk.fail_from(1, SQLITE_FULL);
  ASSERT_FALSE(torture.work());
  torture.forget_under_way();
  EXPECT_THAT(torture.recover(), HasSubstr("room on the disk"));
  disk.heal();
  EXPECT_EQ(torture.recover(), "");
  EXPECT_TRUE(torture.work());
}

TEST(StoreFaults, ARealDiskThatFillsUpIsRefusedClearlyAndRecovers) {
  const TemporaryFolder folder;
  const std::filesystem::path mounted = folder.path() / "small";
  std::filesystem::create_directory(mounted);
  if (::mount("none", mounted.c_str(), "tmpfs", 0, "size=2m") != 0)
    GTEST_SKIP() << "skipped: may not mount a small disk here";
  struct Unmount {
    std::filesystem::path at;
    ~Unmount() { ::umount2(at.c_str(), MNT_DETACH); }
  } unmount{mounted};
  StoreOptions options = options_in(folder);
  options.file = mounted / "weir.db";
  std::ofstream{mounted / "ballast"} << std::string(1'000'000, 'x');
  Torture torture{3, options};
  ASSERT_EQ(torture.start(), "");
  int commits = 0;
  while (commits < 2000 && torture.work()) ++commits;
  ASSERT_LT(commits, 2000);
  ASSERT_GT(commits, 3);
  EXPECT_EQ(torture.failure(), ErrorCode::unavailable);
  torture.forget_under_way();
  std::filesystem::remove(mounted / "ballast");
  ASSERT_EQ(torture.recover(), "");
  EXPECT_TRUE(torture.work());
  torture.close();
  EXPECT_EQ(torture.start(), "");
}

TEST(StoreFaults, AReadOnlyFolderIsRefusedClearly) {
  const TemporaryFolder folder;
  const std::filesystem::path mounted = folder.path() / "frozen";
  std::filesystem::create_directory(mounted);
  if (::mount("none", mounted.c_str(), "tmpfs", 0, "size=4m") != 0)
    GTEST_SKIP() << "skipped: may not mount a read-only disk here";
  struct Unmount {
    std::filesystem::path at;
    ~Unmount() { ::umount2(at.c_str(), MNT_DETACH); }
  } unmount{mounted};
  StoreOptions options = options_in(folder);
  options.file = mounted / "weir.db";
  { ASSERT_TRUE(Store::open(options)); }
  ASSERT_EQ(::mount("none", mounted.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, ""), 0);
  const auto store = Store::open(options);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::unavailable);
  EXPECT_THAT(error_of(store), HasSubstr("Read-only"));
}

// What the store leaves on disk when the process is killed: only what was synced.
TEST(StoreFaults, WritesStayInTheProcessUntilTheyAreSynced) {
  const TemporaryFolder folder;
  FaultyVfs disk{"faulty-buffer"};
  const StoreOptions options = options_in(folder, "faulty-buffer");
  Torture torture{4, options};
  ASSERT_EQ(torture.start(), "");
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(torture.work());
  // The files as another machine would find them, while the store is still in use here.
  const TemporaryFolder elsewhere;
  for (const char* part : {"", "-wal"})
    std::filesystem::copy_file(options.file.string() + part,
                               elsewhere.path() / (std::string{"weir.db"} + part));
  const auto copy = Store::open(options_in(elsewhere));
  ASSERT_TRUE(copy) << error_of(copy);
  EXPECT_GT((*copy)->end().entry, 20U);
}

}  // namespace
}  // namespace weir::control
