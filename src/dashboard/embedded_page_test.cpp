// SPDX-License-Identifier: Apache-2.0
#include "dashboard/embedded_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <set>
#include <string>

namespace weir::dashboard {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string unpacked(std::string_view gzip, std::size_t size) {
  std::string plain(size + 1, '\0');  // one too many, to see that there is no more
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data()));
  stream.avail_in = static_cast<uInt>(gzip.size());
  stream.next_out = reinterpret_cast<Bytef*>(plain.data());
  stream.avail_out = static_cast<uInt>(plain.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  plain.resize(stream.total_out);
  inflateEnd(&stream);
  return plain;
}

class EmbeddedPage : public testing::Test {
 protected:
  void SetUp() override {
    if (embedded_page().empty()) GTEST_SKIP() << "built without the page";
  }
};

TEST_F(EmbeddedPage, HasAnIndexThatLoadsItsFiles) {
  std::set<std::string_view> paths;
  std::string_view index;
  for (const PageFile& file : embedded_page()) {
    EXPECT_TRUE(paths.insert(file.path).second) << file.path;
    EXPECT_THAT(std::string{file.path}, StartsWith("/"));
    EXPECT_FALSE(file.plain.empty()) << file.path;
    if (file.path == "/index.html") index = file.plain;
  }
  EXPECT_THAT(std::string{index}, StartsWith("<!"));
  for (std::size_t at = index.find("\"/assets/"); at != std::string_view::npos;
       at = index.find("\"/assets/", at + 1)) {
    const std::string_view path = index.substr(at + 1, index.find('"', at + 1) - at - 1);
    EXPECT_TRUE(paths.contains(path)) << path;
  }
}

// The page's headers allow neither.
TEST_F(EmbeddedPage, HasNoInlineScriptsOrStyles) {
  for (const PageFile& file : embedded_page()) {
    if (file.path != "/index.html") continue;
    EXPECT_EQ(file.plain.find("<style"), std::string_view::npos);
    EXPECT_EQ(file.plain.find("<script>"), std::string_view::npos);
    EXPECT_EQ(file.plain.find(" style="), std::string_view::npos);
  }
}

TEST_F(EmbeddedPage, CompressedBytesAreThePlainOnes) {
  std::size_t compressed = 0;
  for (const PageFile& file : embedded_page()) {
    if (file.gzip.empty()) continue;
    ++compressed;
    EXPECT_LT(file.gzip.size(), file.plain.size()) << file.path;
    EXPECT_EQ(unpacked(file.gzip, file.plain.size()), file.plain) << file.path;
  }
  EXPECT_GT(compressed, 0U);
}

TEST_F(EmbeddedPage, EveryFileHasATagOfItsOwn) {
  std::set<std::string_view> tags;
  for (const PageFile& file : embedded_page()) {
    EXPECT_EQ(file.tag.size(), 20U) << file.path;
    EXPECT_EQ(file.tag.find_first_not_of("0123456789abcdef"), std::string_view::npos);
    EXPECT_TRUE(tags.insert(file.tag).second) << file.path;
  }
}

}  // namespace
}  // namespace weir::dashboard
