// SPDX-License-Identifier: Apache-2.0
#include "dashboard/entity_tag.h"

#include <gtest/gtest.h>

namespace weir::dashboard {
namespace {

bool has(const std::string& field) {
  return has_entity({{"If-None-Match", field}}, "\"abc\"");
}

TEST(EntityTag, IsFoundAloneInAListAndAsWeak) {
  for (const char* known : {"\"abc\"", "W/\"abc\"", "*", "\"x\", \"abc\"",
                            "\"x\",W/\"abc\" , \"y\"", "\"a,b\", \"abc\"", " \"abc\" "}) {
    EXPECT_TRUE(has(known)) << known;
  }
}

TEST(EntityTag, OthersAreNotTakenForIt) {
  EXPECT_FALSE(has_entity({}, "\"abc\""));
  for (const char* other : {"", "abc", "\"abcd\"", "\"ab\"", "\"ABC\"", "w/\"abc\"",
                            "\"x,\"abc\"\"", "\"x, \"abc\"", "\"a,*,b\"", "\"*\"", "W/", "\""}) {
    EXPECT_FALSE(has(other)) << other;
  }
}

TEST(EntityTag, SeveralLinesAreOneList) {
  EXPECT_TRUE(has_entity({{"If-None-Match", "\"x\""}, {"if-none-match", "\"abc\""}}, "\"abc\""));
}

}  // namespace
}  // namespace weir::dashboard
