// SPDX-License-Identifier: Apache-2.0
#include "formats/reserve_text.h"

#include <gtest/gtest.h>

namespace weir::formats {
namespace {

TEST(ReserveText, IsANumberOfGpusOrAShareOfThePool) {
  EXPECT_EQ(parse_reserve("0"), (Reserve{0, 0}));
  EXPECT_EQ(parse_reserve("8"), (Reserve{8, 0}));
  EXPECT_EQ(parse_reserve("5%"), (Reserve{0, 50}));
  EXPECT_EQ(parse_reserve("2.5%"), (Reserve{0, 25}));
  EXPECT_EQ(parse_reserve("90%"), (Reserve{0, 900}));
}

TEST(ReserveText, IsNothingElse) {
  for (const char* text : {"", "%", "-1", "8.5", "91%", "2.55%", "8 GPUs", "5 %", "1e3", "1000001"})
    EXPECT_FALSE(parse_reserve(text)) << text;
}

}  // namespace
}  // namespace weir::formats
