// SPDX-License-Identifier: Apache-2.0
#include "formats/json_cursor.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "formats/json_string.h"

namespace weir::formats {
namespace {

using SortedJson = nlohmann::json;

bool is_json(std::string_view text) {
  JsonCursor json{text};
  std::string_view raw;
  return json.skip_value(raw) && json.at_end();
}

std::string why_not(std::string_view text) {
  JsonCursor json{text};
  std::string_view raw;
  if (json.skip_value(raw)) return json.at_end() ? "" : "more";
  return std::string{json.why()};
}

TEST(JsonCursor, WalksThroughObjectsAndLists) {
  JsonCursor json{R"({"a": 1, "b": [true, null, "x"], "c": {}})"};
  ASSERT_TRUE(json.enter_object());
  std::string_view number;
  std::string_view raw;
  bool truth = false;
  std::string text;
  ASSERT_TRUE(json.next_key());
  EXPECT_EQ(json.key(), "a");
  EXPECT_FALSE(json.take_string(text));
  EXPECT_TRUE(json.take_number(number));
  EXPECT_EQ(number, "1");
  ASSERT_TRUE(json.next_key());
  ASSERT_TRUE(json.enter_array());
  ASSERT_TRUE(json.next_element());
  EXPECT_TRUE(json.take_bool(truth));
  EXPECT_TRUE(truth);
  ASSERT_TRUE(json.next_element());
  EXPECT_TRUE(json.take_null());
  ASSERT_TRUE(json.next_element());
  EXPECT_TRUE(json.take_string(text));
  EXPECT_EQ(text, "x");
  EXPECT_FALSE(json.next_element());
  ASSERT_TRUE(json.next_key());
  EXPECT_EQ(json.key(), "c");
  EXPECT_TRUE(json.skip_value(raw));
  EXPECT_EQ(raw, "{}");
  EXPECT_FALSE(json.next_key());
  EXPECT_TRUE(json.at_end());
}

TEST(JsonCursor, ComesBackToAMark) {
  JsonCursor json{"[[1,2],3]"};
  ASSERT_TRUE(json.enter_array());
  ASSERT_TRUE(json.next_element());
  const auto mark = json.mark();
  ASSERT_TRUE(json.enter_array());
  ASSERT_TRUE(json.next_element());
  json.rewind(mark);
  std::string_view raw;
  ASSERT_TRUE(json.skip_value(raw));
  EXPECT_EQ(raw, "[1,2]");
}

TEST(JsonCursor, SaysWhatIsBrokenAndWhere) {
  EXPECT_EQ(why_not("{\"a\" 1}"), "a colon");
  EXPECT_EQ(why_not("{a:1}"), "a name in quotes");
  EXPECT_EQ(why_not("[1 2]"), "a comma or ]");
  EXPECT_EQ(why_not("[1,]"), "a value");
  EXPECT_EQ(why_not("{\"a\":1,}"), "a name in quotes");
  EXPECT_EQ(why_not("\"a"), "a closing quote");
  EXPECT_EQ(why_not("\"\\x\""), "an escape that JSON knows");
  EXPECT_EQ(why_not("\"\\ud800\""), "the second half of a pair");
  EXPECT_EQ(why_not("\"\xff\""), "text in UTF-8");
  EXPECT_EQ(why_not("truth"), "true or false");
  EXPECT_EQ(why_not("1 2"), "more");
  JsonCursor json{"{\n\"a\":\n oops}"};
  std::string_view raw;
  EXPECT_FALSE(json.skip_value(raw));
  EXPECT_EQ(json.line(), 3U);
}

TEST(JsonCursor, RefusesDeepNesting) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(is_json(nested(JsonCursor::kMaxDepth)));
  EXPECT_EQ(why_not(nested(JsonCursor::kMaxDepth + 1)), "less nesting");
  EXPECT_EQ(why_not(std::string(1'000'000, '[')), "less nesting");
}

TEST(JsonCursor, UnescapesAsOthersDo) {
  const std::string text = R"("a\"\\\/\b\f\n\r\t\u00e9\u20ac\ud83d\ude00é€")";
  JsonCursor json{text};
  std::string value;
  ASSERT_TRUE(json.take_string(value));
  EXPECT_EQ(value, SortedJson::parse(text).get<std::string>());
}

// The characters on which JSON turns, in any order: nearly all of it is broken, each in its way.
RC_GTEST_PROP(JsonCursor, AcceptsWhatAnotherReaderAccepts, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(
      rc::gen::elementOf(std::vector<std::string>{"{",        "}",
                                                  "[",        "]",
                                                  ",",        ":",
                                                  "\"a\"",    "\"",
                                                  "\\",       "\\u00",
                                                  "1",        "-",
                                                  "0",        ".5",
                                                  "e+1",      "true",
                                                  "null",     " ",
                                                  "\n",       "\xC3\xA9",
                                                  "\xED\xA0", "\xF4\x90\x80\x80",
                                                  "\x01",     "[1,{\"a\":[]}]"}));
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  RC_ASSERT(is_json(text) == SortedJson::accept(text));
}

RC_GTEST_PROP(JsonCursor, AnyBytesAsAStringComeBackOnceTheyAreUtf8, (const std::string& bytes)) {
  std::string json_text;
  append_json_string(json_text, bytes);
  JsonCursor json{json_text};
  std::string value;
  RC_ASSERT(json.take_string(value));
  RC_ASSERT(json.at_end());
  RC_ASSERT(value == SortedJson::parse(json_text).get<std::string>());
  std::string again;
  append_json_string(again, value);
  RC_ASSERT(again == json_text);
}

TEST(JsonString, IsShortenedBetweenCharacters) {
  EXPECT_EQ(shortened("short"), "short");
  std::string text(59, 'a');
  text += "\xE2\x82\xAC and more";
  EXPECT_EQ(shortened(text), std::string(59, 'a') + "...");
}

}  // namespace
}  // namespace weir::formats
