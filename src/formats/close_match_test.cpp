// SPDX-License-Identifier: Apache-2.0
#include "formats/close_match.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace weir::formats {
namespace {

constexpr std::array<std::string_view, 5> kKeys{"name", "cpus", "gpus", "memory", "models"};

TEST(CloseMatch, FindsTheWordMeant) {
  EXPECT_EQ(close_match("cpu", kKeys), "cpus");
  EXPECT_EQ(close_match("gpu", kKeys), "gpus");
  EXPECT_EQ(close_match("mempry", kKeys), "memory");
  EXPECT_EQ(close_match("nmae", kKeys), "name");
  EXPECT_EQ(close_match("model", kKeys), "models");
}

TEST(CloseMatch, FindsNothingForAnotherWord) {
  for (const char* word : {"", "x", "deadline", "tags"})
    EXPECT_EQ(close_match(word, kKeys), std::nullopt) << word;
  EXPECT_EQ(close_match(std::string(100000, 'n'), kKeys), std::nullopt);
}

}  // namespace
}  // namespace weir::formats
