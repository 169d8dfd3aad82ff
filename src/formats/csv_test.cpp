// SPDX-License-Identifier: Apache-2.0
#include "formats/csv.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>

#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Row = std::vector<std::string>;

struct Read {
  std::vector<Row> rows;
  std::vector<std::uint64_t> lines;
  Diagnostics mistakes;
};

Read cells_of(std::string_view bytes) {
  CsvReader reader{*InputFile::from_memory("t.csv", bytes)};
  Read all;
  while (reader.next(all.mistakes)) {
    all.rows.emplace_back(reader.cells().begin(), reader.cells().end());
    all.lines.push_back(reader.line());
  }
  return all;
}

constexpr std::array<CsvColumn, 3> kColumns{{{"sn", true}, {"gpu", true}, {"note", false}}};

CsvTable table_of(std::string_view bytes) {
  return CsvTable{*InputFile::from_memory("t.csv", bytes), kColumns};
}

std::string mistakes_of_table(std::string_view bytes) {
  CsvTable table = table_of(bytes);
  while (table.next()) table.integer(1, 0, 16);
  return to_string(table.mistakes());
}

TEST(CsvReader, SplitsPlainRows) {
  EXPECT_THAT(cells_of("a,b\n1,2\n").rows, ElementsAre(Row{"a", "b"}, Row{"1", "2"}));
  EXPECT_THAT(cells_of("a,b\n1,").rows, ElementsAre(Row{"a", "b"}, Row{"1", ""}));
  EXPECT_THAT(cells_of(",\n").rows, ElementsAre(Row{"", ""}));
  EXPECT_THAT(cells_of("").rows, ElementsAre());
}

TEST(CsvReader, UnderstandsWindowsFiles) {
  EXPECT_THAT(cells_of("\xEF\xBB\xBF"
                       "a,b\r\n\"1\",\"2\"\r\n\r\n3,4\r")
                  .rows,
              ElementsAre(Row{"a", "b"}, Row{"1", "2"}, Row{"3", "4"}));
}

TEST(CsvReader, UnderstandsQuotes) {
  EXPECT_THAT(cells_of("\"a,b\",\"say \"\"hi\"\"\",\"\",x\"y\n").rows,
              ElementsAre(Row{"a,b", "say \"hi\"", "", "x\"y"}));
  EXPECT_THAT(cells_of("\"a\",x\"\"y\nb\n").rows, ElementsAre(Row{"a", "x\"\"y"}, Row{"b"}));
  EXPECT_THAT(cells_of("x,\"\"\"\"").rows, ElementsAre(Row{"x", "\""}));
}

TEST(CsvReader, CountsLinesAcrossBlankLinesAndQuotedNewlines) {
  const Read all = cells_of("h\n\n  \n\"two\nlines\"\nlast");
  EXPECT_THAT(all.rows, ElementsAre(Row{"h"}, Row{"two\nlines"}, Row{"last"}));
  EXPECT_THAT(all.lines, ElementsAre(1, 4, 6));
}

TEST(CsvReader, ReadsRowsThatCrossItsBuffer) {
  std::string bytes;
  std::size_t rows = 0;
  while (bytes.size() < (std::size_t{3} << 20)) {
    bytes += rows++ % 7 == 0 ? "\"quoted, \"\"cell\"\"\",2\n" : "plain,2\n";
  }
  bytes += std::string(kMaxCsvRowBytes - 2, 'x') + ",y";
  const Read all = cells_of(bytes);
  EXPECT_TRUE(all.mistakes.empty()) << to_string(all.mistakes);
  ASSERT_EQ(all.rows.size(), rows + 1);
  for (std::size_t i = 0; i < rows; ++i) {
    ASSERT_EQ(all.rows[i], (i % 7 == 0 ? Row{"quoted, \"cell\"", "2"} : Row{"plain", "2"}));
  }
}

TEST(CsvReader, NamesTheLineOfABrokenQuoteAndGoesOn) {
  const Read all = cells_of("a\n\"x\"y\nb\n");
  EXPECT_THAT(all.rows, ElementsAre(Row{"a"}, Row{"b"}));
  EXPECT_EQ(to_string(all.mistakes),
            "t.csv:2: quoted cell is \"followed by more text\", expected a comma or the end of the "
            "line after the closing quote\n");
  EXPECT_EQ(to_string(cells_of("a\n\n\"x\n1\n2").mistakes),
            "t.csv:3: quoted cell is \"never closed\", expected a closing quote before the end of "
            "the file\n");
}

