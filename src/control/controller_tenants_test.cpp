// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "control/controller_testing.h"

namespace weir::control {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Rig;
using ::testing::SizeIs;
using testing::small_cluster;

// Two groups of four GPUs; vision is half of research.
TenantTable two_groups() {
  TenantTable table;
  const PoolIndex pool{0};
  table.tenants = {{"research", kNoParent, 3, {{pool, 2, kNoMaximum}}},
                   {"vision", 0, 1, {{pool, 1, 2}}},
                   {"product", kNoParent, 1, {}}};
  return table;
}

std::vector<std::string> names(const Result<ShownTenants>& shown) {
  std::vector<std::string> all;
  if (shown) {
    for (const TenantFigures& tenant : shown->tenants) all.push_back(tenant.name);
  }
  return all;
}

constexpr const char* kOfVision =
    R"({"name":"a","tenant":"vision","command":["x"],"duration":"10m","deadline":"20m"})";

TEST(ControllerTenants, NobodyHasAShareAtFirst) {
  Rig rig{small_cluster(1, 4)};
  EXPECT_THAT(names(rig.tenants()), IsEmpty());
}

TEST(ControllerTenants, AreAdoptedWithADefaultOneAndSurviveARestart) {
  Rig rig{small_cluster(1, 4)};
  EXPECT_THAT(names(rig.change_tenants(two_groups())),
              ElementsAre("research", "vision", "product", "default"));
  const auto before = rig.tenants();
  rig.restart();
  EXPECT_EQ(*rig.tenants(), *before);
  EXPECT_THAT(rig.records("tenants_adopted"), SizeIs(1));
}

TEST(ControllerTenants, SurviveInASnapshotToo) {
  Rig rig{small_cluster(1, 4)};
  rig.close();
  rig.config().snapshot_every = 1;
  rig.open();
  rig.change_tenants(two_groups());
  rig.accept(kOfVision);
  rig.settle();
  const auto before = rig.tenants();
  rig.restart();
  EXPECT_EQ(names(rig.tenants()), names(before));
  EXPECT_EQ(rig.tenants()->tenants[1].pools, before->tenants[1].pools);
}

TEST(ControllerTenants, TheSameAgainLeavesNoTrace) {
  Rig rig{small_cluster(1, 4)};
  rig.change_tenants(two_groups());
  rig.settle();
  const auto end = rig.controller().log_end();
  EXPECT_TRUE(rig.change_tenants(two_groups()));
  EXPECT_TRUE(rig.change_tenants(with_default_tenant(two_groups())));
  EXPECT_EQ(rig.controller().log_end().entry, end.entry);
  TenantTable other = two_groups();
  other.lease = std::chrono::minutes{1};
  EXPECT_TRUE(rig.change_tenants(other));
  EXPECT_THAT(rig.records("tenants_adopted"), SizeIs(2));
}

TEST(ControllerTenants, AnEmptyTableIsNobody) {
  Rig rig{small_cluster(1, 4)};
  EXPECT_TRUE(rig.change_tenants({}));
  EXPECT_THAT(rig.records("tenants_adopted"), IsEmpty());
  rig.change_tenants(two_groups());
  EXPECT_THAT(names(rig.change_tenants({})), IsEmpty());
  rig.restart();
  EXPECT_THAT(names(rig.tenants()), IsEmpty());
}

TEST(ControllerTenants, ShowWhatTheyHave) {
  Rig rig{small_cluster(1, 4)};
  rig.change_tenants(two_groups());
  rig.accept(kOfVision);
  rig.accept(R"({"name":"b","tenant":"product","command":["x"],"duration":"10m","gpus":2})");
  rig.accept(R"({"name":"c","tenant":"nobody","command":["x"],"duration":"10m","gpus":2})");
  rig.settle();
  const auto shown = rig.tenants();
  ASSERT_TRUE(shown);
  const TenantFigures& research = shown->tenants[0];
  const TenantFigures& vision = shown->tenants[1];
  const TenantFigures& product = shown->tenants[2];
  EXPECT_EQ(vision.pools[0].gpus, 1);
  EXPECT_EQ(vision.pools[0].promised, 1);
  EXPECT_EQ(vision.pools[0].borrowed, 0);
  EXPECT_EQ(vision.pools[0].maximum, 2);
  EXPECT_EQ(research.pools[0].gpus, 1) << "a group has what its tenants have";
  EXPECT_EQ(product.pools[0].gpus, 2);
  EXPECT_EQ(product.pools[0].promised, 0);
  EXPECT_EQ(product.pools[0].borrowed, 2);
  EXPECT_EQ(shown->tenants[3].waiting, 1) << "of a tenant that is not in the table";
  EXPECT_EQ(vision.parent, "research");
  EXPECT_NEAR(research.share_of_weight, 0.6, 1e-9);
  EXPECT_NEAR(vision.share_of_weight, 0.6, 1e-9);
  EXPECT_NEAR(vision.share_of_use, 1.0 / 3, 1e-4);
  EXPECT_NEAR(product.share_of_use, 2.0 / 3, 1e-4);
}

TEST(ControllerTenants, AreRefusedByPoliciesThatGiveNoShares) {
  Rig rig{small_cluster(1, 4)};
  rig.close();
  rig.config().policy = "edf-admission";
  rig.open();
  const auto refused = rig.change_tenants(two_groups());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::bad_input);
  EXPECT_THAT(testing::error_of(refused), HasSubstr("policy is \"edf-admission\", expected weir"));
}

TEST(ControllerTenants, WhatCannotBeStoredHasNotHappened) {
  FaultyVfs disk{"controller-tenants"};
  Rig rig{small_cluster(1, 4), "controller-tenants"};
  rig.settle();
  disk.lose_power_at(1, 7);
  const auto refused = rig.change_tenants(two_groups());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  rig.close();
  disk.restore_power();
  rig.open();
  EXPECT_THAT(names(rig.tenants()), IsEmpty());
}

}  // namespace
}  // namespace weir::control
