// SPDX-License-Identifier: Apache-2.0
//
// The duty to answer one request: complete it once, from any thread, now or later. One that is dropped
// without an answer answers 500, so that no client waits for ever.
#pragma once

#include <memory>

#include "transport/event_stream.h"
#include "transport/http_message.h"

namespace weir::transport {

// Where answers go. The server's side; tests have their own.
class ResponseSink {
 public:
  virtual ~ResponseSink() = default;
  virtual void send(HttpResponse response) = 0;
  virtual EventStream stream(HttpResponse head) = 0;
};

class Responder {
 public:
  explicit Responder(std::shared_ptr<ResponseSink> sink) : sink_{std::move(sink)} {}
  ~Responder();
  Responder(Responder&&) = default;
  Responder& operator=(Responder&& other) noexcept;
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;

  // Requires: not completed yet.
  void send(HttpResponse response);

  // Begins a response without end; the body of `head` is sent first. For server-sent events take
  // event_stream_head(). Requires: not completed yet.
  EventStream stream(HttpResponse head);

 private:
  void drop();
  std::shared_ptr<ResponseSink> sink_;
};

// 200, text/event-stream, not to be stored.
HttpResponse event_stream_head();

}  // namespace weir::transport
