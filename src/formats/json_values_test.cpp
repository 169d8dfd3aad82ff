// SPDX-License-Identifier: Apache-2.0
#include "formats/json_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace weir::formats {
namespace {

constexpr std::array<std::string_view, 2> kMemberKeys{"a", "b"};

TEST(JsonValues, MembersHaveTheirPathAndText) {
  JsonValues json{"x.json", R"( {"c":[1], "a" : {"b":[1, 2]}, "\u0062":"x"} )"};
  const auto root = json.root();
  ASSERT_TRUE(root);
  const auto members = json.members(*root, kMemberKeys);
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members.at("a").text, R"({"b":[1, 2]})");
  EXPECT_EQ(members.at("b").text, "\"x\"");
  const auto inner = json.members(members.at("a"), kMemberKeys);
  EXPECT_EQ(inner.at("b").path, "a.b");
  const auto elements = json.elements(inner.at("b"), 2);
  ASSERT_TRUE(elements);
  EXPECT_EQ(json.integer(element_of(inner.at("b"), 1, (*elements)[1]), 0, 9), 2);
  EXPECT_TRUE(json.mistakes().empty());
}

TEST(JsonValues, MistakesHaveTheirLine) {
  JsonValues json{"x.json", "{\n\"a\":\n true,\n\"b\":1e3}"};
  const auto members = json.members(*json.root(), kMemberKeys);
  EXPECT_FALSE(json.integer(members.at("a"), 1, 5));
  EXPECT_FALSE(json.integer(members.at("b"), 1, 5000));
  EXPECT_FALSE(json.name(members.at("b")));
  EXPECT_EQ(json.positive_number(members.at("b"), 5000), 1000);
  EXPECT_EQ(to_string(json.mistakes()),
            "x.json:3: a is \"true\", expected an integer from 1 to 5\n"
            "x.json:4: b is \"1e3\", expected an integer from 1 to 5000\n"
            "x.json:4: b is \"1e3\", expected a name of 1 to 253 bytes, UTF-8 without control "
            "characters\n");
}

TEST(JsonValues, SaysWhatATextIsThatIsNoJson) {
  EXPECT_EQ(why_no_json("", 0), "empty");
  EXPECT_EQ(why_no_json(" \r\n", 3), "empty");
  EXPECT_EQ(why_no_json(std::string_view{"\x1f\x8b\0x", 4}, 0), "binary");
  EXPECT_EQ(why_no_json("hello", 0), "not JSON at byte 1");
}

TEST(JsonValues, KnowsWhatIsAListAndAnInteger) {
  EXPECT_TRUE(is_json_list("[1]"));
  EXPECT_FALSE(is_json_list("{}"));
  EXPECT_EQ(json_integer("-7"), -7);
  EXPECT_FALSE(json_integer("7.0"));
  EXPECT_FALSE(json_integer("\"7\""));
  EXPECT_FALSE(json_integer("9223372036854775808"));
}

}  // namespace
}  // namespace weir::formats
