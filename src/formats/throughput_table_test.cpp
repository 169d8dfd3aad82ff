// SPDX-License-Identifier: Apache-2.0
#include "formats/throughput_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<CurveBook> table_from(std::string_view text) {
  return read_throughput_table(*InputFile::from_memory("dir/bert.csv", text));
}

constexpr std::string_view kThreeSizes = "global_batch_size,1,2,4\n64,6.5,8,0\n";

TEST(ThroughputTable, ReadsRatesAndLeavesOutWhatWasNotMeasured) {
  const auto book = table_from(
      "global_batch_size,1,2,4,8,16\r\n"
      "64,6.0306615539,,nan,NaN,0\r\n"
      "128,0.0,3,2.5,4,0");
  ASSERT_TRUE(book) << mistakes_of(book);
  ASSERT_EQ(book->curves.size(), 2U);
  const Curve* small = book->find({"bert", 64});
  ASSERT_NE(small, nullptr);
  EXPECT_THAT(small->measured(), ElementsAre(CurvePoint{1, IterationRate{6'030'661}}));
  const Curve* large = book->find({"bert", 128});
  ASSERT_NE(large, nullptr);
  EXPECT_THAT(large->measured(), ElementsAre(CurvePoint{2, IterationRate{3'000'000}},
                                             CurvePoint{4, IterationRate{2'500'000}},
                                             CurvePoint{8, IterationRate{4'000'000}}));
  EXPECT_EQ(large->useful().size(), 2U);  // 2 and 8
}

TEST(ThroughputTable, SaysWhetherItWasPlanned) {
  const auto measured = table_from(kThreeSizes);
  ASSERT_TRUE(measured) << mistakes_of(measured);
  EXPECT_EQ(measured->find({"bert", 64})->origin(), CurveOrigin::profiled);
  const auto planned = table_from("# planned\n" + std::string{kThreeSizes});
  ASSERT_TRUE(planned) << mistakes_of(planned);
  EXPECT_EQ(planned->find({"bert", 64})->origin(), CurveOrigin::planned);
  EXPECT_EQ(planned->find({"bert", 64})->rate_at(1).value, 6'500'000);
  EXPECT_EQ(mistakes_of(table_from("# planned\n")),
            "dir/bert.csv: file is \"without a table\", expected a line such as "
            "global_batch_size,1,2,4,8\n");
  EXPECT_THAT(mistakes_of(table_from("# guessed\n" + std::string{kThreeSizes})),
              HasSubstr("first column is \"# guessed\""));
}

TEST(ThroughputTable, ReportsEveryMistakeAtOnce) {
  EXPECT_EQ(
      mistakes_of(table_from("global_batch_size,1,2,3\n"
                             "64,-1,inf,fast\n"
                             "0,1,1,1\n"
                             "32,nan,0,5\n"
                             "16,1,2,3\n"
                             "16,1,2,3\n"
                             "8,0.0000001,1000001,\n"
                             "4,1,2\n")),
      "dir/bert.csv:2: column 1 is \"-1\", expected iterations per second from 0.000001 to "
      "1000000, or nothing where it was not measured\n"
      "dir/bert.csv:2: column 2 is \"inf\", expected iterations per second from 0.000001 to "
      "1000000, or nothing where it was not measured\n"
      "dir/bert.csv:2: column 3 is \"fast\", expected iterations per second from 0.000001 to "
      "1000000, or nothing where it was not measured\n"
      "dir/bert.csv:3: global_batch_size is \"0\", expected an integer from 1 to 1000000000\n"
      "dir/bert.csv:4: row is \"without a rate\", expected a rate at 1, 2, 4 or another "
      "power of two of GPUs\n"
      "dir/bert.csv:6: global_batch_size is \"16\", expected another batch: line 5 has this "
      "one\n"
      "dir/bert.csv:7: column 1 is \"0.0000001\", expected iterations per second from "
      "0.000001 to 1000000, or nothing where it was not measured\n"
      "dir/bert.csv:7: column 2 is \"1000001\", expected iterations per second from 0.000001 "
      "to 1000000, or nothing where it was not measured\n"
      "dir/bert.csv:8: row is \"3 cells\", expected 4 cells, as many as the first line has\n");
}

