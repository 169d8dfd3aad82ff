// SPDX-License-Identifier: Apache-2.0
#include "transport/request_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "transport/utf8.h"

namespace weir::transport {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::optional<RequestTarget> parsed_target(std::string_view target) {
  std::string mistake;
  auto parsed = parse_request_target(target, mistake);
  EXPECT_EQ(parsed.has_value(), mistake.empty()) << target;
  return parsed;
}

TEST(RequestTarget, TakesPathAndQueryApart) {
  const auto target = parsed_target("/v1/jobs/a%20b+c?tail=5&x=%26%3D+y&flag&&tail=6&=z");
  ASSERT_TRUE(target);
  EXPECT_THAT(target->segments, ElementsAre("v1", "jobs", "a b+c"));
  EXPECT_THAT(target->query, ElementsAre(Pair("tail", "5"), Pair("x", "&= y"), Pair("flag", ""),
                                         Pair("tail", "6"), Pair("", "z")));
  EXPECT_TRUE(parsed_target("/")->segments.empty());
  EXPECT_TRUE(parsed_target("*")->segments.empty());
  EXPECT_THAT(parsed_target("/?a=b")->query, ElementsAre(Pair("a", "b")));
}

TEST(RequestTarget, TakesAWholeUrl) {
  EXPECT_THAT(parsed_target("http://h:80/v1/jobs?a=b")->segments, ElementsAre("v1", "jobs"));
  EXPECT_TRUE(parsed_target("HTTP://h")->segments.empty());
  EXPECT_THAT(parsed_target("http://h?a=b")->query, ElementsAre(Pair("a", "b")));
}

TEST(RequestTarget, RefusesTricks) {
  for (const std::string_view target :
       {"",        "jobs",    "//",        "/a//b",   "/a/",     "/.",   "/..",
        "/a/../b", "/%2e",    "/%2E%2e/x", "/a%2fb",  "/a%2Fb",  "/%00", "/a%0ab",
        "/a%7f",   "/%",      "/%4",       "/%4g",    "/%c0%af", "/%ff", "/%ed%a0%80",
        "/?a=%",   "/?%zz=1", "/?a=%00",   "/?a=%ff", "/a#b",    "h:80"}) {
    EXPECT_FALSE(parsed_target(target)) << target;
  }
  EXPECT_THAT(parsed_target("/...")->segments, ElementsAre("..."));
  EXPECT_THAT(parsed_target("/%252e%252e")->segments, ElementsAre("%2e%2e")) << "decoded once only";
}

RC_GTEST_PROP(RequestTarget, AnySegmentSurvivesEncoding, (const std::string& text)) {
  const auto decoded = percent_decoded(percent_encoded(text));
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(*decoded == text);
}

RC_GTEST_PROP(RequestTarget, SegmentsAreSafe, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("/", "%2e", ".", "%2f", "%00", "a", "%", "2", "?", "&", "=",
                                    "%c3", "%a9", "\xc3\xa9", "\\", "+"));
  std::string target = "/";
  for (const std::string& piece : pieces) target += piece;
  std::string mistake;
  const auto parsed = parse_request_target(target, mistake);
  RC_ASSERT(parsed.has_value() == mistake.empty());
  if (!parsed) return;
  for (const std::string& segment : parsed->segments) {
    RC_ASSERT(!segment.empty() && segment != "." && segment != "..");
    RC_ASSERT(segment.find('/') == std::string::npos);
    RC_ASSERT(segment.find('\0') == std::string::npos);
    RC_ASSERT(is_utf8(segment));
  }
}

}  // namespace
}  // namespace weir::transport
