// SPDX-License-Identifier: Apache-2.0
#include "formats/input_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

using testing::HasSubstr;

Result<std::string> content_of(const std::filesystem::path& path) {
  auto input = InputFile::open(path);
  if (!input) return tl::unexpected(input.error());
  return input->read_all();
}

Result<std::string> content_of_bytes(std::string_view bytes, std::uint64_t max = kMaxInputBytes) {
  auto input = InputFile::from_memory("memory", bytes, max);
  if (!input) return tl::unexpected(input.error());
  return input->read_all();
}

TEST(InputFile, ReadsPlainAndGzipAlike) {
  const TemporaryFolder folder;
  EXPECT_EQ(content_of(folder.write("a", "sn,gpu\n")), "sn,gpu\n");
  EXPECT_EQ(content_of(folder.write("b", gzip("sn,gpu\n"))), "sn,gpu\n");
  EXPECT_EQ(content_of(folder.write("empty", "")), "");
  EXPECT_EQ(content_of(folder.write("c", "\x1f")), "\x1f");
}

TEST(InputFile, ReadsGzipMembersOneAfterTheOther) {
  EXPECT_EQ(content_of_bytes(gzip("one ") + gzip("") + gzip("two")), "one two");
}

TEST(InputFile, ReadsFromAPipe) {
  const TemporaryFolder folder;
  const auto fifo = folder.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::thread writer{[&] { std::ofstream{fifo} << gzip(std::string(300000, 'x')); }};
  const auto content = content_of(fifo);
  writer.join();
  EXPECT_EQ(content, std::string(300000, 'x'));
}

TEST(InputFile, SaysWhatIsWrongWithThePath) {
  const TemporaryFolder folder;
  const std::string at = folder.path().string();
  EXPECT_EQ(mistakes_of(content_of(at + "/none.csv")),
            at + "/none.csv: file is missing, expected the path of an existing file\n");
  EXPECT_EQ(mistakes_of(content_of(at)), at + ": path is \"a directory\", expected a file\n");
}

TEST(InputFile, SaysThatAFileMayNotBeRead) {
  const TemporaryFolder folder;
  const auto file = folder.write("secret", "x");
  ASSERT_EQ(::chmod(file.c_str(), 0), 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  // Root may read everything, so be nobody for a moment.
  constexpr uid_t kNobody = 65534;
  const bool is_root = ::geteuid() == 0;
  if (is_root) {
    ASSERT_EQ(::seteuid(kNobody), 0);
  }
  const std::string mistakes = mistakes_of(content_of(file));
  if (is_root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_THAT(mistakes, HasSubstr("expected a file you may read"));
}

TEST(InputFile, SaysThatGzipDataIsCutShortWhereverTheCutIs) {
  const std::string packed = gzip(std::string(5000, 'x') + "end");
  for (std::size_t size = 2; size < packed.size(); ++size) {
    EXPECT_EQ(mistakes_of(content_of_bytes(std::string_view{packed}.substr(0, size))),
              "memory: gzip data is \"cut short\", expected a complete gzip file\n")
        << size;
  }
}

TEST(InputFile, SaysThatGzipDataIsCorrupt) {
  std::string packed = gzip("sn,cpu_milli,memory_mib,gpu,model\n");
  packed[packed.size() - 6] ^= 0x55;  // in the checksum
  EXPECT_EQ(mistakes_of(content_of_bytes(packed)),
            "memory: gzip data is \"corrupt: incorrect data check\", expected an intact gzip file "
            "(check it with gzip -t)\n");
  EXPECT_THAT(mistakes_of(content_of_bytes(gzip("a") + "garbage")), HasSubstr("corrupt"));
}

TEST(InputFile, RefusesMoreThanTheLimitHoweverSmallTheFile) {
  const std::string bomb = gzip(std::string(std::size_t{8} << 20, '\n'));
  ASSERT_LT(bomb.size(), std::size_t{64} << 10);
  EXPECT_EQ(mistakes_of(content_of_bytes(bomb, 1000)),
            "memory: content is \"longer than 1000 bytes\", expected at most 1000 bytes "
            "(uncompressed)\n");
  EXPECT_EQ(content_of_bytes("0123456789", 10), "0123456789");
  EXPECT_FALSE(content_of_bytes("0123456789", 9));
}

TEST(InputFile, ReadsNoMoreThanAskedFor) {
  const std::string bomb = gzip(std::string(std::size_t{8} << 20, 'x'));
  auto input = InputFile::from_memory("memory", bomb);
  ASSERT_TRUE(input);
  EXPECT_EQ(input->read_all(1000)->size(), 1000U);
  EXPECT_EQ(input->read_all()->size(), (std::size_t{8} << 20) - 1000);
}

TEST(InputFile, PeekingConsumesNothing) {
  auto input = InputFile::from_memory("memory", "abcdef");
  ASSERT_TRUE(input);
  EXPECT_EQ(*input->peek(), "abcdef");
  char two[2];
  EXPECT_EQ(*input->read(two), 2U);
  EXPECT_EQ(*input->peek(), "cdef");
  EXPECT_EQ(*input->read_all(), "cdef");
  EXPECT_EQ(*input->peek(), "");
}

RC_GTEST_PROP(InputFile, GunzipsWhatWasGzipped, (const std::string& content)) {
  RC_ASSERT(*content_of_bytes(gzip(content)) == content);
}

}  // namespace
}  // namespace weir::formats
