// SPDX-License-Identifier: Apache-2.0
#include "transport/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transport/request_target.h"

namespace weir::transport {
namespace {

using ::testing::HasSubstr;

HttpRequest request_for(std::string method, std::string target) {
  std::string mistake;
  auto parsed = parse_request_target(target, mistake);
  EXPECT_TRUE(parsed) << mistake;
  HttpRequest request;
  request.method = std::move(method);
  request.target = std::move(target);
  if (parsed) {
    request.segments = std::move(parsed->segments);
    request.query = std::move(parsed->query);
  }
  return request;
}

Router jobs() {
  Router router;
  const Handler nothing = [](const HttpRequest&, const Responder&) {};
  router.add("GET", "/v1/jobs/{id}", nothing);
  router.add("DELETE", "/v1/jobs/{id}", nothing);
  router.add("GET", "/v1/jobs", nothing);
  router.add("POST", "/v1/jobs", nothing);
  router.add("POST", "/v1/jobs/dry-run", nothing);
  router.add("GET", "/v1/jobs/{id}/logs/{rank}", nothing);
  router.add("GET", "/v1/{kind}/all", nothing);
  router.add("GET", "/", nothing);
  return router;
}

TEST(Router, FindsTheRouteAndNamesItsSegments) {
  const Router router = jobs();
  HttpRequest request = request_for("GET", "/v1/jobs/a%20b/logs/3?tail=1");
  const auto match = router.match(request);
  EXPECT_NE(match.handler, nullptr);
  EXPECT_EQ(match.pattern, "/v1/jobs/{id}/logs/{rank}");
  EXPECT_EQ(request.route, match.pattern);
  EXPECT_EQ(request.parameter("id"), "a b");
  EXPECT_EQ(request.parameter("rank"), "3");
  HttpRequest root = request_for("GET", "/");
  EXPECT_EQ(router.match(root).pattern, "/");
}

TEST(Router, ALiteralSegmentWins) {
  const Router router = jobs();
  HttpRequest dry = request_for("POST", "/v1/jobs/dry-run");
  EXPECT_EQ(router.match(dry).pattern, "/v1/jobs/dry-run");
  HttpRequest all = request_for("GET", "/v1/jobs/all");
  EXPECT_EQ(router.match(all).pattern, "/v1/jobs/{id}") << "the leftmost difference decides";
  HttpRequest other = request_for("GET", "/v1/nodes/all");
  EXPECT_EQ(router.match(other).pattern, "/v1/{kind}/all");
}

TEST(Router, HeadIsAnsweredByGet) {
  const Router router = jobs();
  HttpRequest request = request_for("HEAD", "/v1/jobs");
  EXPECT_NE(router.match(request).handler, nullptr);
  HttpRequest no_get = request_for("HEAD", "/v1/jobs/dry-run");
  EXPECT_EQ(router.match(no_get).refusal->status, 405);
}

TEST(Router, AnUnknownPathNamesTheNearest) {
  const Router router = jobs();
  HttpRequest request = request_for("GET", "/v1/job");
  const auto match = router.match(request);
  ASSERT_TRUE(match.refusal);
  EXPECT_EQ(match.refusal->status, 404);
  EXPECT_THAT(match.refusal->body,
              HasSubstr("there is nothing at /v1/job; did you mean /v1/jobs?"));
  HttpRequest deep = request_for("GET", "/v1/jobs/17/log/0");
  EXPECT_THAT(router.match(deep).refusal->body, HasSubstr("did you mean /v1/jobs/17/logs/0?"));
  HttpRequest star = request_for("GET", "/%2A");
  EXPECT_EQ(router.match(star).refusal->status, 404);
}

TEST(Router, AKnownPathSaysWhichMethodsItTakes) {
  const Router router = jobs();
  HttpRequest request = request_for("PUT", "/v1/jobs");
  const auto match = router.match(request);
  ASSERT_TRUE(match.refusal);
  EXPECT_EQ(match.refusal->status, 405);
  EXPECT_EQ(match.refusal->headers.find("allow"), "GET, POST, HEAD, OPTIONS");
  HttpRequest lower = request_for("get", "/v1/jobs");
  EXPECT_EQ(router.match(lower).refusal->status, 405) << "methods have a case";
}

TEST(Router, AnswersOptionsFromTheTable) {
  const Router router = jobs();
  HttpRequest request = request_for("OPTIONS", "/v1/jobs/7");
  const auto match = router.match(request);
  ASSERT_TRUE(match.refusal);
  EXPECT_EQ(match.refusal->status, 204);
  EXPECT_EQ(match.refusal->headers.find("Allow"), "GET, DELETE, HEAD, OPTIONS");
  HttpRequest all = request_for("OPTIONS", "*");
  EXPECT_EQ(router.match(all).refusal->status, 204);
}

TEST(Router, ListsItsRoutes) {
  EXPECT_EQ(jobs().routes().size(), 8U);
  EXPECT_THAT(jobs().routes().front(), ::testing::Pair("GET", "/v1/jobs/{id}"));
}

}  // namespace
}  // namespace weir::transport
