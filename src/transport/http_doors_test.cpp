// SPDX-License-Identifier: Apache-2.0
//
// Who is let in, and for how long: callers, limits of an address.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "transport/raw_client_testing.h"
#include "transport/test_server_testing.h"

namespace weir::transport {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

struct Guest final : Caller {
  std::string_view name() const override { return "guest"; }
  std::string_view role() const override { return "viewer"; }
  bool is_welcome() const override { return is_welcome_now; }
  std::atomic<bool> is_welcome_now{true};
};

TEST(HttpDoors, AStreamEndsWhenItsCallerIsNotWelcomeAnyMore) {
  const auto guest = std::make_shared<Guest>();
  HttpServerOptions options;
  options.gate = [&](HttpRequest& request) -> std::optional<HttpResponse> {
    request.caller = guest;
    return std::nullopt;
  };
  std::optional<EventStream> kept;
  std::mutex mutex;
  Router router;
  router.add("GET", "/events", [&](const HttpRequest& request, Responder responder) {
    EXPECT_EQ(request.caller, guest);
    const std::lock_guard lock{mutex};
    kept = responder.stream(event_stream_head());
    kept->write("1", "", "first");
  });
  const auto server = started(std::move(options), std::move(router));
  RawClient client{server->port()};
  client.send(get("/events"));
  ASSERT_TRUE(client.read_until("first"));
  std::this_thread::sleep_for(milliseconds{700});
  EXPECT_EQ(server->open_connections(), 1U) << "a welcome guest stays";
  const auto before = Clock::now();
  guest->is_welcome_now = false;
  EXPECT_TRUE(client.is_closed_by_server());
  EXPECT_LT(Clock::now() - before, std::chrono::seconds{1});
}

TEST(HttpDoors, TheAccessHookHearsWhoAskedForWhat) {
  HttpServerOptions options;
  options.gate = [](HttpRequest& request) -> std::optional<HttpResponse> {
    request.caller = std::make_shared<Guest>();
    return std::nullopt;
  };
  std::mutex mutex;
  std::vector<std::string> heard;
  options.on_access = [&](const AccessEntry& entry) {
    const std::lock_guard lock{mutex};
    heard.push_back(std::string{entry.peer.substr(0, 10)} + " " +
                    std::string{entry.caller == nullptr ? "nobody" : entry.caller->name()} + " " +
                    std::string{entry.method} + " " + std::string{entry.path});
  };
  {
    const auto server = started(std::move(options));
    RawClient client{server->port()};
    client.ask(get("/hello?secret=1"));
    client.ask(get("/nowhere"));
    client.ask("nonsense\r\n\r\n");
  }
  EXPECT_THAT(heard,
              ::testing::ElementsAre("127.0.0.1: guest GET /hello", "127.0.0.1: guest GET /nowhere",
                                     "127.0.0.1: nobody  "));
}

TEST(HttpDoors, AnAddressHasItsRateOnAllConnections) {
  HttpServerOptions options;
  options.rate_per_address = {0.1, 3};
  const auto server = started(std::move(options));
  int passed = 0;
  for (int i = 0; i < 6; ++i) {
    RawClient client{server->port()};
    const auto reply = client.ask(get("/hello"));
    ASSERT_TRUE(reply);
    passed += reply->status == 200 ? 1 : 0;
    if (reply->status != 200) {
      EXPECT_EQ(reply->status, 429);
      EXPECT_NE(reply->header("Retry-After"), "");
    }
  }
  EXPECT_EQ(passed, 3);
}

TEST(HttpDoors, AnAddressHasSoManyConnectionsAtOnce) {
  HttpServerOptions options;
  options.connections_per_address = 2;
  const auto server = started(std::move(options));
  {
    RawClient first{server->port()};
    RawClient second{server->port()};
    EXPECT_EQ(first.ask(get("/hello"))->status, 200);
    EXPECT_EQ(second.ask(get("/hello"))->status, 200);
    RawClient third{server->port()};
    EXPECT_TRUE(third.is_closed_by_server());
    EXPECT_EQ(first.ask(get("/hello"))->status, 200) << "those inside go on";
  }
  for (int i = 0; i < 600 && server->open_connections() > 0; ++i)
    std::this_thread::sleep_for(milliseconds{5});
  RawClient later{server->port()};
  EXPECT_EQ(later.ask(get("/hello"))->status, 200);
}

}  // namespace
}  // namespace weir::transport
