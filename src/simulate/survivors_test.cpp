// SPDX-License-Identifier: Apache-2.0
#include "simulate/survivors.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

namespace weir::simulate {
namespace {

TEST(Survivors, StrikesTheKthThatIsLeft) {
  Survivors survivors{5};
  EXPECT_EQ(survivors.strike(1), 1U);
  EXPECT_EQ(survivors.strike(1), 2U);  // 0, 2, 3, 4 are left
  EXPECT_EQ(survivors.strike(2), 4U);  // 0, 3, 4
  EXPECT_EQ(survivors.size(), 2U);
}

RC_GTEST_PROP(Survivors, AreWhatErasingFromAVectorLeaves, (std::vector<std::uint16_t> draws)) {
  const auto count = *rc::gen::inRange<std::size_t>(1, 300);
  Survivors survivors{count};
  std::vector<std::size_t> plain(count);
  std::iota(plain.begin(), plain.end(), 0U);
  for (const std::uint16_t draw : draws) {
    if (plain.empty()) break;
    const std::size_t k = draw % plain.size();
    RC_ASSERT(survivors.strike(k) == plain[k]);
    plain.erase(plain.begin() + static_cast<std::ptrdiff_t>(k));
    RC_ASSERT(survivors.size() == plain.size());
  }
}

}  // namespace
}  // namespace weir::simulate
