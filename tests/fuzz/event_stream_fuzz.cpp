// SPDX-License-Identifier: Apache-2.0
//
// Server-sent events: the same events however the bytes arrive.
#include <vector>

#include "round_trip_check.h"
#include "transport/event_stream_parser.h"

namespace {

std::vector<weir::transport::ServerEvent> events_in(std::string_view bytes, std::size_t piece) {
  weir::transport::EventStreamParser parser;
  std::vector<weir::transport::ServerEvent> events;
  while (!bytes.empty()) {
    const std::string_view some = bytes.substr(0, piece);
    bytes.remove_prefix(some.size());
    parser.put(some, [&](const weir::transport::ServerEvent& event) {
      events.push_back(event);
      return true;
    });
  }
  return events;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes = weir::fuzz::text_of(data, size);
  const auto whole = events_in(bytes, bytes.size());
  weir::fuzz::check(events_in(bytes, 1) == whole, "byte by byte gives the same events");
  weir::fuzz::check(events_in(bytes, 3) == whole, "pieces give the same events");
  return 0;
}
