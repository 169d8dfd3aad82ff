// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "transport/event_stream_parser.h"
#include "transport/follow_events.h"
#include "transport/http_client.h"
#include "transport/raw_client_testing.h"
#include "transport/test_server_testing.h"

namespace weir::transport {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// Keeps the streams that clients open at GET /events, and the id with which they ask.
class Streams {
 public:
  Router routes() {
    Router router = common_routes();
    router.add("GET", "/events", [this](const HttpRequest& request, Responder responder) {
      const std::lock_guard lock{mutex_};
      asked_for_.emplace_back(request.headers.find("last-event-id").value_or(""));
      open_.push_back(responder.stream(event_stream_head()));
      changed_.notify_all();
    });
    return router;
  }

  // Waits for the n-th.
  EventStream at(std::size_t n) {
    std::unique_lock lock{mutex_};
    changed_.wait_for(lock, 30s, [&] { return open_.size() > n; });
    return open_.size() > n ? open_[n] : EventStream{};
  }
  std::string asked_for(std::size_t n) {
    const std::lock_guard lock{mutex_};
    return asked_for_.at(n);
  }
  void drop_all() {
    const std::lock_guard lock{mutex_};
    open_.clear();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<EventStream> open_;
  std::vector<std::string> asked_for_;
};

bool closes(const EventStream& stream) {
  for (int i = 0; i < 3000 && stream.is_open(); ++i) std::this_thread::sleep_for(10ms);
  return !stream.is_open();
}

TEST(EventStream, SendsEventsAsTheyAreWritten) {
  Streams streams;
  const auto server = started({}, streams.routes());
  RawClient client{server->port()};
  client.send(get("/events"));
  ASSERT_TRUE(client.read_until("\r\n\r\n"));
  EXPECT_THAT(client.input(), HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_THAT(client.input(), HasSubstr("Transfer-Encoding: chunked\r\n"));
  const EventStream stream = streams.at(0);
  EXPECT_TRUE(stream.write("7", "placed", "two\nlines"));
  ASSERT_TRUE(client.read_until("id: 7\nevent: placed\ndata: two\ndata: lines\n\n\r\n"));
  EXPECT_TRUE(stream.write_comment("still here"));
  ASSERT_TRUE(client.read_until(":still here\n\n\r\n"));
  client.input().clear();
  stream.close();
  EXPECT_FALSE(stream.is_open());
  EXPECT_FALSE(stream.write("8", "", "too late"));
  ASSERT_TRUE(client.read_until("0\r\n\r\n"));
  client.input().clear();
  EXPECT_EQ(client.ask(get("/hello"))->body, "hello") << "the connection goes on";
}

TEST(EventStream, AnIdCannotSmuggleALine) {
  Streams streams;
  const auto server = started({}, streams.routes());
  RawClient client{server->port()};
  client.send(get("/events"));
  const EventStream stream = streams.at(0);
  stream.write("1\ndata: no", "a\rb", "");
  EXPECT_TRUE(client.read_until("id: 1data: no\nevent: ab\ndata: \n\n"));
}

TEST(EventStream, EndsWhenTheLastHandleGoes) {
  Streams streams;
  const auto server = started({}, streams.routes());
  RawClient client{server->port()};
  client.send(get("/events"));
  streams.at(0).write_bytes("x");
  ASSERT_TRUE(client.read_until("1\r\nx\r\n"));
  streams.drop_all();
  EXPECT_TRUE(client.read_until("0\r\n\r\n"));
}

TEST(EventStream, NoticesThatTheClientLeft) {
  Streams streams;
  const auto server = started({}, streams.routes());
  EventStream stream;
  {
    RawClient client{server->port()};
    client.send(get("/events"));
    stream = streams.at(0);
    EXPECT_TRUE(stream.is_open());
  }
  EXPECT_TRUE(closes(stream));
}

TEST(EventStream, ASlowReaderIsCutOff) {
  HttpServerOptions options;
  options.stream_buffer_bytes = 64 << 10;
  Streams streams;
  const auto server = started(options, streams.routes());
  RawClient slow{server->port(), 4096};
  slow.send(get("/events"));
  RawClient quick{server->port()};
  ASSERT_TRUE(slow.read_until("\r\n\r\n"));
  const EventStream stream = streams.at(0);
  const std::string data(1000, 'x');
  std::size_t written = 0;
  while (written < 100'000 && stream.write(std::to_string(written), "e", data)) {
    if (++written % 50 == 0) std::this_thread::sleep_for(1ms);  // the kernel's buffers fill first
  }
  EXPECT_LT(written, 100'000U);
  EXPECT_FALSE(stream.is_open());
  EXPECT_TRUE(slow.is_closed_by_server());
  EXPECT_EQ(quick.ask(get("/hello"))->status, 200);
}

TEST(EventStream, HeadOfAStreamHasNoBody) {
  Streams streams;
  const auto server = started({}, streams.routes());
  RawClient client{server->port()};
  const auto head = client.ask("HEAD /events HTTP/1.1\r\nHost: h\r\n\r\n", true);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status, 200);
  EXPECT_TRUE(closes(streams.at(0)));
  EXPECT_EQ(client.ask(get("/hello"))->body, "hello");
}

TEST(EventStream, ToHttp10HasNoChunks) {
  Streams streams;
  const auto server = started({}, streams.routes());
  RawClient client{server->port()};
  client.send("GET /events HTTP/1.0\r\n\r\n");
  const EventStream stream = streams.at(0);
  stream.write_bytes("plain");
  stream.close();
  EXPECT_THAT(client.read_all(), ::testing::EndsWith("\r\n\r\nplain"));
}

TEST(EventStream, StopEndsOpenStreams) {
  HttpServerOptions options;
  options.stop_time = 30s;  // it does not take that long
  Streams streams;
  auto server = started(options, streams.routes());
  std::vector<std::unique_ptr<RawClient>> clients;
  for (std::size_t i = 0; i < 10; ++i) {
    clients.push_back(std::make_unique<RawClient>(server->port()));
    clients.back()->send(get("/events"));
    streams.at(i).write_bytes("last words");
  }
  const auto begin = std::chrono::steady_clock::now();
  server.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 25s);
  for (const auto& client : clients) {
    EXPECT_THAT(client->read_all(), ::testing::EndsWith("last words\r\n0\r\n\r\n"));
  }
  EXPECT_FALSE(streams.at(0).write_bytes("too late"));
}

TEST(EventStream, ManyThreadsMayWrite) {
  Streams streams;
  const auto server = started({}, streams.routes());
  HttpClient client{server->url()};
  std::vector<std::thread> writers;
  std::thread starter{[&] {
    const EventStream stream = streams.at(0);
    for (int w = 0; w < 4; ++w) {
      writers.emplace_back([stream, w] {
        for (int i = 0; i < 200; ++i) {
          while (!stream.has_room() && stream.is_open()) std::this_thread::yield();
          stream.write(std::to_string(i), std::to_string(w), "data");
        }
      });
    }
    for (std::thread& writer : writers) writer.join();
    stream.close();
  }};
  EventStreamParser parser;
  std::vector<int> next(4, 0);
  const auto reply = client.stream("/events", {}, [&](std::string_view bytes) {
    return parser.put(bytes, [&](const ServerEvent& event) {
      EXPECT_EQ(event.id, std::to_string(next[static_cast<std::size_t>(std::stoi(event.event))]++));
      return true;
    });
  });
  starter.join();
  ASSERT_TRUE(reply) << to_string(reply.error().details);
  EXPECT_THAT(next, ::testing::Each(200));
}

// A producer of much data that waits for room: 64 MiB pass through a buffer of 256 KiB.
class Export : public std::enable_shared_from_this<Export> {
 public:
  Export(EventStream stream, std::size_t bytes, std::atomic<int>& finished)
      : stream_{std::move(stream)}, left_{bytes}, finished_{finished} {}

