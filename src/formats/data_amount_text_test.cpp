// SPDX-License-Identifier: Apache-2.0
#include "formats/data_amount_text.h"

#include <gtest/gtest.h>

namespace weir::formats {
namespace {

TEST(DataAmountText, SizesInPowersOf1000And1024) {
  EXPECT_EQ(parse_data_size("256MB"), 256e6);
  EXPECT_EQ(parse_data_size("256MiB"), 256.0 * 1048576);
  EXPECT_EQ(parse_data_size("256M"), 256.0 * 1048576);
  EXPECT_EQ(parse_data_size("1.5GB"), 1.5e9);
  EXPECT_EQ(parse_data_size("7B"), 7.0);
}

TEST(DataAmountText, RatesInBitsAndBytes) {
  EXPECT_EQ(parse_data_rate("100Gbps"), BytesPerSecond{12.5e9});
  EXPECT_EQ(parse_data_rate("100Gb/s"), BytesPerSecond{12.5e9});
  EXPECT_EQ(parse_data_rate("450GB/s"), BytesPerSecond{450e9});
}

TEST(DataAmountText, RefusesWhatIsNone) {
  for (const char* text : {"", "256", "-1MB", "MB", "0B", "1e3MB", "256 MB", "2000TB", "1mb"})
    EXPECT_FALSE(parse_data_size(text)) << text;
  for (const char* text : {"", "100", "-100Gbps", "0Gbps", "100gbps", "Gbps", "200000Gbps"})
    EXPECT_FALSE(parse_data_rate(text)) << text;
}

}  // namespace
}  // namespace weir::formats
