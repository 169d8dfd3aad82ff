// SPDX-License-Identifier: Apache-2.0
#include "domain/record.h"

#include <gtest/gtest.h>

#include <set>

namespace weir {
namespace {

TEST(Reason, EveryCodeHasAnExplanationOfItsOwn) {
  std::set<std::string> texts;
  for (int code = 0; code <= static_cast<int>(ReasonCode::workload_drifted); ++code) {
    const std::string text = to_string(Reason{static_cast<ReasonCode>(code), 7});
    EXPECT_NE(text, "unknown reason") << code;
    EXPECT_TRUE(texts.insert(text).second) << text;
  }
}

TEST(PlacementList, HoldsOneWithoutAllocatingAndManyShared) {
  const Placement here{NodeIndex{3}, GpuMask{5}};
  EXPECT_TRUE(PlacementList{}.empty());
  EXPECT_EQ(PlacementList{here}.all().front(), here);
  EXPECT_EQ(PlacementList{std::vector{here}}, PlacementList{here});
  const PlacementList gang{std::vector{here, Placement{NodeIndex{4}, GpuMask{1}}}};
  const PlacementList copy = gang;
  EXPECT_EQ(copy.size(), 2U);
  EXPECT_EQ(copy.all().data(), gang.all().data());
  EXPECT_FALSE(gang == PlacementList{here});
}

TEST(GpuMask, CountsAndContains) {
  GpuMask mask;
  mask.insert(0);
  mask.insert(15);
  EXPECT_EQ(mask.count(), 2);
  EXPECT_TRUE(mask.contains(15));
  EXPECT_FALSE(mask.contains(7));
}

}  // namespace
}  // namespace weir