TEST(ThroughputTable, ChecksTheFirstLine) {
  EXPECT_EQ(mistakes_of(table_from("batch,1,two,0,1\n64,1,2,3,4\n")),
            "dir/bert.csv:1: first column is \"batch\", expected global_batch_size\n"
            "dir/bert.csv:1: column 3 is \"two\", expected a number of GPUs from 1 to 65536\n"
            "dir/bert.csv:1: column 4 is \"0\", expected a number of GPUs from 1 to 65536\n"
            "dir/bert.csv:1: column 5 is \"1\", expected another number of GPUs: column 2 has this "
            "one\n");
  EXPECT_EQ(mistakes_of(table_from("")),
            "dir/bert.csv: file is \"empty\", expected a first line such as "
            "global_batch_size,1,2,4,8\n");
  EXPECT_EQ(mistakes_of(table_from("global_batch_size,1\n")),
            "dir/bert.csv: file is \"without rows\", expected at least one batch below the first "
            "line\n");
  EXPECT_THAT(mistakes_of(table_from("global_batch_size\n64\n")), HasSubstr("a number of GPUs"));
}

TEST(ThroughputTables, AreAllTheTablesOfAFolder) {
  const TemporaryFolder folder;
  const auto tables = folder.path() / "throughput_a100";
  std::filesystem::create_directory(tables);
  std::filesystem::create_directory(tables / "old.csv");
  folder.write("throughput_a100/bert.csv", kThreeSizes);
  folder.write("throughput_a100/gpt2.csv.gz", gzip(kThreeSizes));
  folder.write("throughput_a100/README.md", "not a table");
  folder.write("throughput_a100/.hidden.csv", "not a table");
  for (const auto& path : {tables, tables / ""}) {
    const auto book = read_throughput_tables(path);
    ASSERT_TRUE(book) << mistakes_of(book);
    EXPECT_EQ(book->gpu, "A100");
    EXPECT_EQ(book->curves.size(), 2U);
    EXPECT_NE(book->find({"gpt2", 64}), nullptr);
  }
}

TEST(ThroughputTables, KeepEveryDigitWhereItIsWanted) {
  const TemporaryFolder folder;
  folder.write("bert.csv", "global_batch_size,4,1,2\n64,nan,6.030661553957379,\n");
  const auto rates = read_exact_rates(folder.path());
  ASSERT_TRUE(rates) << mistakes_of(rates);
  EXPECT_EQ(*rates, (ExactRates{{{"bert", 64}, {{1, 6.030661553957379}}}}));
}

TEST(ThroughputTables, HaveNoGpuWithoutAnUnderscore) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "tables");
  folder.write("tables/bert.csv", kThreeSizes);
  const auto book = read_throughput_tables(folder.path() / "tables");
  ASSERT_TRUE(book) << mistakes_of(book);
  EXPECT_EQ(book->gpu, "");
}

TEST(ThroughputTables, ReportTheMistakesOfAllFiles) {
  const TemporaryFolder folder;
  folder.write("a.csv", "global_batch_size,1\n64,x\n");
  folder.write("b.csv", kThreeSizes);
  folder.write("b.csv.gz", gzip(kThreeSizes));
  folder.write("c.csv", "");
  const std::string mistakes = mistakes_of(read_throughput_tables(folder.path()));
  EXPECT_THAT(mistakes, HasSubstr("a.csv:2: column 1 is \"x\""));
  EXPECT_THAT(mistakes, HasSubstr("b.csv.gz: model is \"b\", expected one table per model: b.csv "
                                  "is another"));
  EXPECT_THAT(mistakes, HasSubstr("c.csv: file is \"empty\""));
}

TEST(ThroughputTables, NeedAFolderWithTables) {
  const TemporaryFolder folder;
  EXPECT_EQ(mistakes_of(read_throughput_tables("/nowhere/throughput_t4")),
            "/nowhere/throughput_t4: folder is missing, expected a folder with throughput tables, "
            "one <model>.csv per model\n");
  EXPECT_THAT(mistakes_of(read_throughput_tables(folder.path())),
              HasSubstr("folder is \"without any .csv file\", expected a folder with throughput"));
  EXPECT_THAT(mistakes_of(read_throughput_tables(folder.write("x.csv", kThreeSizes))),
              HasSubstr("folder is \"not a folder\""));
}

}  // namespace
}  // namespace weir::formats
