// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/known_networks.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weir::predict {
namespace {

struct Counted {
  const char* name;
  std::int64_t parameters;
  std::int64_t tensors;
};

// As PyTorch counts the same networks (docs/measurements/h200_iterations.csv.gz).
TEST(KnownNetworks, HaveTheParametersOfTheRealOnes) {
  for (const Counted& network : {Counted{"resnet50", 25557032, 161},
                                 {"vgg16", 138357544, 32},
                                 {"bert-base", 109512762, 153},
                                 {"gpt2-medium", 354823168, 292},
                                 {"llama-1b", 1104218112, 147},
                                 {"resnet18", 11689512, 62},
                                 {"vgg11", 132863336, 22},
                                 {"bert-mini", 31815482, 69},
                                 {"gpt-mini", 50350080, 76},
                                 {"llama-mini", 121908224, 48}}) {
    const auto ops = known_network(network.name, 3);
    ASSERT_TRUE(ops) << network.name;
    EXPECT_EQ(ops->parameters, network.parameters) << network.name;
    EXPECT_EQ(ops->tensors, network.tensors) << network.name;
  }
}

TEST(KnownNetworks, ListsNoCallTwice) {
  for (const std::string_view name : known_networks()) {
    const auto ops = known_network(name, 4)->ops;
    for (auto one = ops.begin(); one != ops.end(); ++one)
      EXPECT_TRUE(std::none_of(one + 1, ops.end(), [&](const TrainingOp& other) {
        return other.phase == one->phase && other.call == one->call;
      })) << name;
  }
}

std::int64_t count_of(const TrainingOps& ops, KernelFamily family, const std::string& variant) {
  std::int64_t count = 0;
  for (const TrainingOp& op : ops.ops)
    if (op.call.family == family && op.call.variant == variant) count += op.count;
  return count;
}

TEST(KnownNetworks, ResNet50HasItsConvolutionsAndImagesNeedNoGradient) {
  const TrainingOps ops = *known_network("resnet50", 8);
  EXPECT_EQ(count_of(ops, KernelFamily::conv, "fwd/nhwc"), 53);
  EXPECT_EQ(count_of(ops, KernelFamily::conv, "wgrad/nhwc"), 53);
  EXPECT_EQ(count_of(ops, KernelFamily::conv, "dgrad/nhwc"), 52);
}

// Forward: four products a block and the words; backward: two for each.
TEST(KnownNetworks, GptHasItsProducts) {
  const TrainingOps ops = *known_network("gpt2-medium", 8);
  EXPECT_EQ(count_of(ops, KernelFamily::gemm, "nt"), 4 * 24 + 1);
  EXPECT_EQ(count_of(ops, KernelFamily::gemm, "nn"), 4 * 24 + 1);
  EXPECT_EQ(count_of(ops, KernelFamily::gemm, "tn"), 4 * 24 + 1);
  EXPECT_EQ(count_of(ops, KernelFamily::attention, "bwd/cudnn"), 24);
}

TEST(KnownNetworks, OthersAreNotKnown) {
  EXPECT_FALSE(known_network("resnet5", 8));
}

}  // namespace
}  // namespace weir::predict
