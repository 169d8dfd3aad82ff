// SPDX-License-Identifier: Apache-2.0
#include "domain/planned_model.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TransformerModel gpt(std::int64_t layers, std::int64_t hidden) {
  TransformerModel model;
  model.layers = layers;
  model.hidden = hidden;
  model.heads = model.kv_heads = 1;
  model.head_dim = hidden;
  model.ffn = 4 * hidden;
  model.vocab = 1000;
  return model;
}

TEST(PlannedModel, IsNamedAfterItsFileItsSizeAndItsSequence) {
  EXPECT_EQ(planned_model_name("gpt", gpt(12, 768), 1024), "gpt-86.5M-s1024");
  EXPECT_EQ(planned_model_name("a b", gpt(1, 8), 7), "a-b-16.8K-s7");
  EXPECT_EQ(planned_model_name("big", gpt(100, 12288), 2048), "big-181B-s2048");
}

TEST(PlannedModel, ALongFileNameIsCutBetweenCharacters) {
  const std::string title = std::string(199, 'x') + "\u00e9" + "y";  // 199, two and one bytes
  EXPECT_EQ(planned_model_name(title, gpt(1, 8), 7), std::string(199, 'x') + "-16.8K-s7");
  EXPECT_EQ(planned_model_name(std::string(198, 'x') + "\u00e9y", gpt(1, 8), 7),
            std::string(198, 'x') + "\u00e9-16.8K-s7");
}

TEST(PlannedModel, APoolIsTakenToBeLikeItsFirstNode) {
  Cluster cluster;
  const auto a100 = cluster.models.intern("A100");
  const auto t4 = cluster.models.intern("T4");
  const PoolIndex large = cluster.pool_named("large");
  const PoolIndex without = cluster.pool_named("cpu");
  const PoolIndex small = cluster.pool_named("small");
  const auto node = [&](std::uint64_t id, PoolIndex pool, std::int32_t gpus, GpuModelId model) {
    cluster.nodes.push_back({NodeId{id}, "n", pool, {}, {}, gpus, model});
  };
  node(1, small, 2, *t4);
  node(2, large, 8, *a100);
  node(3, without, 0, kNoGpuModel);
  node(4, large, 4, *a100);
  node(5, large, 8, *a100);
  const auto pools = pools_with_gpus(cluster);
  ASSERT_EQ(pools.size(), 2U);
  EXPECT_EQ(pools[0], (PoolGpus{large, "large", "A100", 8, 16})) << "20 GPUs";
  EXPECT_EQ(pools[1], (PoolGpus{small, "small", "T4", 2, 2}));
}

}  // namespace
}  // namespace weir