TEST(CsvReader, RefusesALineOfAGigabyteWithBoundedMemory) {
  constexpr std::string_view kMistake =
      "line is \"longer than 1 MiB\", expected at most 1 MiB (is a newline or a closing quote "
      "missing?)\n";
  const TemporaryFolder folder;
  const auto sparse = folder.write("line.csv", "header\n");
  std::filesystem::resize_file(sparse, std::uint64_t{1} << 30);  // zeros: no newline
  // 1 GiB in gzip members of 16 MiB each.
  std::string bomb = gzip("header\n\"");
  const std::string member = gzip(std::string(std::size_t{16} << 20, 'x'));
  for (int i = 0; i < 64; ++i) bomb += member;
  const auto packed = folder.write("line.csv.gz", bomb);

  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  for (const auto& path : {sparse, packed}) {
    CsvReader reader{*InputFile::open(path)};
    Diagnostics mistakes;
    EXPECT_TRUE(reader.next(mistakes));
    EXPECT_FALSE(reader.next(mistakes));
    EXPECT_EQ(to_string(mistakes), fmt::format("{}:2: {}", path.string(), kMistake));
  }
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 16 << 10) << "KiB";
}

TEST(CsvTable, FindsColumnsByNameInAnyOrder) {
  CsvTable table = table_of("gpu,other,sn\n8,?,n1\n");
  ASSERT_TRUE(table.next());
  EXPECT_EQ(table.cell(0), "n1");
  EXPECT_EQ(table.integer(1, 0, 16), 8);
  EXPECT_FALSE(table.has(2));
  EXPECT_EQ(table.cell(2), "");
  EXPECT_FALSE(table.next());
  EXPECT_TRUE(table.mistakes().empty());
}

TEST(CsvTable, NamesAllMissingAndDoubledColumnsAtOnce) {
  EXPECT_EQ(mistakes_of_table("note,x,note\n1,2,3\n"),
            "t.csv:1: column sn is missing, expected it in the first line\n"
            "t.csv:1: column gpu is missing, expected it in the first line\n"
            "t.csv:1: column note is \"given twice\", expected it once\n");
}

TEST(CsvTable, KnowsAColumnUnderOtherNames) {
  static constexpr std::array<CsvColumn, 1> kSpelt{{{"deadline", true, {"ddl", "due"}}}};
  CsvTable table{*InputFile::from_memory("t.csv", "due,x,ddl\n1,2,3\n"), kSpelt};
  ASSERT_TRUE(table.next());
  EXPECT_EQ(table.cell(0), "3");
  EXPECT_EQ(table.name(0), "ddl");
  EXPECT_EQ(table.integer(0, 0, 1), std::nullopt);
  EXPECT_EQ(to_string(table.mistakes()),
            "t.csv:2: ddl is \"3\", expected an integer from 0 to 1\n");
  const CsvTable without{*InputFile::from_memory("t.csv", "x\n1\n"), kSpelt};
  EXPECT_EQ(to_string(without.mistakes()),
            "t.csv:1: column deadline is missing, expected it or ddl, due in the first line\n");
}

TEST(CsvTable, SaysThatAFileIsEmpty) {
  EXPECT_EQ(mistakes_of_table("\n\n"), "t.csv: file is \"empty\", expected a first line sn,gpu\n");
}

TEST(CsvTable, NamesEveryWrongCellAndRaggedRow) {
  EXPECT_EQ(
      mistakes_of_table("sn,gpu\na,17\nb,\nc\nd,1,2\ne,+1\nf,1.0\ng,2\nh,99999999999999999999\n"),
      "t.csv:2: gpu is \"17\", expected an integer from 0 to 16\n"
      "t.csv:3: gpu is missing, expected an integer from 0 to 16\n"
      "t.csv:4: row is \"1 cells\", expected 2 cells, as many as the first line has\n"
      "t.csv:5: row is \"3 cells\", expected 2 cells, as many as the first line has\n"
      "t.csv:6: gpu is \"+1\", expected an integer from 0 to 16\n"
      "t.csv:7: gpu is \"1.0\", expected an integer from 0 to 16\n"
      "t.csv:9: gpu is \"99999999999999999999\", expected an integer from 0 to 16\n");
}

TEST(CsvTable, ReadsAChoice) {
  constexpr std::array<std::string_view, 2> kChoices{"LS", "BE"};
  CsvTable table = table_of("sn,gpu\nBE,1\nXX,1\n");
  ASSERT_TRUE(table.next());
  EXPECT_EQ(table.choice(0, kChoices), 1U);
  ASSERT_TRUE(table.next());
  EXPECT_EQ(table.choice(0, kChoices), std::nullopt);
  EXPECT_EQ(to_string(table.mistakes()), "t.csv:3: sn is \"XX\", expected one of LS, BE\n");
}

TEST(CsvTable, StopsReadingAfterTwentyMistakes) {
  std::string bytes = "sn,gpu\n";
  for (int i = 0; i < 1000; ++i) bytes += "n,x\n";
  CsvTable table = table_of(bytes);
  int rows = 0;
  while (table.next()) {
    table.integer(1, 0, 16);
    ++rows;
  }
  EXPECT_EQ(rows, 20);
}

TEST(CsvTable, PassesOnWhatIsWrongWithTheFile) {
  const std::string packed = gzip("sn,gpu\nn1,1\n");
  EXPECT_THAT(mistakes_of_table(std::string_view{packed}.substr(0, packed.size() - 1)),
              HasSubstr("gzip data is \"cut short\""));
}

}  // namespace
}  // namespace weir::formats
