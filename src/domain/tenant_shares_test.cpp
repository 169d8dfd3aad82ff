// SPDX-License-Identifier: Apache-2.0
#include "domain/tenant_shares.h"

#include <gmock/gmock.h>

namespace weir {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

TEST(TenantShares, AGroupsShareIsSharedOutInIt) {
  TenantTable table;
  table.tenants = {{"research", kNoParent, 3, {}},
                   {"vision", 0, 1, {}},
                   {"language", 0, 2, {}},
                   {"product", kNoParent, 1, {}}};
  EXPECT_THAT(shares_of_weight(table),
              ElementsAre(DoubleEq(0.75), DoubleEq(0.25), DoubleEq(0.5), DoubleEq(0.25)));
  EXPECT_TRUE(shares_of_weight({}).empty());
}

TEST(TenantShares, GroupsAreFoundFromTheInsideOut) {
  TenantTable table;
  table.tenants = {
      {"a", kNoParent, 1, {}}, {"b", 0, 1, {}}, {"c", 1, 1, {}}, {"d", kNoParent, 1, {}}};
  std::vector<std::size_t> seen;
  for_each_group(table, 2, [&](std::size_t at) { seen.push_back(at); });
  EXPECT_THAT(seen, ElementsAre(2, 1, 0));
}

}  // namespace
}  // namespace weir
