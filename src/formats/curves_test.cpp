// SPDX-License-Identifier: Apache-2.0
#include "formats/curves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

using testing::HasSubstr;

constexpr std::string_view kTable = "global_batch_size,1\n64,6.5\n";
constexpr std::string_view kTwoKinds =
    R"json({"k80": {"('A', 1)": {"null": 1}}, "v100": {"('A', 1)": {"null": 2}}})json";

TEST(Curves, AreReadFromAFolderOfTables) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "tables_t4");
  folder.write("tables_t4/bert.csv", kTable);
  const auto book = read_curves(folder.path() / "tables_t4");
  ASSERT_TRUE(book) << mistakes_of(book);
  EXPECT_EQ(book->gpu, "T4");
  const auto named = read_curves(folder.path() / "tables_t4", "A10");
  ASSERT_TRUE(named) << mistakes_of(named);
  EXPECT_EQ(named->gpu, "A10");
}

TEST(Curves, AreReadFromJsonForTheGpuThatIsNamed) {
  const TemporaryFolder folder;
  for (const auto& path :
       {folder.write("t.json", kTwoKinds), folder.write("t.json.gz", gzip(kTwoKinds)),
        folder.write("t", kTwoKinds)}) {
    const auto book = read_curves(path, "V100");
    ASSERT_TRUE(book) << mistakes_of(book);
    EXPECT_EQ(book->gpu, "V100");
    EXPECT_EQ(book->find({"A", 0})->rate_at(1), IterationRate{2'000'000});
  }
  const auto only =
      read_curves(folder.write("o.json", R"json({"k80": {"('A', 1)": {"null": 1}}})json"));
  ASSERT_TRUE(only) << mistakes_of(only);
  EXPECT_EQ(only->gpu, "K80");
}

TEST(Curves, SayWhichGpusThereAre) {
  const TemporaryFolder folder;
  const auto path = folder.write("t.json", kTwoKinds);
  EXPECT_THAT(mistakes_of(read_curves(path)),
              HasSubstr("GPU is missing, expected one of K80, V100"));
  EXPECT_THAT(mistakes_of(read_curves(path, "V10")),
              HasSubstr("GPU is \"V10\", expected one of K80, V100; did you mean V100?"));
}

TEST(Curves, AreNotReadFromAnythingElse) {
  const TemporaryFolder folder;
  EXPECT_THAT(mistakes_of(read_curves(folder.write("bert.csv", kTable))),
              HasSubstr("expected a folder with one <model>.csv per model, or Gavel's"));
  EXPECT_THAT(mistakes_of(read_curves("/nowhere/t.json")), HasSubstr("file is missing"));
}

}  // namespace
}  // namespace weir::formats
