// SPDX-License-Identifier: Apache-2.0
#include "transport/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>

#include "transport/test_server_testing.h"

namespace weir::transport {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// Answers with what it was asked.
Router mirror() {
  Router router;
  const auto show = [](const HttpRequest& request, Responder responder) {
    std::string text = request.method + " " + request.target + "\n";
    for (const auto& [name, value] : request.headers) text += name + ": " + value + "\n";
    text += "\n" + request.body;
    HttpResponse response = plain(std::move(text));
    response.headers.add("X-Peer", request.peer);
    responder.send(std::move(response));
  };
  for (const char* method : {"GET", "POST", "PUT", "DELETE", "PATCH"}) {
    router.add(method, "/mirror", show);
  }
  return router;
}

TEST(HttpClient, SendsMethodPathHeadersAndBody) {
  const auto server = started({}, mirror());
  HttpClient client{server->url() + "/", "secret"};
  for (const char* method : {"POST", "PUT", "PATCH"}) {
    const auto reply = client.send(method, "/mirror?a=b%20c", R"({"x":1})", "application/json",
                                   {{"Idempotency-Key", "k1"}, {"X-Empty", ""}});
    ASSERT_TRUE(reply) << to_string(reply.error().details);
    EXPECT_EQ(reply->status, 200);
    EXPECT_THAT(reply->body, HasSubstr(std::string{method} + " /mirror?a=b%20c\n"));
    EXPECT_THAT(reply->body, HasSubstr("\nAuthorization: Bearer secret\n"));
    EXPECT_THAT(reply->body, HasSubstr("\nContent-Type: application/json\n"));
    EXPECT_THAT(reply->body, HasSubstr("\nIdempotency-Key: k1\n"));
    EXPECT_THAT(reply->body, HasSubstr("\nX-Empty: \n"));
    EXPECT_THAT(reply->body, HasSubstr("\n\n{\"x\":1}"));
    EXPECT_EQ(reply->headers.find("content-type"), "text/plain");
  }
  EXPECT_THAT(client.get("/mirror")->body, ::testing::StartsWith("GET /mirror\n"));
  EXPECT_THAT(client.send("DELETE", "/mirror")->body, ::testing::StartsWith("DELETE /mirror\n"));
  EXPECT_EQ(client.send("HEAD", "/mirror")->body, "");
  EXPECT_EQ(client.send("POST", "/mirror")->status, 200) << "an empty body";
}

TEST(HttpClient, KeepsItsConnection) {
  const auto server = started({}, mirror());
  HttpClient client{server->url()};
  std::set<std::string> peers;
  for (int i = 0; i < 10; ++i) {
    peers.emplace(*client.send("POST", "/mirror", "x")->headers.find("X-Peer"));
  }
  EXPECT_EQ(peers.size(), 1U);
}

TEST(HttpClient, ALineFeedInAHeaderIsNotSent) {
  const auto server = started({}, mirror());
  HttpClient client{server->url()};
  const auto reply = client.get("/mirror", {{"A", "b\r\nEvil: yes"}});
  ASSERT_TRUE(reply);
  EXPECT_THAT(reply->body, ::testing::Not(HasSubstr("Evil")));
}

TEST(HttpClient, AnswersOfAnyStatusAreValues) {
  const auto server = started();
  HttpClient client{server->url()};
  const auto reply = client.get("/nowhere");
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 404);
  EXPECT_FALSE(reply->succeeded());
  EXPECT_THAT(reply->body, HasSubstr("there is nothing at /nowhere"));
}

TEST(HttpClient, SendsABodyLargerThanTheServerTakes) {
  const auto server = started();
  HttpClient client{server->url()};
  const auto reply = client.send("POST", "/echo", std::string(20 << 20, 'x'));
  ASSERT_TRUE(reply) << to_string(reply.error().details);
  EXPECT_EQ(reply->status, 413);
  const auto fits = client.send("POST", "/echo", std::string(1 << 20, 'x'));
  ASSERT_TRUE(fits) << to_string(fits.error().details);
  EXPECT_EQ(fits->body.size(), 1U << 20);
}

TEST(HttpClient, SaysThatNobodyListens) {
  const std::string url = started()->url();  // stopped at once
  HttpClient client{url};
  const auto reply = client.get("/hello");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::unavailable);
  EXPECT_EQ(to_string(reply.error().details),
            "cannot reach " + url +
                ": the connection is \"refused\", expected a server there; is `weir serve` "
                "running?\n");
}

TEST(HttpClient, SaysThatTheServerIsSlow) {
  std::mutex mutex;
  std::vector<Responder> kept;
  Router router;
  router.add("GET", "/never", [&](const HttpRequest&, Responder responder) {
    const std::lock_guard lock{mutex};
    kept.push_back(std::move(responder));
  });
  HttpServerOptions options;
  options.stop_time = 10ms;
  const auto server = started(options, std::move(router));
  HttpClientLimits limits;
  limits.total_time = 100ms;
  HttpClient client{server->url(), "", limits};
  const auto reply = client.get("/never");
  ASSERT_FALSE(reply);
  EXPECT_THAT(to_string(reply.error().details), HasSubstr("not there in time"));
  server->stop();
}

TEST(HttpClient, TakesNoAnswerAboveItsLimit) {
  Router router;
  router.add("GET", "/large", [](const HttpRequest&, Responder responder) {
    responder.send(plain(std::string(100'000, 'x')));
  });
  const auto server = started({}, std::move(router));
  HttpClientLimits limits;
  limits.reply_bytes = 1000;
  HttpClient client{server->url(), "", limits};
  const auto reply = client.get("/large");
  ASSERT_FALSE(reply);
  EXPECT_THAT(to_string(reply.error().details), HasSubstr("at most 1000 bytes"));
}

TEST(HttpClient, RefusesOtherThanHttp) {
  HttpClient client{"file:///etc"};
  const auto reply = client.get("/passwd");
  ASSERT_FALSE(reply);
  EXPECT_THAT(to_string(reply.error().details), HasSubstr("http://HOST:PORT"));
}

TEST(HttpClient, AStreamThatIsRefusedHasTheReasonInItsBody) {
  const auto server = started();
  HttpClient client{server->url()};
  const auto reply = client.stream("/nowhere", {}, [](std::string_view) {
    ADD_FAILURE() << "no stream";
    return true;
  });
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 404);
  EXPECT_THAT(reply->body, HasSubstr("nowhere"));
}

}  // namespace
}  // namespace weir::transport
