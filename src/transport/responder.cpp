// SPDX-License-Identifier: Apache-2.0
#include "transport/responder.h"

#include <cassert>
#include <utility>

namespace weir::transport {

Responder::~Responder() {
  drop();
}

Responder& Responder::operator=(Responder&& other) noexcept {
  if (this != &other) {
    drop();
    sink_ = std::move(other.sink_);
  }
  return *this;
}

void Responder::drop() {
  if (const auto sink = std::exchange(sink_, nullptr)) {
    sink->send(problem(500, "", "the server gave no answer to this request"));
  }
}

void Responder::send(HttpResponse response) {
  assert(sink_ && "a request is answered once");
  if (const auto sink = std::exchange(sink_, nullptr)) sink->send(std::move(response));
}

EventStream Responder::stream(HttpResponse head) {
  assert(sink_ && "a request is answered once");
  const auto sink = std::exchange(sink_, nullptr);
  return sink ? sink->stream(std::move(head)) : EventStream{};
}

HttpResponse event_stream_head() {
  return HttpResponse{200, "text/event-stream", "", {{"Cache-Control", "no-store"}}};
}

}  // namespace weir::transport
