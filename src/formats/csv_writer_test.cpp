// SPDX-License-Identifier: Apache-2.0
#include "formats/csv_writer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <sstream>
#include <vector>

#include "formats/csv.h"

namespace weir::formats {
namespace {

TEST(CsvWriter, QuotesOnlyWhatNeedsIt) {
  std::ostringstream out;
  CsvWriter csv{out};
  csv.cell("plain")
      .cell("a b")
      .cell("")
      .cell(-3)
      .cell("a,b")
      .cell("say \"hi\"")
      .cell(" x")
      .end_row();
  csv.cell("").end_row();
  EXPECT_EQ(out.str(), "plain,a b,,-3,\"a,b\",\"say \"\"hi\"\"\",\" x\"\n\"\"\n");
}

RC_GTEST_PROP(CsvWriter, TheReaderGetsEveryCellBack, ()) {
  const auto cell = rc::gen::container<std::string>(
      rc::gen::weightedOneOf<char>({{3, rc::gen::element(',', '"', '\n', '\r', ' ', '\t', '\xEF')},
                                    {2, rc::gen::arbitrary<char>()}}));
  const auto rows = *rc::gen::container<std::vector<std::vector<std::string>>>(
      rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(cell)));
  std::ostringstream out;
  CsvWriter csv{out};
  for (const auto& row : rows) {
    for (const auto& text : row) csv.cell(text);
    csv.end_row();
  }
  const std::string written = out.str();
  CsvReader reader{*InputFile::from_memory("memory", written)};
  Diagnostics mistakes;
  std::vector<std::vector<std::string>> back;
  while (reader.next(mistakes)) back.emplace_back(reader.cells().begin(), reader.cells().end());
  RC_ASSERT(mistakes.empty());
  RC_ASSERT(back == rows);
}

}  // namespace
}  // namespace weir::formats
