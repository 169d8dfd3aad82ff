// SPDX-License-Identifier: Apache-2.0
#include "predict/training/op_traits.h"

#include <gtest/gtest.h>

#include "predict/training/profile_testing.h"

namespace weir::predict {
namespace {

TEST(OpTraits, EveryFamilyKnowsItsOperatorsAndNoOthers) {
  for (const std::string& op : gpt_op_names()) EXPECT_TRUE(op_traits(ModelFamily::gpt, op)) << op;
  for (const std::string& op : t5_op_names()) EXPECT_TRUE(op_traits(ModelFamily::t5, op)) << op;
  for (const std::string& op : resnet_op_names(3)) {
    EXPECT_TRUE(op_traits(ModelFamily::resnet, op)) << op;
  }
  EXPECT_FALSE(op_traits(ModelFamily::gpt, "dec-attention-qkv-1"));
  EXPECT_FALSE(op_traits(ModelFamily::t5, "gpt-post-process"));
  EXPECT_FALSE(op_traits(ModelFamily::resnet, "softmax"));
}

TEST(OpTraits, OnlyTheFirstOperatorOfABlockStartsIt) {
  int starts = 0;
  for (const std::string& op : gpt_op_names()) {
    starts += op_traits(ModelFamily::gpt, op)->starts_block ? 1 : 0;
  }
  EXPECT_EQ(starts, 1);
  EXPECT_TRUE(op_traits(ModelFamily::gpt, "enc-1st-layernorm")->starts_block);
  EXPECT_TRUE(op_traits(ModelFamily::resnet, "block-1-0-conv1")->starts_block);
  EXPECT_FALSE(op_traits(ModelFamily::resnet, "conv1")->starts_block);
}

TEST(OpTraits, TheDerivedRuleBeginsWithNoEndOfTheModelNoBlockStartAndNoRelu) {
  for (const char* op : {"encoder-embedding", "enc-1st-layernorm", "gpt-post-process"}) {
    EXPECT_TRUE(op_traits(ModelFamily::gpt, op)->leads_no_group) << op;
  }
  for (const char* op : {"conv1", "block-0-0-conv1", "block-0-0-relu"}) {
    EXPECT_TRUE(op_traits(ModelFamily::resnet, op)->leads_no_group) << op;
  }
  EXPECT_FALSE(op_traits(ModelFamily::resnet, "relu1")->leads_no_group);
  EXPECT_FALSE(op_traits(ModelFamily::gpt, "enc-attention-score")->leads_no_group);
}

TEST(OpTraits, MemoryThatIsSharedOrInPlaceCountsForMoreOrLess) {
  EXPECT_EQ(op_traits(ModelFamily::gpt, "enc-attention-softmax")->activation_factor, 0);
  EXPECT_EQ(op_traits(ModelFamily::gpt, "enc-attention-dropout")->activation_factor, 1.5);
  EXPECT_EQ(op_traits(ModelFamily::gpt, "enc-MLP-gelu")->activation_factor, 1);
  EXPECT_EQ(op_traits(ModelFamily::t5, "dec-attention-softmax-1")->activation_factor, 1);
  for (const char* op : {"bn1", "block-2-3-bn3", "block-0-1-downsample", "block-1-0-downsample"}) {
    EXPECT_EQ(op_traits(ModelFamily::resnet, op)->activation_factor, 0) << op;
  }
  for (const char* op : {"block-0-0-bn1", "block-0-0-downsample", "block-2-3-bn2"}) {
    EXPECT_EQ(op_traits(ModelFamily::resnet, op)->activation_factor, 1) << op;
  }
}

TEST(OpTraits, TheTwoSplitsOfAProductAreEachOthersOpposite) {
  const OpTraits qkv = *op_traits(ModelFamily::gpt, "enc-attention-qkv");
  EXPECT_EQ(qkv.input[0], Spread::copies_in_middle);
  EXPECT_EQ(qkv.output[0], Spread::split_hidden);
  EXPECT_EQ(qkv.input[1], qkv.output[0]);
  EXPECT_EQ(qkv.output[1], qkv.input[0]);
}

TEST(OpTraits, ModelsAreKnownByTheirName) {
  EXPECT_EQ(model_family("gpt"), ModelFamily::gpt);
  EXPECT_EQ(model_family("t5"), ModelFamily::t5);
  EXPECT_EQ(model_family("resnet"), ModelFamily::resnet);
  EXPECT_FALSE(model_family("llama"));
}

}  // namespace
}  // namespace weir::predict
