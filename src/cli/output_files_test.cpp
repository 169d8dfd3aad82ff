// SPDX-License-Identifier: Apache-2.0
#include "cli/output_files.h"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "cli/run_testing.h"
#include "formats/temporary_file_testing.h"

namespace weir::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::ptrdiff_t files_in(const fs::path& folder) {
  return std::distance(fs::directory_iterator{folder}, fs::directory_iterator{});
}

TEST(OutputFiles, ReplaceWhatWasThere) {
  const formats::TemporaryFolder folder;
  const fs::path path = folder.write("a.csv", "old");
  const std::vector<OutputFile> files = {{path, "new"}, {folder.path() / "b.html", "page"}};
  ASSERT_TRUE(write_files(files));
  EXPECT_EQ(content_of(path), "new");
  EXPECT_EQ(content_of(folder.path() / "b.html"), "page");
  EXPECT_EQ(files_in(folder.path()), 2);  // no temporary file is left
}

TEST(OutputFiles, WhenOneCannotBeWrittenNoneIs) {
  const formats::TemporaryFolder folder;
  const std::vector<OutputFile> files = {{folder.path() / "a.csv", "new"},
                                         {folder.path() / "absent" / "b.html", "page"}};
  const auto written = write_files(files);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::failure);
  EXPECT_EQ(files_in(folder.path()), 0);
}

TEST(OutputFiles, ALinkStaysALink) {
  const formats::TemporaryFolder folder;
  const fs::path target = folder.write("real.html", "old");
  fs::create_symlink(target, folder.path() / "link.html");
  ASSERT_TRUE(write_files(std::vector<OutputFile>{{folder.path() / "link.html", "new"}}));
  EXPECT_TRUE(fs::is_symlink(folder.path() / "link.html"));
  EXPECT_EQ(content_of(target), "new");
}

TEST(OutputFiles, ADeviceIsWrittenToDirectly) {
  Diagnostics mistakes;
  check_output("--csv", "/dev/null", {}, mistakes);
  EXPECT_TRUE(mistakes.empty());
  EXPECT_TRUE(write_files(std::vector<OutputFile>{{"/dev/null", "gone"}}));
}

TEST(OutputFiles, AreCheckedBeforeTheWork) {
  const formats::TemporaryFolder folder;
  const std::vector<fs::path> inputs = {folder.write("nodes.csv", "precious")};
  Diagnostics mistakes;
  check_output("--csv", folder.path() / "absent" / "a.csv", inputs, mistakes);
  check_output("--csv", folder.path(), inputs, mistakes);
  check_output("--csv", folder.path() / "." / "nodes.csv", inputs, mistakes);
  ASSERT_EQ(mistakes.total(), 3U);
  EXPECT_THAT(mistakes.list()[0].expected, HasSubstr("a folder that exists"));
  EXPECT_THAT(mistakes.list()[1].expected, HasSubstr("not a folder"));
  EXPECT_THAT(mistakes.list()[2].expected, HasSubstr("another file than an input"));
}

}  // namespace
}  // namespace weir::cli