  void pump() {
    while (left_ > 0 && stream_.has_room()) {
      const std::size_t size = std::min<std::size_t>(left_, 16 << 10);
      stream_.write_bytes(std::string(size, 'x'));
      left_ -= size;
    }
    if (left_ > 0 && stream_.is_open()) {
      return stream_.on_drained([self = shared_from_this()] { self->pump(); });
    }
    stream_.close();
    ++finished_;
  }

 private:
  EventStream stream_;
  std::size_t left_;
  std::atomic<int>& finished_;
};

TEST(EventStream, ALargeExportWaitsForItsReader) {
  constexpr std::size_t kBytes = 64 << 20;
  std::atomic<int> finished{0};
  HttpServerOptions options;
  options.stream_buffer_bytes = 256 << 10;
  Router router;
  router.add("GET", "/export", [&](const HttpRequest&, Responder responder) {
    auto stream = responder.stream(HttpResponse{200, "application/x-ndjson", "", {}});
    std::make_shared<Export>(std::move(stream), kBytes, finished)->pump();
  });
  const auto server = started(options, std::move(router));
  HttpClient client{server->url()};
  std::size_t got = 0;
  const auto reply = client.stream("/export", {}, [&](std::string_view bytes) {
    got += bytes.size();
    return true;
  });
  ASSERT_TRUE(reply) << to_string(reply.error().details);
  EXPECT_EQ(got, kBytes);
  // A reader that leaves ends the export too.
  std::size_t few = 0;
  ASSERT_TRUE(client.stream("/export", {}, [&](std::string_view bytes) {
    few += bytes.size();
    return few < 100'000;
  }));
  for (int i = 0; i < 3000 && finished < 2; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(finished, 2);
}

TEST(FollowEvents, ResumesAfterEveryCutWithTheLastId) {
  constexpr int kEvents = 60;
  std::atomic<int> connections{0};
  Router router;
  router.add("GET", "/events", [&](const HttpRequest& request, Responder responder) {
    ++connections;
    const std::string last{request.headers.find("Last-Event-ID").value_or("0")};
    const EventStream stream = responder.stream(event_stream_head());
    stream.write_bytes("retry: 1\n\n");
    // Ten at a time, then the connection ends.
    for (int i = std::stoi(last) + 1; i <= kEvents && i <= std::stoi(last) + 10; ++i) {
      stream.write(std::to_string(i), "tick", "event " + std::to_string(i));
    }
  });
  const auto server = started({}, std::move(router));
  HttpClient client{server->url()};
  std::vector<std::string> ids;
  const auto last = follow_events(client, "/events", "",
                                  [&](const ServerEvent& event) {
                                    EXPECT_EQ(event.data, "event " + event.id);
                                    ids.push_back(event.id);
                                    return static_cast<int>(ids.size()) < kEvents;
                                  },
                                  {});
  ASSERT_TRUE(last) << to_string(last.error().details);
  EXPECT_EQ(*last, std::to_string(kEvents));
  ASSERT_EQ(ids.size(), static_cast<std::size_t>(kEvents));
  for (int i = 0; i < kEvents; ++i)
    EXPECT_EQ(ids[static_cast<std::size_t>(i)], std::to_string(i + 1));
  EXPECT_EQ(connections, 6);
}

TEST(FollowEvents, SurvivesARestartOfTheServer) {
  Streams streams;
  auto server = started({}, streams.routes());
  const std::uint16_t port = server->port();
  HttpClientLimits limits;
  limits.silence_time = 20s;
  HttpClient client{server->url(), "", limits};
  std::vector<std::string> ids;
  std::thread other{[&] {
    streams.at(0).write("1", "", "before");
    server.reset();
    HttpServerOptions options;
    options.port = port;
    server = started(options, streams.routes());
    streams.at(1).write("2", "", "after");
  }};
  FollowOptions options;
  options.first_wait = 10ms;
  const auto last = follow_events(
      client, "/events", "",
      [&](const ServerEvent& event) {
        ids.push_back(event.id);
        return ids.size() < 2;
      },
      {}, options);
  other.join();
  ASSERT_TRUE(last) << to_string(last.error().details);
  EXPECT_THAT(ids, ::testing::ElementsAre("1", "2"));
  EXPECT_EQ(streams.asked_for(1), "1");
}

TEST(FollowEvents, EndsWhenAskedToOrWhenThereIsNothingToFollow) {
  Streams streams;
  Router router = streams.routes();
  router.add("GET", "/over", [](const HttpRequest&, Responder responder) {
    responder.send(HttpResponse{204, "", "", {}});
  });
  const auto server = started({}, std::move(router));
  HttpClient client{server->url()};
  const auto ignore = [](const ServerEvent&) { return true; };
  EXPECT_EQ(*follow_events(client, "/over", "5", ignore, {}), "5");
  const auto unknown = follow_events(client, "/nowhere", "", ignore, {});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(to_string(unknown.error().details), HasSubstr("404"));
  std::atomic<bool> stop{false};
  std::thread stopper{[&] {
    streams.at(0);
    stop = true;
  }};
  EXPECT_TRUE(follow_events(client, "/events", "", ignore, [&] { return stop.load(); }));
  stopper.join();
}

TEST(FollowEvents, AServerThatWasNeverThereIsAnErrorAtOnce) {
  const std::string url = started()->url();
  HttpClient client{url};
  const auto answer = follow_events(client, "/", "", [](const ServerEvent&) { return true; }, {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace weir::transport
