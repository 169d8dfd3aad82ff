// SPDX-License-Identifier: Apache-2.0
#include "predict/training/model_ops.h"

#include <gtest/gtest.h>

#include "predict/training/profile_testing.h"

namespace weir::predict {
namespace {

std::string mistakes_of(const OpProfile& profile, int layers) {
  const auto ops = model_ops(profile, layers);
  return ops ? "" : to_string(ops.error().details);
}

// Units follow each other without a gap, and every operator knows its own.
void expect_units_cover(const ModelOps& ops) {
  int next = 0;
  for (std::size_t unit = 0; unit < ops.units.size(); ++unit) {
    EXPECT_EQ(ops.units[unit].first, next);
    for (int i = 0; i < ops.units[unit].size; ++i, ++next) {
      EXPECT_EQ(ops.unit_of[static_cast<std::size_t>(next)], static_cast<int>(unit));
    }
  }
  EXPECT_EQ(next, ops.size());
}

TEST(ModelOps, AGptRepeatsItsLayer) {
  const auto ops = model_ops(random_gpt_profile(1), 24);
  ASSERT_TRUE(ops);
  EXPECT_EQ(ops->size(), 315);
  EXPECT_EQ(ops->layers, 24);
  EXPECT_EQ(ops->units.size(), 26U);
  EXPECT_EQ(ops->rows[0], 0);
  EXPECT_EQ(ops->rows[1], 1);
  EXPECT_EQ(ops->rows[14], 1);  // the second layer
  EXPECT_EQ(ops->rows[313], 14);
  EXPECT_EQ(ops->rows[314], 15);
  EXPECT_EQ(ops->units[1].kind, ops->units[24].kind);
  EXPECT_NE(ops->units[0].kind, ops->units[1].kind);
  EXPECT_NE(ops->units[24].kind, ops->units[25].kind);
  expect_units_cover(*ops);
}

TEST(ModelOps, AT5RepeatsTheLayersOfItsEncoderAndOfItsDecoder) {
  const auto ops = model_ops(random_t5_profile(1), 24);
  ASSERT_TRUE(ops);
  EXPECT_EQ(ops->size(), 821);
  EXPECT_EQ(ops->units.size(), 1U + 24 + 1 + 24 + 1);
  EXPECT_EQ(ops->units[25].size, 2);  // the encoder's end and the decoder's beginning
  EXPECT_EQ(ops->units[26].size, 21);
  EXPECT_EQ(ops->rows[820], 38);
  expect_units_cover(*ops);
}

TEST(ModelOps, AResidualNetworkIsCutWhereBlocksStart) {
  const auto ops = model_ops(random_resnet_profile(1, 3), 0);
  ASSERT_TRUE(ops);
  EXPECT_EQ(ops->size(), 30);
  ASSERT_EQ(ops->units.size(), 4U);
  EXPECT_EQ(ops->units[0].size, 4);
  EXPECT_EQ(ops->units[1].size, 8);
  EXPECT_EQ(ops->units[3].size, 10);  // with the end of the model
  expect_units_cover(*ops);
}

TEST(ModelOps, ANetworkWithoutBlocksIsCutAllTheSame) {
  const std::vector<std::string> names(70, "conv");
  const auto ops = model_ops(random_profile_of("resnet", names, 1), 0);
  ASSERT_TRUE(ops);
  EXPECT_EQ(ops->units.size(), 4U);
  for (const ModelUnit& unit : ops->units) EXPECT_LE(unit.size, kMostUnitOps);
  expect_units_cover(*ops);
}

TEST(ModelOps, AnOperatorThatTheModelDoesNotHaveIsNamed) {
  OpProfile profile = random_gpt_profile(1);
  profile.ops[3] = "enc-attention-scores";
  profile.ops[5] = "dropout";
  EXPECT_EQ(mistakes_of(profile, 2),
            "random gpt small: op is \"enc-attention-scores\", expected an operator of gpt\n"
            "random gpt small: op is \"dropout\", expected an operator of gpt\n");
}

TEST(ModelOps, AProfileWithTooFewOperatorsIsRefused) {
  OpProfile profile = random_gpt_profile(1);
  profile.ops.pop_back();
  EXPECT_EQ(mistakes_of(profile, 2),
            "random gpt small: op is \"15 operators\", expected 16 operators\n");
}

TEST(ModelOps, AModelOfNoFamilyIsRefused) {
  OpProfile profile = random_gpt_profile(1);
  profile.model = "llama";
  EXPECT_EQ(mistakes_of(profile, 2),
            "random llama small: model is \"llama\", expected gpt, t5 or resnet\n");
}

TEST(ModelOps, LayersComeFromTheSizeUnlessTheyAreGiven) {
  OpProfile profile = random_gpt_profile(1);
  EXPECT_NE(mistakes_of(profile, 0), "");
  profile.size = "6_7B";
  EXPECT_EQ(model_ops(profile, 0)->layers, 32);
  EXPECT_EQ(model_ops(profile, 5)->layers, 5);
  EXPECT_EQ(known_size("t5", "22B").profile, "11B");
  EXPECT_EQ(known_size("t5", "22B").layers, 48);
  EXPECT_EQ(known_size("gpt", "unknown").layers, 0);
}

}  // namespace
}  // namespace weir::predict
