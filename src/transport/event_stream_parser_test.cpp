// SPDX-License-Identifier: Apache-2.0
#include "transport/event_stream_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "transport/event_stream.h"

namespace weir::transport {
namespace {

std::vector<ServerEvent> parsed_events(std::string_view bytes,
                                       const std::vector<std::size_t>& cuts = {}) {
  EventStreamParser parser;
  std::vector<ServerEvent> events;
  const auto keep = [&](const ServerEvent& event) {
    events.push_back(event);
    return true;
  };
  for (const std::size_t cut : cuts) {
    const std::size_t size = std::min(cut, bytes.size());
    parser.put(bytes.substr(0, size), keep);
    bytes.remove_prefix(size);
  }
  parser.put(bytes, keep);
  return events;
}

TEST(EventStreamParser, ReadsFields) {
  const auto events = parsed_events(
      "id: 1\nevent: placed\ndata: a\ndata:b\n\n:comment\n\ndata\n\nid: 2\n\n"
      "unknown: x\ndata:  c\n\nid\ndata: d\n\ndata: unfinished\n");
  EXPECT_THAT(events, ::testing::ElementsAre(
                          ServerEvent{"1", "placed", "a\nb"}, ServerEvent{"1", "message", ""},
                          ServerEvent{"2", "message", " c"}, ServerEvent{"", "message", "d"}));
}

TEST(EventStreamParser, TakesEveryLineEndAndAByteOrderMark) {
  const std::vector<ServerEvent> expected{{"1", "message", "a"}, {"2", "message", "b"}};
  EXPECT_EQ(parsed_events("id:1\ndata:a\n\nid:2\ndata:b\n\n"), expected);
  EXPECT_EQ(parsed_events("id:1\r\ndata:a\r\n\r\nid:2\r\ndata:b\r\n\r\n"), expected);
  EXPECT_EQ(parsed_events("id:1\rdata:a\r\rid:2\rdata:b\r\r"), expected);
  EXPECT_EQ(parsed_events("\xef\xbb\xbfid:1\r\ndata:a\n\rid:2\rdata:b\r\n\n"), expected);
}

TEST(EventStreamParser, KeepsTheWishForAReconnect) {
  EventStreamParser parser;
  parser.put("retry: 1500\nretry: soon\n\n", [](const ServerEvent&) { return true; });
  EXPECT_EQ(parser.retry(), std::chrono::milliseconds{1500});
}

TEST(EventStreamParser, EndsWhenTheReaderHasEnough) {
  EventStreamParser parser;
  int seen = 0;
  EXPECT_FALSE(parser.put("data: 1\n\ndata: 2\n\n", [&](const ServerEvent&) {
    ++seen;
    return false;
  }));
  EXPECT_EQ(seen, 1);
}

TEST(EventStreamParser, AnEventHasALimit) {
  EventStreamParser parser{1000};
  const auto ignore = [](const ServerEvent&) { return true; };
  EXPECT_TRUE(parser.put("data: " + std::string(900, 'x') + "\n\n", ignore));
  EXPECT_TRUE(parser.put("data: " + std::string(900, 'x') + "\n", ignore));
  EXPECT_FALSE(parser.put("data: " + std::string(900, 'x') + "\n", ignore));
  EXPECT_TRUE(parser.is_too_large());
}

class Collected final : public StreamSink {
 public:
  bool append(std::string_view bytes) override {
    text += bytes;
    return true;
  }
  bool has_room() const override { return true; }
  bool is_open() const override { return true; }
  void call_when_drained(std::function<void()>) override {}
  void close() override {}
  std::string text;
};

rc::Gen<std::string> text_without(std::string_view unwanted) {
  return rc::gen::container<std::string>(
      rc::gen::suchThat(rc::gen::element('a', 'b', ':', ' ', '\n', '\r', '\xc3', 'x', '0'),
                        [=](char c) { return unwanted.find(c) == std::string_view::npos; }));
}

// What a stream writes comes back, wherever the bytes are cut. (A CR in data becomes a LF: SSE has no other.)
RC_GTEST_PROP(EventStreamParser, ReadsWhatAStreamWritesCutAnywhere, ()) {
  const auto sink = std::make_shared<Collected>();
  const EventStream stream{sink};
  std::vector<ServerEvent> written;
  const int count = *rc::gen::inRange(0, 6);
  for (int i = 0; i < count; ++i) {
    ServerEvent event{"i" + *text_without("\r\n"), "e" + *text_without("\r\n"),
                      *text_without("\r")};
    stream.write(event.id, event.event, event.data);
    if (*rc::gen::arbitrary<bool>()) stream.write_comment("c");
    written.push_back(std::move(event));
  }
  const auto cuts =
      *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, 9));
  RC_ASSERT(parsed_events(sink->text, cuts) == written);
}

RC_GTEST_PROP(EventStreamParser, AnyBytesReadTheSameCutAnywhere, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("data", ":", " ", "\n", "\r", "\r\n", "id", "event", "x",
                                    "\xef\xbb\xbf", std::string(1, '\0')));
  std::string bytes;
  for (const std::string& piece : pieces) bytes += piece;
  const auto cuts =
      *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, 4));
  RC_ASSERT(parsed_events(bytes, cuts) == parsed_events(bytes));
}

}  // namespace
}  // namespace weir::transport
