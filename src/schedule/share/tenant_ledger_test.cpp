// SPDX-License-Identifier: Apache-2.0
#include "schedule/share/tenant_ledger.h"

#include <gtest/gtest.h>

#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using testing::at_second;

constexpr std::uint32_t kResearch = 0;
constexpr std::uint32_t kVision = 1;
constexpr std::uint32_t kSpeech = 2;
constexpr std::uint32_t kProduct = 3;

Tenant tenant(const char* name, std::int32_t parent, std::int32_t guaranteed,
              std::int32_t maximum = kNoMaximum, std::int64_t weight = 1) {
  return {name, parent, weight, {{PoolIndex{0}, guaranteed, maximum}}};
}

// research (8, at most 12) has vision (4) and speech (2, at most 6); product (4, weight 2).
class Ledger {
 public:
  Ledger() : pool_{2, 8, testing::kFreeRescales} {
    auto table = std::make_shared<TenantTable>();
    table->tenants = {tenant("research", kNoParent, 8, 12), tenant("vision", 0, 4),
                      tenant("speech", 0, 2, 6), tenant("product", kNoParent, 4, kNoMaximum, 2)};
    pool_.tell_tenants(std::move(table));
  }
  TenantLedger at(Time now = {}) const { return {pool_.state(), pool_.pool(), now}; }
  testing::PoolUnderTest pool_;
};

TEST(TenantLedger, WithoutATableThereIsOneTenantWithoutLimits) {
  const testing::PoolUnderTest pool{1, 4, testing::kFreeRescales};
  TenantLedger ledger{pool.state(), pool.pool(), Time{}};
  EXPECT_EQ(ledger.tenant_count(), 1U);
  ledger.add(0, 1000);
  EXPECT_TRUE(ledger.may_have(0, 1'000'000));
  EXPECT_EQ(ledger.claim({0, 0, 1}, {0, 0, 1}), Claim::none);
  EXPECT_EQ(ledger.claim({0, 1, 1}, {0, 0, 1}), Claim::priority);
}

TEST(TenantLedger, AMaximumHoldsForTheTenantAndAllAboveIt) {
  auto ledger = Ledger{}.at();
  ledger.add(kVision, 7);
  EXPECT_TRUE(ledger.may_have(kSpeech, 5));
  EXPECT_FALSE(ledger.may_have(kSpeech, 6)) << "research would have 13";
  EXPECT_TRUE(ledger.may_have(kVision, 5));
  EXPECT_TRUE(ledger.may_have(kProduct, 100));
  ledger.add(kVision, -7);
  EXPECT_FALSE(ledger.may_have(kSpeech, 7)) << "its own";
}

TEST(TenantLedger, WhatOthersGiveUpCountsWhereTheyShareALimit) {
  auto ledger = Ledger{}.at();
  ledger.add(kVision, 10);
  ledger.add(kProduct, 4);
  EXPECT_FALSE(ledger.may_have(kSpeech, 4));
  const TenantGpus of_vision{kVision, 2};
  const TenantGpus of_product{kProduct, 4};
  EXPECT_TRUE(ledger.may_have(kSpeech, 4, {&of_vision, 1}));
  EXPECT_FALSE(ledger.may_have(kSpeech, 4, {&of_product, 1}));
  EXPECT_EQ(ledger.excess(kSpeech, 4, {}), 2);
}

TEST(TenantLedger, WhoIsWithinItsGuaranteeClaimsWhatOthersHaveBeyondTheirs) {
  auto ledger = Ledger{}.at();
  ledger.add(kProduct, 6);
  EXPECT_EQ(ledger.claim({kVision, 0, 4}, {kProduct, 5, 4}), Claim::guaranteed);
  ledger.add(kProduct, -2);
  EXPECT_EQ(ledger.claim({kVision, 0, 4}, {kProduct, -5, 4}), Claim::none) << "within its own";
}

TEST(TenantLedger, AGroupBeyondItsGuaranteeClaimsNothingFromOutside) {
  auto ledger = Ledger{}.at();
  ledger.add(kSpeech, 6);
  ledger.add(kProduct, 6);
  EXPECT_EQ(ledger.claim({kVision, 0, 4}, {kProduct, 0, 2}), Claim::none)
      << "research would have 10";
  EXPECT_EQ(ledger.claim({kVision, 0, 4}, {kSpeech, 9, 4}), Claim::guaranteed) << "its sibling's";
}

TEST(TenantLedger, PriorityCountsInATenantAndAmongWhatWasBorrowed) {
  auto ledger = Ledger{}.at();
  ledger.add(kProduct, 6);
  ledger.add(kVision, 8);
  EXPECT_EQ(ledger.claim({kVision, 3, 2}, {kVision, 2, 2}), Claim::priority);
  EXPECT_EQ(ledger.claim({kVision, 3, 2}, {kProduct, 2, 2}), Claim::priority);
  EXPECT_EQ(ledger.claim({kVision, 3, 2}, {kProduct, 2, 4}), Claim::none)
      << "product would have less than it is guaranteed";
  EXPECT_EQ(ledger.claim({kVision, 3, 2}, {kProduct, 4, 2}), Claim::none);
}

TEST(TenantLedger, WhoHasLessGoesFirst) {
  auto ledger = Ledger{}.at();
  ledger.add(kVision, 3);
  ledger.add(kProduct, 4);
  EXPECT_TRUE(ledger.goes_first(kProduct, kVision)) << "weight 2";
  ledger.add(kProduct, 3);
  EXPECT_TRUE(ledger.goes_first(kVision, kProduct));
  EXPECT_TRUE(ledger.goes_first(kSpeech, kVision));
  EXPECT_FALSE(ledger.goes_first(kVision, kVision));
}

TEST(TenantLedger, WhoHadMoreGivesWayUntilBothHadTheSame) {
  Ledger of;
  const JobId job = of.pool_.add_unpromised(testing::a_training_job().tenant("product"));
  of.pool_.resize(job, {0, 8});
  auto ledger = of.at(at_second(3600));
  ledger.add(kProduct, 8);
  ledger.add(kVision, 8);
  EXPECT_EQ(ledger.claim({kVision, 0, 2}, {kProduct, 0, 2}), Claim::fairness);
  EXPECT_EQ(ledger.claim({kVision, 0, 2}, {kProduct, 0, 2, false}), Claim::none) << "too soon";
  EXPECT_EQ(ledger.claim({kProduct, 0, 2}, {kVision, 0, 2}), Claim::none);
}

TEST(TenantLedger, AGroupsOwnJobsAreABranchBesideItsChildren) {
  auto ledger = Ledger{}.at();
  ledger.add(kResearch, 4);
  EXPECT_EQ(ledger.claim({kVision, 0, 4}, {kResearch, 0, 2}), Claim::guaranteed)
      << "2 of its 8 are not its children's";
  ledger.add(kResearch, -2);
  EXPECT_EQ(ledger.claim({kVision, 0, 4}, {kResearch, 0, 2}), Claim::none);
}

}  // namespace
}  // namespace weir::schedule
