// SPDX-License-Identifier: Apache-2.0
#include "transport/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "transport/raw_client_testing.h"
#include "transport/test_server_testing.h"

namespace weir::transport {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(HttpServer, AnswersARequest) {
  const auto server = started();
  RawClient client{server->port()};
  const auto response = client.ask(get("/hello"));
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "hello");
  EXPECT_EQ(response->header("Content-Type"), "text/plain");
  EXPECT_EQ(response->header("Content-Length"), "5");
  EXPECT_THAT(response->header("Date"), HasSubstr("GMT"));
}

TEST(HttpServer, ListensOnLoopbackOnlyWithoutTls) {
  for (const char* address : {"0.0.0.0", "192.168.1.1", "::", "example.org", ""}) {
    HttpServerOptions options;
    options.address = address;
    const auto server = HttpServer::start(options, common_routes());
    ASSERT_FALSE(server) << address;
    EXPECT_EQ(server.error().code, ErrorCode::bad_input);
    EXPECT_THAT(to_string(server.error().details), HasSubstr("127.0.0.1"));
  }
  HttpServerOptions options;
  options.address = "localhost";
  EXPECT_THAT(started(options)->url(), StartsWith("http://127.0.0.1:"));
}

TEST(HttpServer, SaysThatAPortIsTaken) {
  const auto first = started();
  HttpServerOptions options;
  options.port = first->port();
  const auto second = HttpServer::start(options, common_routes());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::unavailable);
  EXPECT_THAT(to_string(second.error().details), HasSubstr("taken"));
}

TEST(HttpServer, KeepsTheConnection) {
  const auto server = started();
  RawClient client{server->port()};
  for (int i = 0; i < 20; ++i) {
    const auto response = client.ask(post("/echo", std::to_string(i)));
    ASSERT_TRUE(response);
    EXPECT_EQ(response->body, std::to_string(i));
  }
  EXPECT_EQ(server->open_connections(), 1);
}

TEST(HttpServer, ClosesWhenTheClientAsksForIt) {
  const auto server = started();
  RawClient client{server->port()};
  const auto response = client.ask("GET /hello HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->header("Connection"), "close");
  EXPECT_TRUE(client.is_closed_by_server());
}

TEST(HttpServer, SpeaksHttp10) {
  const auto server = started();
  RawClient client{server->port()};
  client.send("GET /hello HTTP/1.0\r\n\r\n");
  EXPECT_THAT(client.read_all(), ::testing::EndsWith("\r\n\r\nhello"));
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
  const auto server = started();
  RawClient client{server->port()};
  std::string all;
  for (int i = 0; i < 200; ++i) all += post("/echo", std::to_string(i));
  client.send(all);
  for (int i = 0; i < 200; ++i) {
    const auto response = client.read_response();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->body, std::to_string(i));
  }
}

TEST(HttpServer, AnswersAClientThatHasSaidAllItWants) {
  const auto server = started();
  RawClient client{server->port()};
  client.send(get("/hello"));
  client.shut_down_sending();
  const auto response = client.read_response();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, "hello");
  EXPECT_TRUE(client.is_closed_by_server());
}

TEST(HttpServer, HeadHasTheHeaderOfGetWithoutTheBody) {
  const auto server = started();
  RawClient client{server->port()};
  const auto head = client.ask("HEAD /hello HTTP/1.1\r\nHost: h\r\n\r\n", true);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status, 200);
  EXPECT_EQ(head->header("Content-Length"), "5");
  const auto next = client.ask(get("/jobs/7"));
  ASSERT_TRUE(next);
  EXPECT_EQ(next->body, "7");
}

