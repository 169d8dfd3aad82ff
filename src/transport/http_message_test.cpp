// SPDX-License-Identifier: Apache-2.0
#include "transport/http_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "transport/response_text.h"
#include "transport/token_bucket.h"
#include "transport/utf8.h"

namespace weir::transport {
namespace {

TEST(HttpMessage, HeaderNamesHaveNoCase) {
  const HeaderList headers{{"Content-Type", "a"}, {"content-TYPE", "b"}, {"Content-Typ", "c"}};
  EXPECT_EQ(headers.find("CONTENT-type"), "a");
  EXPECT_EQ(headers.count("content-type"), 2U);
  EXPECT_EQ(headers.find("Accept"), std::nullopt);
}

TEST(HttpMessage, AProblemSaysWhatToMend) {
  Diagnostics mistakes;
  mistakes.add(Diagnostic{"job.yaml", 3, "gpus", "-2", "1 or more"});
  mistakes.add(Diagnostic{"", 0, "name", "", "a name"});
  const HttpResponse response = problem(422, "Bad job", "two \"mistakes\"\n", mistakes);
  EXPECT_EQ(response.status, 422);
  EXPECT_EQ(response.content_type, kProblemContentType);
  EXPECT_EQ(response.body,
            R"({"type":"about:blank","title":"Bad job","status":422,)"
            R"("detail":"two \"mistakes\"\u000a","errors":[)"
            R"({"where":"job.yaml:3","field":"gpus","found":"-2","expected":"1 or more",)"
            R"("message":"job.yaml:3: gpus is \"-2\", expected 1 or more"},)"
            R"({"field":"name","expected":"a name","message":"name is missing, expected a name"}]})"
            "\n");
  EXPECT_THAT(problem(404, "", "").body, ::testing::HasSubstr(R"("title":"Not Found")"));
}

RC_GTEST_PROP(HttpMessage, AJsonStringIsUtf8WithoutControlCharacters, (const std::string& text)) {
  std::string json;
  append_json_string(json, text);
  RC_ASSERT(is_utf8(json));
  RC_ASSERT(json.front() == '"' && json.back() == '"');
  for (const char c : json) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20);
}

TEST(Utf8, KnowsWhatIsNot) {
  for (const std::string_view good : {"", "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    EXPECT_TRUE(is_utf8(good));
  }
  for (const std::string_view bad : {"\x80", "\xc0\x80", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80",
                                     "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xff", "a\xe2\x82"}) {
    EXPECT_FALSE(is_utf8(bad));
  }
}

TEST(ResponseText, HasADateAsTheStandardWantsIt) {
  EXPECT_EQ(http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
}

TEST(ResponseText, ChunksHaveTheirSizeInHexadecimal) {
  std::string out;
  append_chunk(out, "0123456789abcdef0");
  EXPECT_EQ(out, "11\r\n0123456789abcdef0\r\n");
}

TEST(TokenBucket, LetsABurstPassAndThenTheRate) {
  using namespace std::chrono_literals;
  const TokenBucket::Clock::time_point start{};
  TokenBucket bucket{RateLimit{10, 3}, start};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.take(start));
  EXPECT_FALSE(bucket.take(start));
  EXPECT_EQ(bucket.wait_seconds(), 1);
  EXPECT_TRUE(bucket.take(start + 101ms));
  EXPECT_FALSE(bucket.take(start + 102ms));
  int passed = 0;
  for (int i = 0; i < 1000; ++i) passed += bucket.take(start + 1s + i * 10ms) ? 1 : 0;
  EXPECT_NEAR(passed, 100 + 3, 2);
  EXPECT_TRUE((TokenBucket{RateLimit{}, start}.take(start)));
}

}  // namespace
}  // namespace weir::transport
