// SPDX-License-Identifier: Apache-2.0
#include "report/block_text.h"

#include <gtest/gtest.h>

namespace weir::report {
namespace {

TEST(BlockText, NamesNodesFromOneAndGpusFromZero) {
  const std::vector<formats::RecordLogHeader::Pool> pools = {{"T4", 16, 4, 4, {}},
                                                             {"A100", 4, 8, 8, {}}};
  EXPECT_EQ(block_text(pools, PoolIndex{0}, kNoGpus), "-");
  EXPECT_EQ(block_text(pools, PoolIndex{0}, {0, 4}), "T4 node 1");
  EXPECT_EQ(block_text(pools, PoolIndex{0}, {8, 1}), "T4 node 3, GPU 0");
  EXPECT_EQ(block_text(pools, PoolIndex{0}, {10, 2}), "T4 node 3, GPUs 2-3");
  EXPECT_EQ(block_text(pools, PoolIndex{0}, {16, 16}), "T4 nodes 5-8");
  EXPECT_EQ(block_text(pools, PoolIndex{1}, {4, 4}), "A100 node 1, GPUs 4-7");
  EXPECT_EQ(block_text(pools, PoolIndex{7}, {4, 4}), "GPUs 4-7") << "a pool that is not known";
}

}  // namespace
}  // namespace weir::report
