// SPDX-License-Identifier: Apache-2.0
#include "worker/checkpoints.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>

#include "worker/temporary_folder_testing.h"

namespace weir::worker {
namespace {

using namespace testing_files;

fs::path manifest_of(const fs::path& path) {
  return path.string() + ".manifest";
}

TEST(Checkpoints, ThereIsNoneAtFirst) {
  const TemporaryFolder folder;
  EXPECT_FALSE(Checkpoints{folder.path()}.latest());
  EXPECT_FALSE(Checkpoints{folder.path() / "not yet"}.latest());
}

TEST(Checkpoints, FindsWhatWasSaved) {
  const TemporaryFolder folder;
  const Checkpoints checkpoints{folder.path() / "made" / "here"};
  ASSERT_TRUE(checkpoints.save(10, put("ten")));
  ASSERT_TRUE(checkpoints.save(20, put("twenty")));
  EXPECT_EQ(checkpoints.latest()->step, 20);
  EXPECT_EQ(read(checkpoints.latest()->path), "twenty");
}

TEST(Checkpoints, KeepsAsManyAsItIsTold) {
  for (const int keep : {1, 2, 3}) {
    const TemporaryFolder folder;
    const Checkpoints checkpoints{folder.path(), keep};
    for (int step = 0; step < 6; ++step) ASSERT_TRUE(checkpoints.save(step, put("x")));
    EXPECT_EQ(folder.names().size(), 2u * static_cast<unsigned>(keep));
    EXPECT_EQ(checkpoints.latest()->step, 5);
  }
}

TEST(Checkpoints, EveryCutOfTheNewestFallsBackToTheOneBefore) {
  const TemporaryFolder folder;
  const Checkpoints checkpoints{folder.path()};
  ASSERT_TRUE(checkpoints.save(1, put("before")));
  const auto newest = checkpoints.save(2, put("0123456789")).value();
  for (const fs::path& path : {newest.path, manifest_of(newest.path)}) {
    const std::string whole = read(path);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      write(path, whole.substr(0, length));
      EXPECT_EQ(checkpoints.latest()->step, 1) << path << " cut to " << length;
    }
    write(path, whole + "x");
    EXPECT_EQ(checkpoints.latest()->step, 1) << path;
    fs::remove(path);
    EXPECT_EQ(checkpoints.latest()->step, 1) << path;
    write(path, whole);
    EXPECT_EQ(checkpoints.latest()->step, 2) << path;
  }
}

// The sum is of the data; the size and the form of the manifest are checked above.
RC_GTEST_PROP(Checkpoints, AChangedBitFallsBackToTheOneBefore,
              (std::uint16_t at, std::uint8_t bit)) {
  const TemporaryFolder folder;
  const Checkpoints checkpoints{folder.path()};
  RC_ASSERT(checkpoints.save(1, put("before")).has_value());
  const auto newest = checkpoints.save(2, put("the weights")).value();
  std::string bytes = read(newest.path);
  char& byte = bytes[at % bytes.size()];
  byte = static_cast<char>(byte ^ 1 << bit % 8);
  write(newest.path, bytes);
  RC_ASSERT(checkpoints.latest()->step == 1);
}

TEST(Checkpoints, ADamagedOneIsNotCountedAsKept) {
  const TemporaryFolder folder;
  const Checkpoints checkpoints{folder.path(), 2};
  ASSERT_TRUE(checkpoints.save(1, put("one")));
  fs::resize_file(checkpoints.save(2, put("two")).value().path, 1);
  fs::resize_file(checkpoints.save(3, put("three")).value().path, 1);
  EXPECT_EQ(checkpoints.latest()->step, 1);
}

TEST(Checkpoints, AnErrorWhileSavingLeavesWhatWasThere) {
  const TemporaryFolder folder;
  const Checkpoints checkpoints{folder.path(), 1};
  ASSERT_TRUE(checkpoints.save(1, put("one")));
  const auto before = folder.names();
  EXPECT_FALSE(checkpoints.save(2, [](std::ostream& f) { f.setstate(std::ios::badbit); }));
  EXPECT_EQ(folder.names(), before);
  EXPECT_EQ(checkpoints.latest()->step, 1);
}

TEST(Checkpoints, LeavesOtherFilesAlone) {
  const TemporaryFolder folder;
  const std::set<std::string> others{"notes.txt", "checkpoint-best", "checkpoint-12.pt",
                                     "checkpoint-00000001.pt", "checkpoint-1"};
  for (const std::string& name : others) write(folder.path() / name, "mine");
  const Checkpoints checkpoints{folder.path(), 1};
  for (int step = 0; step < 3; ++step) ASSERT_TRUE(checkpoints.save(step, put("x")));
  const auto names = folder.names();
  EXPECT_TRUE(std::ranges::includes(names, others));
}

TEST(Checkpoints, AreInTheFolderThatWeirGives) {
  const TemporaryFolder folder;
  setenv("WEIR_CHECKPOINT_DIR", folder.path().c_str(), 1);
  EXPECT_TRUE(Checkpoints::from_environment().save(4, put("x")));
  unsetenv("WEIR_CHECKPOINT_DIR");
  EXPECT_EQ(Checkpoints{folder.path()}.latest()->step, 4);
}

[[noreturn]] void save_for_ever(const fs::path& folder, int keep, int report) {
  const Checkpoints checkpoints{folder, keep};
  for (std::int64_t step = 1;; ++step) {
    const std::string bytes(40'000, static_cast<char>('a' + step % 26));
    if (!checkpoints.save(step, put(bytes))) _exit(1);
    if (::write(report, &step, sizeof step) != sizeof step) _exit(1);
  }
}

// The last step that the child said it had saved before it was killed.
std::int64_t save_and_kill(const fs::path& folder, int keep, useconds_t after) {
  int report[2];
  if (pipe(report) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) save_for_ever(folder, keep, report[1]);
  close(report[1]);
  std::int64_t last = -1;
  const bool has_begun = ::read(report[0], &last, sizeof last) == sizeof last;
  usleep(after);
  kill(child, SIGKILL);
  while (has_begun && ::read(report[0], &last, sizeof last) == sizeof last) {
  }
  close(report[0]);
  waitpid(child, nullptr, 0);
  return last;
}

TEST(Checkpoints, AKillAtAnyMomentLosesNothingThatWasSaved) {
  const TemporaryFolder folder;
  for (useconds_t i = 0; i < 60; ++i) {
    const int keep = i % 2 == 0 ? 1 : 2;
    const std::int64_t reported = save_and_kill(folder.path(), keep, i * 137 % 5000);
    const auto found = Checkpoints{folder.path(), keep}.latest();
    ASSERT_TRUE(found) << i;
    EXPECT_TRUE(found->step == reported || found->step == reported + 1)
        << found->step << " after " << reported;
    EXPECT_EQ(read(found->path), std::string(40'000, static_cast<char>('a' + found->step % 26)));
  }
}

}  // namespace
}  // namespace weir::worker
