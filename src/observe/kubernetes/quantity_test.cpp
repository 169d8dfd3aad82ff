// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/quantity.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir::observe {
namespace {

std::string read_back(std::string_view text, bool is_binary = false) {
  const auto quantity = read_quantity(text);
  return quantity ? to_string(*quantity, is_binary) : "no quantity";
}

TEST(Quantity, ReadsEverySuffix) {
  EXPECT_EQ(read_quantity("2"), Quantity::of(2));
  EXPECT_EQ(read_quantity("500m"), Quantity::of_milli(500));
  EXPECT_EQ(read_quantity("0.5"), Quantity::of_milli(500));
  EXPECT_EQ(read_quantity(".5"), Quantity::of_milli(500));
  EXPECT_EQ(read_quantity("1."), Quantity::of(1));
  EXPECT_EQ(read_quantity("1e3"), Quantity::of(1000));
  EXPECT_EQ(read_quantity("1E3"), Quantity::of(1000));
  EXPECT_EQ(read_quantity("5e-1"), Quantity::of_milli(500));
  EXPECT_EQ(read_quantity("1E"), Quantity::of(1'000'000'000'000'000'000));
  EXPECT_EQ(read_quantity("16Gi"), Quantity::of(16LL << 30));
  EXPECT_EQ(read_quantity("1.5Ki"), Quantity::of(1536));
  EXPECT_EQ(read_quantity("7Ei"), Quantity::of(7LL << 60));
  EXPECT_EQ(read_quantity("3n"), (Quantity{3}));
  EXPECT_EQ(read_quantity("-2k"), Quantity::of(-2000));
  EXPECT_EQ(read_quantity("+1"), Quantity::of(1));
}

TEST(Quantity, RefusesWhatIsNone) {
  for (const char* text : {"", "-", ".", "1 Gi", "1GiB", "Gi", "1e", "1e+", "e3", "1.2.3", "0x10",
                           "1Ki1", "--1", "1e400", "99999999999999999999", "9Ei", "1kk", "\xff"})
    EXPECT_FALSE(read_quantity(text)) << text;
}

TEST(Quantity, FinerThanABillionthCountsAsOne) {
  EXPECT_EQ(read_quantity("0.1n"), Quantity{1});
  EXPECT_EQ(read_quantity("0.0000000011"), Quantity{2});
  EXPECT_EQ(read_quantity("0.00000000100000000000000000000001"), Quantity{2});
  EXPECT_EQ(read_quantity("0.001000000000000000000000000000"), Quantity::of_milli(1));
}

TEST(Quantity, IsWrittenAsPeopleDo) {
  EXPECT_EQ(read_back("1500m"), "1500m");
  EXPECT_EQ(read_back("2000m"), "2");
  EXPECT_EQ(read_back("16Gi", true), "16Gi");
  EXPECT_EQ(read_back("1536Mi", true), "1536Mi");
  EXPECT_EQ(read_back("1000", true), "1000");
  EXPECT_EQ(read_back("-3u"), "-3u");
  EXPECT_EQ(read_back("0", true), "0");
}

TEST(Quantity, RoundsAgainstWhoAsks) {
  EXPECT_EQ((Quantity{1}).units_rounded_up(), 1);
  EXPECT_EQ((Quantity{1}).milli_rounded_down(), 0);
  EXPECT_EQ(Quantity::of_milli(1999).units_rounded_down(), 1);
  EXPECT_EQ(Quantity::of_milli(-1).units_rounded_down(), -1);
}

RC_GTEST_PROP(QuantityProperty, WhatIsWrittenReadsBackTheSame, ()) {
  const auto units = *rc::gen::arbitrary<std::int64_t>();
  const auto billionths = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000);
  const Quantity quantity{static_cast<__int128>(units / 2) * 1'000'000'000 + billionths};
  for (const bool is_binary : {false, true})
    RC_ASSERT(read_quantity(to_string(quantity, is_binary)) == quantity);
}

}  // namespace
}  // namespace weir::observe
