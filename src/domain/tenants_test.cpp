// SPDX-License-Identifier: Apache-2.0
#include "domain/tenants.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TenantTable a_table() {
  TenantTable table;
  table.tenants = {{"research", kNoParent, 2, {{PoolIndex{0}, 8, 12}}},
                   {"vision", 0, 1, {{PoolIndex{0}, 6, kNoMaximum}}},
                   {"speech", 0, 1, {{PoolIndex{0}, 2, 4}, {PoolIndex{1}, 0, 4}}}};
  return table;
}

TEST(Tenants, ATableIsWellFormed) {
  EXPECT_TRUE(is_well_formed(a_table()));
  EXPECT_TRUE(is_well_formed(TenantTable{}));
}

TEST(Tenants, EachMistakeIsFound) {
  const auto with = [](auto change) {
    TenantTable table = a_table();
    change(table);
    return is_well_formed(table);
  };
  EXPECT_FALSE(with([](auto& t) { t.tenants[1].name = "research"; })) << "twice";
  EXPECT_FALSE(with([](auto& t) { t.tenants[1].name = ""; }));
  EXPECT_FALSE(with([](auto& t) { t.tenants[1].parent = 1; })) << "its own parent";
  EXPECT_FALSE(with([](auto& t) { t.tenants[0].parent = 2; })) << "a child before its parent";
  EXPECT_FALSE(with([](auto& t) { t.tenants[0].weight = 0; }));
  EXPECT_FALSE(with([](auto& t) { t.tenants[0].quotas[0].maximum = 7; })) << "below its guarantee";
  EXPECT_FALSE(with([](auto& t) { t.tenants[0].quotas[0].guaranteed = -1; }));
  EXPECT_FALSE(with([](auto& t) { t.tenants[1].quotas[0].guaranteed = 7; })) << "7 + 2 of 8";
  EXPECT_FALSE(with([](auto& t) { t.tenants[2].quotas[1].guaranteed = 1; }))
      << "its parent has none in that pool";
  EXPECT_FALSE(with([](auto& t) { t.tenants[2].quotas[1].pool = PoolIndex{0}; })) << "twice";
  EXPECT_FALSE(with([](auto& t) { t.lease = Duration{0}; }));
  EXPECT_FALSE(with([](auto& t) { t.half_life = Duration{-1}; }));
}

TEST(Tenants, AJobOfNobodyListedIsOfTheDefaultTenant) {
  const TenantTable table = with_default_tenant(a_table());
  EXPECT_EQ(table.index_of("speech"), 2U);
  EXPECT_EQ(table.index_of("strangers"), 3U);
  EXPECT_EQ(table.index_of(""), 3U);
  EXPECT_EQ(with_default_tenant(table), table);
  EXPECT_TRUE(with_default_tenant(TenantTable{}).empty());
}

TEST(Tenants, InAPoolWithoutQuotaThereIsNoLimitAndNoGuarantee) {
  EXPECT_EQ(a_table().tenants[0].quota_in(PoolIndex{7}),
            (TenantQuota{PoolIndex{7}, 0, kNoMaximum}));
}

}  // namespace
}  // namespace weir