TEST(HttpServer, RefusesUnknownPathsAndMethodsAndStaysOpen) {
  const auto server = started();
  RawClient client{server->port()};
  const auto unknown = client.ask(get("/helo"));
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->status, 404);
  EXPECT_EQ(unknown->header("Content-Type"), "application/problem+json");
  EXPECT_THAT(unknown->body, HasSubstr("did you mean /hello?"));
  const auto wrong = client.ask(post("/hello", "a body that is read all the same"));
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->status, 405);
  EXPECT_EQ(wrong->header("Allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(client.ask(get("/hello"))->status, 200);
}

TEST(HttpServer, ReadsABodyInChunks) {
  const auto server = started();
  RawClient client{server->port()};
  const auto response = client.ask(
      "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "4\r\nweir\r\nA;x=y\r\n and river\r\n0\r\nTrailer: t\r\n\r\n");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, "weir and river");
  EXPECT_EQ(client.ask(get("/hello"))->status, 200);
}

TEST(HttpServer, TellsAClientToContinue) {
  const auto server = started();
  RawClient client{server->port()};
  client.send(
      "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  ASSERT_TRUE(client.read_until("HTTP/1.1 100 Continue\r\n\r\n"));
  client.input().clear();
  const auto response = client.ask("body");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "body");
}

TEST(HttpServer, RefusesBeforeTheClientContinues) {
  const auto server = started();
  RawClient client{server->port()};
  const auto response = client.ask(
      "POST /nowhere HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 404);
  EXPECT_TRUE(client.is_closed_by_server());
}

TEST(HttpServer, SendsALargeAnswer) {
  const std::string large(8 << 20, 'x');
  Router router;
  router.add("GET", "/large",
             [&](const HttpRequest&, Responder responder) { responder.send(plain(large)); });
  const auto server = started({}, std::move(router));
  RawClient client{server->port()};
  for (int i = 0; i < 2; ++i) {
    const auto response = client.ask(get("/large"));
    ASSERT_TRUE(response);
    EXPECT_TRUE(response->body == large);
  }
}

TEST(HttpServer, AnHeaderValueCannotBeginAnotherHeader) {
  Router router;
  router.add("GET", "/", [](const HttpRequest&, Responder responder) {
    responder.send(HttpResponse{200, "text/plain", "", {{"Location", "/a\r\nSet-Cookie: b"}}});
  });
  const auto server = started({}, std::move(router));
  RawClient client{server->port()};
  const auto response = client.ask(get("/"));
  ASSERT_TRUE(response);
  EXPECT_EQ(response->header("Set-Cookie"), "");
}

TEST(HttpServer, CanBeAnsweredFromAnotherThread) {
  std::vector<std::thread> threads;
  std::mutex mutex;
  Router router;
  router.add("POST", "/later", [&](HttpRequest request, Responder responder) {
    const std::lock_guard lock{mutex};
    threads.emplace_back([body = std::move(request.body), answer = std::move(responder)]() mutable {
      std::this_thread::sleep_for(2ms);
      answer.send(plain(std::move(body)));
    });
  });
  const auto server = started({}, std::move(router));
  RawClient one{server->port()};
  RawClient two{server->port()};
  for (int i = 0; i < 20; ++i) {
    one.send(post("/later", "one") + post("/later", "second"));
    two.send(post("/later", "two"));
    EXPECT_EQ(one.read_response()->body, "one");
    EXPECT_EQ(one.read_response()->body, "second");
    EXPECT_EQ(two.read_response()->body, "two");
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(HttpServer, AForgottenRequestIsAnswered500) {
  Router router;
  router.add("GET", "/drop", [](const HttpRequest&, const Responder&) {});
  router.add("GET", "/throw", [](const HttpRequest&, const Responder&) {
    throw std::runtime_error{"out of paper"};
  });
  const auto server = started({}, std::move(router));
  RawClient client{server->port()};
  EXPECT_EQ(client.ask(get("/drop"))->status, 500);
  EXPECT_EQ(client.ask(get("/throw"))->status, 500);
}

TEST(HttpServer, TheGateRefusesBeforeTheBodyIsRead) {
  HttpServerOptions options;
  options.gate = [](const HttpRequest& request) -> std::optional<HttpResponse> {
    if (request.route == "/hello" || request.headers.find("authorization") == "Bearer t") {
      return std::nullopt;
    }
    return problem(401, "", "a token is needed");
  };
  const auto server = started(options);
  RawClient client{server->port()};
  EXPECT_EQ(client.ask(get("/hello"))->status, 200);
  EXPECT_EQ(client.ask(get("/jobs/1"))->status, 401);
  EXPECT_EQ(client.ask(get("/nowhere"))->status, 401);
  EXPECT_EQ(
      client.ask("GET /jobs/1 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\n\r\n")->status,
      200);
  EXPECT_EQ(client.ask(post("/echo", "small bodies are skipped"))->status, 401);
  // The body never comes.
  EXPECT_EQ(client.ask("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 900000\r\n\r\n")->status,
            401);
  EXPECT_TRUE(client.is_closed_by_server());
}

TEST(HttpServer, AddsHeadersThatAnAnswerDoesNotHave) {
  HttpServerOptions options;
  options.default_headers = {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}};
  options.gate = [](const HttpRequest& request) -> std::optional<HttpResponse> {
    if (request.method == "POST") return problem(401, "", "no");
    return std::nullopt;
  };
  Router router = common_routes();
  router.add("GET", "/kept", [](const HttpRequest&, Responder responder) {
    HttpResponse response = plain("kept");
    response.headers.add("cache-control", "no-cache");
    responder.send(std::move(response));
  });
  router.add("GET", "/stream", [](const HttpRequest&, Responder responder) {
    responder.stream(event_stream_head()).close();
  });
  const auto server = started(std::move(options), std::move(router));
  RawClient client{server->port()};
  for (const std::string& request : {get("/hello"), get("/nothing"), post("/echo", "x")}) {
    const auto response = client.ask(request);
    ASSERT_TRUE(response) << request;
    EXPECT_EQ(response->header("Cache-Control"), "no-store") << response->head;
    EXPECT_EQ(response->header("X-Content-Type-Options"), "nosniff") << response->head;
  }
  const auto kept = client.ask(get("/kept"));
  EXPECT_EQ(kept->header("cache-control"), "no-cache");
  EXPECT_EQ(kept->header("Cache-Control"), "");
  EXPECT_EQ(kept->header("X-Content-Type-Options"), "nosniff");
  client.send(get("/stream"));
  ASSERT_TRUE(client.read_until("\r\n\r\n"));
  EXPECT_EQ(client.input().find("Cache-Control"), client.input().rfind("Cache-Control"));
  EXPECT_NE(client.input().find("nosniff"), std::string::npos);
}

TEST(HttpServer, ReportsEveryAnswer) {
  std::mutex mutex;
  std::vector<std::string> seen;
  HttpServerOptions options;
  options.on_access = [&](const AccessEntry& entry) {
    const std::lock_guard lock{mutex};
    EXPECT_GT(entry.bytes, 0U);
    EXPECT_GE(entry.seconds, 0);
    seen.push_back(std::string{entry.method} + " " + std::string{entry.route} + " " +
                   std::to_string(entry.status));
  };
  {
    const auto server = started(options);
    RawClient client{server->port()};
    client.ask(get("/jobs/7"));
    client.ask(get("/nowhere"));
    client.ask(post("/hello", ""));
    client.ask("nonsense\r\n\r\n");
  }
  EXPECT_THAT(seen,
              ::testing::ElementsAre("GET /jobs/{id} 200", "GET  404", "POST /hello 405", "  400"));
}

TEST(HttpServer, ServesManyConnectionsOnSeveralThreads) {
  HttpServerOptions options;
  options.threads = 3;
  const auto server = started(options);
  std::vector<std::thread> clients;
  std::atomic<int> right{0};
  for (int c = 0; c < 12; ++c) {
    clients.emplace_back([&, c] {
      RawClient client{server->port()};
      for (int i = 0; i < 50; ++i) {
        const std::string text = std::to_string(c * 1000 + i);
        const auto response = client.ask(post("/echo", text));
        if (response && response->body == text) ++right;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(right, 12 * 50);
}

TEST(HttpServer, StopAnswersWhatIsInFlight) {
  std::mutex mutex;
  std::condition_variable arrived;
  std::optional<Responder> waiting;
  Router router;
  router.add("GET", "/slow", [&](const HttpRequest&, Responder responder) {
    const std::lock_guard lock{mutex};
    waiting.emplace(std::move(responder));
    arrived.notify_one();
  });
  HttpServerOptions options;
  options.stop_time = 20s;
  const auto server = started(options, std::move(router));
  RawClient idle{server->port()};
  RawClient client{server->port()};
  client.send(get("/slow"));
  std::unique_lock lock{mutex};
  ASSERT_TRUE(arrived.wait_for(lock, 20s, [&] { return waiting.has_value(); }));
  std::thread stopper{[&] { server->stop(); }};
  EXPECT_TRUE(idle.is_closed_by_server());
  waiting->send(plain("just in time"));
  const auto response = client.read_response();
  stopper.join();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, "just in time");
  EXPECT_EQ(response->header("Connection"), "close");
}

TEST(HttpServer, StopDoesNotWaitForEverAndLateAnswersAreHarmless) {
  std::mutex mutex;
  std::condition_variable arrived;
  std::optional<Responder> waiting;
  Router router;
  router.add("GET", "/never", [&](const HttpRequest&, Responder responder) {
    const std::lock_guard lock{mutex};
    waiting.emplace(std::move(responder));
    arrived.notify_one();
  });
  HttpServerOptions options;
  options.stop_time = 50ms;
  auto server = started(options, std::move(router));
  RawClient client{server->port()};
  client.send(get("/never"));
  std::unique_lock lock{mutex};
  ASSERT_TRUE(arrived.wait_for(lock, 20s, [&] { return waiting.has_value(); }));
  server.reset();
  EXPECT_TRUE(client.is_closed_by_server());
  waiting->send(plain("too late"));
}

}  // namespace
}  // namespace weir::transport
