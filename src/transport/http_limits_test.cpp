// SPDX-License-Identifier: Apache-2.0
//
// Clients that are slow, greedy or wrong: a clear answer or a closed connection, never more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "transport/raw_client_testing.h"
#include "transport/test_server_testing.h"

namespace weir::transport {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// Sends one request that must be refused, and sees the connection closed.
int refusal_of(std::string_view request) {
  const auto server = started();
  RawClient client{server->port()};
  client.send(request);
  const auto response = client.read_response();
  if (!response) return 0;
  EXPECT_EQ(response->header("Content-Type"), "application/problem+json");
  EXPECT_TRUE(client.is_closed_by_server());
  RawClient next{server->port()};
  EXPECT_EQ(next.ask(get("/hello"))->status, 200) << "others are served";
  return response->status;
}

// Waits until only so many connections are left.
bool all_leave(const HttpServer& server, std::size_t but = 0) {
  for (int i = 0; i < 3000 && server.open_connections() > but; ++i) {
    std::this_thread::sleep_for(10ms);
  }
  return server.open_connections() == but;
}

std::string with_headers(std::string_view headers, std::string_view rest = "") {
  return "POST /echo HTTP/1.1\r\nHost: h\r\n" + std::string{headers} + "\r\n" + std::string{rest};
}

TEST(HttpLimits, WhatIsNoHttpIs400) {
  EXPECT_EQ(refusal_of("nonsense\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("GET\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("GET /hello\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of(std::string{"\x16\x03\x01\x02\x00\x01", 6} + "\r\n\r\n"), 400) << "TLS";
  EXPECT_EQ(refusal_of("GET /hello HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("GET /hello HTTP/1.1\r\nHost : h\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("GET /hello HTTP/1.1\nHost: h\n\n"), 505);
  EXPECT_EQ(refusal_of("GET /hello HTTP/2.0\r\nHost: h\r\n\r\n"), 505);
  EXPECT_EQ(refusal_of("GET /hello HTTP/1.1\r\n\r\n"), 400) << "no Host";
  EXPECT_EQ(refusal_of("GET /hello HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
}

TEST(HttpLimits, WhereARequestEndsIsNeverAmbiguous) {
  EXPECT_EQ(refusal_of(with_headers("Content-Length: 3\r\nContent-Length: 4\r\n", "body")), 400);
  EXPECT_EQ(refusal_of(with_headers("Content-Length: 4\r\nContent-Length: 4\r\n", "body")), 400);
  EXPECT_EQ(refusal_of(with_headers("Content-Length: 4, 4\r\n", "body")), 400);
  EXPECT_EQ(refusal_of(with_headers("Content-Length: -1\r\n")), 400);
  EXPECT_EQ(refusal_of(with_headers("Content-Length: +4\r\n", "body")), 400);
  EXPECT_EQ(refusal_of(with_headers("Content-Length: 0x4\r\n", "body")), 400);
  EXPECT_EQ(refusal_of(with_headers("Content-Length: 99999999999999999999999\r\n")), 400);
  const std::string chunks = "0\r\n\r\n";
  EXPECT_EQ(refusal_of(with_headers("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", chunks)),
            400);
  EXPECT_EQ(refusal_of(with_headers("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", chunks)),
            400);
  EXPECT_EQ(refusal_of(with_headers("Transfer-Encoding: gzip, chunked\r\n", chunks)), 501);
  EXPECT_EQ(refusal_of(with_headers("Transfer-Encoding: chunked, gzip\r\n", chunks)), 501);
  EXPECT_EQ(refusal_of(with_headers("Transfer-Encoding: identity\r\n", chunks)), 501);
  EXPECT_EQ(refusal_of(with_headers("Transfer-Encoding: xchunked\r\n", chunks)), 501);
  EXPECT_EQ(refusal_of("POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400);
}

TEST(HttpLimits, BadChunksAre400) {
  const std::string header = "Transfer-Encoding: chunked\r\n";
  EXPECT_EQ(refusal_of(with_headers(header, "x\r\nbody\r\n0\r\n\r\n")), 400);
  EXPECT_EQ(refusal_of(with_headers(header, "-4\r\nbody\r\n0\r\n\r\n")), 400);
  EXPECT_EQ(refusal_of(with_headers(header, "3\r\nbody\r\n0\r\n\r\n")), 400);
  EXPECT_EQ(refusal_of(with_headers(header, "FFFFFFFFFFFFFFFFF\r\nbody")), 400);
  EXPECT_EQ(refusal_of(with_headers(header, "4 4\r\nbody\r\n0\r\n\r\n")), 400);
}

TEST(HttpLimits, PathTricksAre400) {
  for (const char* path : {"/%2e%2e/etc/passwd", "/jobs/..", "/jobs/%00", "/jobs/a%2fb", "//hello",
                           "/hello/", "/jobs/%zz", "/jobs/%c0%ae", "/./hello"}) {
    EXPECT_EQ(refusal_of(get(path)), 400) << path;
  }
  EXPECT_EQ(refusal_of(get("/" + std::string(9000, 'a'))), 414);
}

TEST(HttpLimits, AHeaderBombIs431) {
  std::string many = "GET /hello HTTP/1.1\r\nHost: h\r\n";
  for (int i = 0; i < 200; ++i) many += "a: b\r\n";
  EXPECT_EQ(refusal_of(many + "\r\n"), 431);
  EXPECT_EQ(refusal_of("GET /hello HTTP/1.1\r\nHost: h\r\nA: " + std::string(1 << 20, 'a')), 431);
  std::string large;
  for (int i = 0; i < 90; ++i) large += "a: " + std::string(1000, 'b') + "\r\n";
  EXPECT_EQ(refusal_of("GET /hello HTTP/1.1\r\nHost: h\r\n" + large + "\r\n"), 431);
  EXPECT_EQ(
      refusal_of(with_headers("Transfer-Encoding: chunked\r\n", "1;" + std::string(1 << 20, 'x'))),
      431);
}

// A client that sends 100 MB is refused at the limit: most of it is never read.
TEST(HttpLimits, AHugeBodyIsRefusedWithoutReadingIt) {
  const auto server = started();
  const std::string piece(1 << 20, 'x');
  for (const bool has_length : {true, false}) {
    RawClient client{server->port()};
    client.send(with_headers(has_length ? "Content-Length: 104857600\r\n"
                                        : "Transfer-Encoding: chunked\r\n"));
    std::size_t sent = 0;
    while (sent < 100 && client.send(has_length ? piece : "100000\r\n" + piece + "\r\n")) ++sent;
    EXPECT_LT(sent, 60U) << "megabytes, most of them in the buffers of sockets";
    const auto response = client.read_response();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 413);
  }
}

TEST(HttpLimits, ABodySomewhatTooLargeCanBeSentToItsEnd) {
  const auto server = started();
  const std::string piece(1 << 18, 'x');
  for (int round = 0; round < 5; ++round) {
    RawClient client{server->port()};
    client.send(with_headers("Content-Length: 4194304\r\n"));
    for (int sent = 0; sent < 16; ++sent) {
      ASSERT_TRUE(client.send(piece)) << sent;
      std::this_thread::sleep_for(1ms);  // beyond what sockets hold
    }
    const auto response = client.read_response();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 413);
  }
}

TEST(HttpLimits, AllBodiesTogetherHaveALimit) {
  HttpServerOptions options;
  options.all_bodies_bytes = 1000;
  const auto server = started(options);
  RawClient first{server->port()};
  first.send(with_headers("Content-Length: 900\r\nExpect: 100-continue\r\n"));
  ASSERT_TRUE(first.read_until("100 Continue"));
  first.input().clear();
  RawClient second{server->port()};
  const auto refused = second.ask(post("/echo", std::string(200, 'x')));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(refused->header("Retry-After"), "1");
  EXPECT_EQ(first.ask("\r\n\r\n" + std::string(896, 'x'))->status, 200);
  EXPECT_EQ(second.ask(post("/echo", std::string(200, 'x')))->status, 200);
}

HttpServerOptions impatient() {
  HttpServerOptions options;
  options.header_time = 100ms;
  options.body_time = 100ms;
  options.idle_time = 100ms;
  return options;
}

TEST(HttpLimits, ASlowHeaderIs408) {
  const auto server = started(impatient());
  RawClient client{server->port()};
  const std::string_view request = "GET /hello HTTP/1.1\r\n";
  // A byte now and then does not buy more time.
  for (std::size_t i = 0; i < request.size() && client.send(request.substr(i, 1)); ++i) {
    std::this_thread::sleep_for(10ms);
  }
  const auto response = client.read_response();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 408);
  EXPECT_TRUE(client.is_closed_by_server());
}

TEST(HttpLimits, ASlowBodyIs408) {
  const auto server = started(impatient());
  RawClient client{server->port()};
  const auto response = client.ask(with_headers("Content-Length: 10\r\n", "half"));
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 408);
  EXPECT_TRUE(client.is_closed_by_server());
}

TEST(HttpLimits, AnIdleConnectionIsClosedWithoutAWord) {
  const auto server = started(impatient());
  RawClient silent{server->port()};
  EXPECT_EQ(silent.read_all(), "");
  RawClient used{server->port()};
  EXPECT_EQ(used.ask(get("/hello"))->status, 200);
  EXPECT_EQ(used.read_all(), "");
}

TEST(HttpLimits, AReaderThatDoesNotReadIsCutOff) {
  Router router;
  router.add("GET", "/large", [](const HttpRequest&, Responder responder) {
    responder.send(plain(std::string(64 << 20, 'x')));
  });
  HttpServerOptions options;
  options.write_time = 100ms;
  const auto server = started(options, std::move(router));
  RawClient client{server->port(), 4096};
  client.send(get("/large"));
  ASSERT_TRUE(client.read_until("\r\n\r\n"));
  EXPECT_TRUE(all_leave(*server));
}

TEST(HttpLimits, ConnectionsAboveTheLimitAre503) {
  HttpServerOptions options;
  options.connections = 2;
  const auto server = started(options);
  std::optional<RawClient> one;
  std::optional<RawClient> two;
  one.emplace(server->port());
  two.emplace(server->port());
  EXPECT_EQ(one->ask(get("/hello"))->status, 200);
  EXPECT_EQ(two->ask(get("/hello"))->status, 200);
  {
    RawClient three{server->port()};
    const auto refused = three.ask(get("/hello"));
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status, 503);
    EXPECT_EQ(refused->header("Retry-After"), "1");
    EXPECT_TRUE(three.is_closed_by_server());
  }
  two.reset();
  int status = 503;
  for (int attempt = 0; attempt < 1000 && status != 200; ++attempt) {
    RawClient again{server->port()};
    const auto response = again.ask(get("/hello"));
    status = response ? response->status : 0;
    if (status != 200) std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(status, 200) << "a place becomes free when a client leaves";
}

TEST(HttpLimits, TooManyRequestsAre429AndTheConnectionGoesOn) {
  for (const bool is_per_connection : {true, false}) {
    HttpServerOptions options;
    (is_per_connection ? options.rate_per_connection : options.rate_of_all) = RateLimit{0.001, 3};
    const auto server = started(options);
    RawClient client{server->port()};
    for (int i = 0; i < 3; ++i) EXPECT_EQ(client.ask(post("/echo", "x"))->status, 200);
    const auto refused = client.ask(post("/echo", "x"));
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status, 429);
    EXPECT_GT(std::stoi(refused->header("Retry-After")), 100);
    EXPECT_EQ(client.ask(get("/hello"))->status, 429);
    RawClient other{server->port()};
    EXPECT_EQ(other.ask(get("/hello"))->status, is_per_connection ? 200 : 429);
  }
}

TEST(HttpLimits, ClientsThatVanishLeaveNothingBehind) {
  const auto server = started();
  for (int i = 0; i < 200; ++i) {
    RawClient client{server->port()};
    client.send(i % 2 == 0 ? "GET /hel" : with_headers("Content-Length: 10\r\n", "half"));
  }
  RawClient last{server->port()};
  EXPECT_EQ(last.ask(get("/hello"))->status, 200);
  EXPECT_TRUE(all_leave(*server, 1));
}

}  // namespace
}  // namespace weir::transport
