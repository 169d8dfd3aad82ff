// SPDX-License-Identifier: Apache-2.0
#include "domain/cluster.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Cluster, NumbersPoolsInOrderOfFirstAppearance) {
  Cluster cluster;
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(cluster.pool_named("pool-" + std::to_string(i)), PoolIndex{i});
  }
  EXPECT_EQ(cluster.pool_named("pool-7"), PoolIndex{7});
  EXPECT_EQ(cluster.pools.size(), 100U);
}

}  // namespace
}  // namespace weir
