// SPDX-License-Identifier: Apache-2.0
//
// Follows server-sent events across broken connections: asks again with Last-Event-ID, waiting a little longer
// after each failure.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "domain/result.h"
#include "transport/event_stream_parser.h"
#include "transport/http_client.h"

namespace weir::transport {

struct FollowOptions {
  std::chrono::milliseconds first_wait{250};
  std::chrono::milliseconds longest_wait{5'000};
  // How long to try without an answer. The first connection is tried once: a server that was never there is
  // an error at once.
  std::chrono::milliseconds patience{120'000};
};

// Ends when on_event returns false, when should_stop() is true, or when the server answers 204 (there is
// nothing more to follow). Returns the id of the last event. An answer of 4xx is an error with its detail.
Result<std::string> follow_events(HttpClient& client, std::string_view path, std::string last_id,
                                  const std::function<bool(const ServerEvent&)>& on_event,
                                  const std::function<bool()>& should_stop,
                                  const FollowOptions& options = {});

}  // namespace weir::transport
