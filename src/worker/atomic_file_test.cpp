// SPDX-License-Identifier: Apache-2.0
#include "worker/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "worker/temporary_folder_testing.h"

namespace weir::worker {
namespace {

using namespace testing_files;
using testing::ElementsAre;

TEST(AtomicFile, WritesAndReplaces) {
  const TemporaryFolder folder;
  ASSERT_TRUE(save_atomically(folder.path() / "state", put("one")));
  ASSERT_TRUE(save_atomically(folder.path() / "state", put("two")));
  EXPECT_EQ(read(folder.path() / "state"), "two");
  EXPECT_THAT(folder.names(), ElementsAre("state"));
}

TEST(AtomicFile, AnErrorLeavesTheOldFileAndNothingElse) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "state";
  ASSERT_TRUE(save_atomically(path, put("one")));
  EXPECT_FALSE(save_atomically(path, [](std::ostream& file) {
    file << "half";
    file.setstate(std::ios::failbit);
  }));
  EXPECT_THROW((void)save_atomically(path, [](std::ostream&) { throw std::runtime_error{"no"}; }),
               std::runtime_error);
  EXPECT_EQ(read(path), "one");
  EXPECT_THAT(folder.names(), ElementsAre("state"));
}

TEST(AtomicFile, SaysWhereItCannotWrite) {
  const auto refused = save_atomically("no/such/folder/state", put("x"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(to_string(refused.error().details), testing::HasSubstr("no/such/folder"));
}

TEST(AtomicFile, AFullDiskIsAnError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  const TemporaryFolder folder;
  // What it would write beside its place leads to a disk that is full.
  fs::create_symlink("/dev/full",
                     folder.path() / (".state." + std::to_string(getpid()) + ".partial"));
  EXPECT_FALSE(save_atomically(folder.path() / "state", put(std::string(100'000, 'x'))));
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace weir::worker
