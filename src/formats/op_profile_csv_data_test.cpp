// SPDX-License-Identifier: Apache-2.0
//
// The public profiles of the Aceso artifact.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>

#include "formats/data_dir_testing.h"
#include "formats/op_profile_csv.h"
#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

TEST(OpProfileData, HoldsNineteenModels) {
  WEIR_NEEDS_DATA(data);
  const auto names = list_op_profiles(data / "aceso");
  ASSERT_TRUE(names) << mistakes_of(names);
  EXPECT_EQ(names->size(), 19U);
  EXPECT_EQ(names->front(), (ProfileName{"eurosys", "gpt", "13B"}));
  EXPECT_EQ(names->back(), (ProfileName{"miniset", "t5", "770M"}));
}

TEST(OpProfileData, GptOnTheSmallMachineIsComplete) {
  WEIR_NEEDS_DATA(data);
  const auto profile = read_op_profile(data / "aceso", {"miniset", "gpt", "1_3B"});
  ASSERT_TRUE(profile) << mistakes_of(profile);
  EXPECT_EQ(profile->ops.size(), 16U);
  EXPECT_EQ(profile->ops.front(), "encoder-embedding");
  EXPECT_EQ(profile->tables.size(), 24U);  // microbatches 1, 2, 4, 8; tp 1, 2, 4; both splits
  EXPECT_EQ(profile->collectives.size(), 8U);
  EXPECT_EQ(profile->inside_node.size(), 11U);
  EXPECT_EQ(profile->inside_node.front(), (LinkSpeed{1, 7.41}));
  EXPECT_EQ(profile->inside_node.back(), (LinkSpeed{1024, 11.05}));
  EXPECT_TRUE(profile->between_nodes.empty());
}

TEST(OpProfileData, KeepsEveryDigitOfARow) {
  WEIR_NEEDS_DATA(data);
  const auto profile = read_op_profile(data / "aceso", {"eurosys", "gpt", "13B"});
  ASSERT_TRUE(profile) << mistakes_of(profile);
  EXPECT_EQ(profile->tables.at(OpVariant{1, 1, 0})[2],
            (OpMeasure{4002.383, 6903.486, 40, 80, 150, 60, 60, 434}));
  EXPECT_EQ(profile->between_nodes.size(), 11U);
  EXPECT_EQ(profile->collectives.at({Collective::all_gather, 2}).at(30), 1.191);
}

TEST(OpProfileData, EveryModelIsReadInLessThanAMoment) {
  WEIR_NEEDS_DATA(data);
  const auto names = list_op_profiles(data / "aceso");
  ASSERT_TRUE(names);
  std::size_t rows = 0;
  std::size_t times = 0;
  double slowest = 0;
  for (const ProfileName& name : *names) {
    const auto before = std::chrono::steady_clock::now();
    const auto profile = read_op_profile(data / "aceso", name);
    const std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - before;
    ASSERT_TRUE(profile) << mistakes_of(profile);
    slowest = std::max(slowest, took.count());
    rows += profile->tables.size() * profile->ops.size();
    for (const auto& [kind, by_size] : profile->collectives) times += by_size.size();
  }
  std::cout << "the slowest of " << names->size() << " took " << slowest << " ms\n";
  EXPECT_EQ(rows, 39'292U);
  EXPECT_EQ(times, 12'302U);
  EXPECT_LT(slowest, 2000);  // far above what it takes: a machine may be busy
}

}  // namespace
}  // namespace weir::formats
