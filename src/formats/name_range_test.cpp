// SPDX-License-Identifier: Apache-2.0
#include "formats/name_range.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir::formats {
namespace {

TEST(NameRange, ExpandsToNumberedNames) {
  const auto range = parse_name_range("gpu-[08-11].lab");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->size(), 4U);
  EXPECT_EQ(range->name(8), "gpu-08.lab");
  EXPECT_EQ(range->name(11), "gpu-11.lab");
  EXPECT_EQ(parse_name_range("n[9-10]")->name(9), "n9");
  EXPECT_EQ(parse_name_range("n[0-3]")->name(0), "n0");
}

TEST(NameRange, RefusesWhatIsNoRange) {
  for (const char* text :
       {"gpu", "gpu-[]", "gpu-[3]", "gpu-[3-1]", "gpu-[01-1]", "gpu-[1-02]", "gpu-[a-b]",
        "gpu-]1-2[", "a[1-2]b[1-2]", "[1-2", "[-1-2]", "[1-9999999999]", "[1,2]"}) {
    EXPECT_EQ(parse_name_range(text), std::nullopt) << text;
  }
}

TEST(NameRange, GrowsByTheNextNameOnly) {
  auto range = range_beginning_with("n-098");
  ASSERT_TRUE(range);
  EXPECT_FALSE(extend(*range, "n-100"));
  EXPECT_TRUE(extend(*range, "n-099"));
  EXPECT_TRUE(extend(*range, "n-100"));
  EXPECT_EQ(format_name_range(*range), "n-[098-100]");
  EXPECT_EQ(range_beginning_with("gpu"), std::nullopt);
  auto full = range_beginning_with("09");
  EXPECT_TRUE(extend(*full, "10"));
  auto nines = range_beginning_with("0099");
  EXPECT_TRUE(extend(*nines, "0100"));
  auto last = range_beginning_with("999999999");
  EXPECT_FALSE(extend(*last, "1000000000"));
}

RC_GTEST_PROP(NameRange, ReadsBackFromItsShortForm, ()) {
  const auto start = *rc::gen::inRange(0, 2000);
  const auto zeros = *rc::gen::inRange<std::size_t>(0, 4);
  auto range = range_beginning_with("n" + std::string(zeros, '0') + std::to_string(start));
  RC_ASSERT(range.has_value());
  const auto wanted = *rc::gen::inRange(0, 50);
  for (int i = 1; i <= wanted; ++i) extend(*range, NameRange{*range}.name(start + i));
  RC_ASSERT(parse_name_range(format_name_range(*range)) == range);
}

}  // namespace
}  // namespace weir::formats
