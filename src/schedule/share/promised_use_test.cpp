// SPDX-License-Identifier: Apache-2.0
#include "schedule/share/promised_use.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>

#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using testing::at_second;
using testing::between;

Timeline of(std::uint32_t gpus, std::int64_t from, std::int64_t to) {
  return {{{at_second(from), {0, gpus}}}, at_second(to)};
}

// 16 GPUs; a and b are guaranteed 4 each, b has at most 6.
testing::PoolUnderTest two_tenants() {
  testing::PoolUnderTest pool{2, 8, testing::kFreeRescales};
  auto table = std::make_shared<TenantTable>();
  table->tenants = {{"a", kNoParent, 1, {{PoolIndex{0}, 4, kNoMaximum}}},
                    {"b", kNoParent, 1, {{PoolIndex{0}, 4, 6}}}};
  pool.tell_tenants(std::move(table));
  return pool;
}

TEST(PromisedUse, WithoutTenantsNothingIsLimited) {
  const testing::PoolUnderTest pool{1, 4, testing::kFreeRescales};
  const PromisedUse used{pool.state(), pool.pool(), Time{}};
  EXPECT_FALSE(used.is_limited());
  const CapacityProfile free{Time{}, 3};
  EXPECT_EQ(used.within(free, 0, QuotaRule::guarantees), free);
}

TEST(PromisedUse, LeavesOthersWhatTheyAreGuaranteed) {
  const auto pool = two_tenants();
  PromisedUse used{pool.state(), pool.pool(), Time{}};
  EXPECT_EQ(used.room_for(0, QuotaRule::guarantees).free_at(Time{}), 12);
  EXPECT_EQ(used.room_for(1, QuotaRule::guarantees).free_at(Time{}), 6) << "its maximum";
  EXPECT_EQ(used.room_for(2, QuotaRule::guarantees).free_at(Time{}), 8) << "of nobody";
  EXPECT_EQ(used.room_for(0, QuotaRule::maxima).free_at(Time{}), 16);
}

TEST(PromisedUse, FollowsWhatWasPromisedOverTime) {
  const auto pool = two_tenants();
  PromisedUse used{pool.state(), pool.pool(), Time{}};
  used.add(1, of(2, 100, 200), at_second(150));
  used.add(0, of(8, 0, 120), at_second(120));
  const CapacityProfile room = used.room_for(1, QuotaRule::guarantees);
  EXPECT_EQ(room.free_at(at_second(0)), 6);
  EXPECT_EQ(room.free_at(at_second(110)), 4);
  EXPECT_EQ(room.free_at(at_second(149)), 4);
  EXPECT_EQ(room.free_at(at_second(150)), 6);
  EXPECT_EQ(used.room_for(2, QuotaRule::guarantees).free_at(at_second(50)), 4);
}

// Brute force: the most that can be added to one tenant so that every tenant could still have its
// guarantee.
RC_GTEST_PROP(PromisedUse, IsTheMostThatLeavesEveryGuarantee, ()) {
  testing::PoolUnderTest pool{2, 8, testing::kFreeRescales};
  auto table = std::make_shared<TenantTable>();
  const int count = between(1, 6);
  for (int i = 0; i < count; ++i) {
    const auto parent = static_cast<std::int32_t>(between(0, i + 1)) - 1;
    const std::int32_t guaranteed = between(0, 6);
    table->tenants.push_back({std::string(1, static_cast<char>('a' + i)),
                              parent,
                              1,
                              {{PoolIndex{0}, guaranteed, guaranteed + between(0, 12)}}});
  }
  RC_PRE(is_well_formed(*table));
  pool.tell_tenants(table);
  const auto& tenants = pool.state().tenants->tenants;
  PromisedUse used{pool.state(), pool.pool(), Time{}};
  std::vector<std::int32_t> own(tenants.size(), 0);
  for (int i = between(0, 5); i > 0; --i) {
    const auto tenant = between<std::uint32_t>(0, static_cast<std::uint32_t>(tenants.size()));
    const auto gpus = between<std::uint32_t>(1, 5);
    used.add(tenant, of(gpus, 0, 10), at_second(10));
    own[tenant] += static_cast<std::int32_t>(gpus);
  }
  const auto who = between<std::uint32_t>(0, static_cast<std::uint32_t>(tenants.size()));
  const std::int32_t room = used.room_for(who, QuotaRule::guarantees).free_at(Time{});
  // What a tenant and those below it are owed, with x more for `who`.
  const auto is_fine = [&](std::int32_t x) {
    std::vector<std::int32_t> sum = own;
    sum[who] += x;
    std::vector<std::int32_t> promised = sum;
    std::int32_t all = 0;
    for (std::size_t i = tenants.size(); i-- > 0;) {
      const TenantQuota quota = tenants[i].quota_in(PoolIndex{0});
      const std::int32_t owed = std::max(sum[i], quota.guaranteed);
      bool is_above = false;
      for (auto at = static_cast<std::int32_t>(who); at != kNoParent;
           at = tenants[static_cast<std::size_t>(at)].parent)
        is_above = is_above || at == static_cast<std::int32_t>(i);
      if (is_above && promised[i] > quota.maximum) return false;
      if (tenants[i].parent == kNoParent) {
        all += owed;
      } else {
        sum[static_cast<std::size_t>(tenants[i].parent)] += owed;
        promised[static_cast<std::size_t>(tenants[i].parent)] += promised[i];
      }
    }
    std::int32_t owed_before = 0;  // what was owed too much before is not its fault
    std::vector<std::int32_t> before = own;
    for (std::size_t i = tenants.size(); i-- > 0;) {
      const std::int32_t owed = std::max(before[i], tenants[i].quota_in(PoolIndex{0}).guaranteed);
      if (tenants[i].parent == kNoParent) {
        owed_before += owed;
      } else {
        before[static_cast<std::size_t>(tenants[i].parent)] += owed;
      }
    }
    return all <= std::max(16, owed_before);
  };
  std::int32_t most = 0;
  while (most < 16 && is_fine(most + 1)) ++most;
  RC_ASSERT(room == most);
}

}  // namespace
}  // namespace weir::schedule
