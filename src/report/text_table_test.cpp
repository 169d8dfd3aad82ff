// SPDX-License-Identifier: Apache-2.0
#include "report/text_table.h"

#include <gtest/gtest.h>

namespace weir::report {
namespace {

TEST(DisplayWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(display_width("fgd"), 3U);
  EXPECT_EQ(display_width("95.46 ± 0.08"), 12U);
  EXPECT_EQ(display_width("é"), 1U);         // one code point, two bytes
  EXPECT_EQ(display_width("e\u0301"), 1U);   // a letter and a combining accent
  EXPECT_EQ(display_width("默认"), 4U);      // two wide characters
  EXPECT_EQ(display_width("\xff\xe2"), 2U);  // broken text is no reason to stop
}

TEST(TextTable, AlignsNumbersRightAndNamesLeft) {
  const Table table{"Wait",
                    {{"policy", Align::left}, {"mean ± sd", Align::right}},
                    {{"fgd", "9.5 ± 0.1"}, {"best-fit", "10.25 ± 0.1"}, {"默认", "-"}}};
  EXPECT_EQ(to_text(table),
            "Wait\n"
            "policy      mean ± sd\n"
            "--------  -----------\n"
            "fgd         9.5 ± 0.1\n"
            "best-fit  10.25 ± 0.1\n"
            "默认                -\n");
}

TEST(TextTable, NoLineEndsInASpace) {
  const Table table{"", {{"a", Align::left}, {"note", Align::left}}, {{"x", ""}}};
  EXPECT_EQ(to_text(table), "a  note\n-  ----\nx\n");
}

}  // namespace
}  // namespace weir::report
