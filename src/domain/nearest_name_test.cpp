// SPDX-License-Identifier: Apache-2.0
#include "domain/nearest_name.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace weir {
namespace {

constexpr std::array<std::string_view, 5> kKeys{"name", "cpus", "gpus", "memory", "models"};

TEST(NearestName, FindsTheWordMeant) {
  EXPECT_EQ(nearest_name("cpu", kKeys), "cpus");
  EXPECT_EQ(nearest_name("gpu", kKeys), "gpus");
  EXPECT_EQ(nearest_name("mempry", kKeys), "memory");
  EXPECT_EQ(nearest_name("nmae", kKeys), "name");
  EXPECT_EQ(nearest_name("model", kKeys), "models");
}

TEST(NearestName, FindsNothingForAnotherWord) {
  for (const char* word : {"", "x", "deadline", "tags"})
    EXPECT_EQ(nearest_name(word, kKeys), std::nullopt) << word;
  EXPECT_EQ(nearest_name(std::string(100000, 'n'), kKeys), std::nullopt);
}

}  // namespace
}  // namespace weir
