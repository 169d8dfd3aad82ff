// SPDX-License-Identifier: Apache-2.0
//
// The sending end of a response without a known length: server-sent events, a log that is followed, a
// large export. Handles are cheap copies of one stream and may be used from any thread; the stream ends
// when close() is called or the last handle goes.
//
// What is written waits in a buffer of limited size (HttpServerOptions::stream_buffer_bytes). Writing more
// than fits cuts the connection: a reader that slow has to come back with Last-Event-ID. A producer of much
// data asks has_room() first and goes on in on_drained().
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

namespace weir::transport {

// What an EventStream writes to. The server's side; tests have their own.
class StreamSink {
 public:
  virtual ~StreamSink() = default;
  virtual bool append(std::string_view bytes) = 0;
  virtual bool has_room() const = 0;
  virtual bool is_open() const = 0;
  virtual void call_when_drained(std::function<void()> callback) = 0;
  virtual void close() = 0;
};

class EventStream {
 public:
  EventStream() = default;  // closed
  explicit EventStream(std::shared_ptr<StreamSink> sink);

  // One server-sent event. An empty id or event is left out; lines of data become lines of the event.
  // False when the stream is closed, by either side.
  bool write(std::string_view id, std::string_view event, std::string_view data) const;
  // Readers ignore it; it keeps the connection alive.
  bool write_comment(std::string_view text = "") const;
  // Bytes as they are.
  bool write_bytes(std::string_view bytes) const;

  // Less than half of the buffer is used.
  bool has_room() const;
  // Calls once, from a thread of the server, when the buffer has room or the stream has closed. A new
  // callback replaces one that has not been called.
  void on_drained(std::function<void()> callback) const;

  // What was written is still sent.
  void close() const;
  bool is_open() const;

 private:
  struct Handle;
  std::shared_ptr<Handle> handle_;
};

}  // namespace weir::transport
