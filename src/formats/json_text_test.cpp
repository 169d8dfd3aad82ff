// SPDX-License-Identifier: Apache-2.0
#include "formats/json_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace weir::formats {
namespace {

using Json = nlohmann::ordered_json;

TEST(JsonText, KeepsTheOrderOfKeys) {
  Json document;
  document["z"] = 1;
  document["a"] = {1.5, "x"};
  EXPECT_EQ(*json_text(document, JsonLayout::compact), R"({"z":1,"a":[1.5,"x"]})");
  EXPECT_EQ(*json_text(document), "{\n  \"z\": 1,\n  \"a\": [\n    1.5,\n    \"x\"\n  ]\n}\n");
}

TEST(JsonText, RefusesNumbersJsonDoesNotHave) {
  Json document;
  document["runs"] = {1.0, std::nan("")};
  document["load"] = -std::numeric_limits<double>::infinity();
  const auto text = json_text(document);
  ASSERT_FALSE(text);
  EXPECT_EQ(to_string(text.error().details),
            "/runs/1 is \"NaN\", expected a finite number\n"
            "/load is \"infinite\", expected a finite number\n");
}

TEST(JsonText, ReplacesBrokenUtf8) {
  EXPECT_EQ(*json_text(Json("a\xFF"), JsonLayout::compact), "\"a\xEF\xBF\xBD\"");
}

RC_GTEST_PROP(JsonText, DoublesReadBackToTheSameBits, (std::uint64_t bits)) {
  const auto number = std::bit_cast<double>(bits);
  RC_PRE(std::isfinite(number));
  const auto back = Json::parse(*json_text(Json(number))).get<double>();
  RC_ASSERT(std::bit_cast<std::uint64_t>(back) == bits);
}

}  // namespace
}  // namespace weir::formats
