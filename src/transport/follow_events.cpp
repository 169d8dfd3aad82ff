// SPDX-License-Identifier: Apache-2.0
#include "transport/follow_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace weir::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// In small pieces, so that a wish to stop is heard.
void wait(milliseconds time, const std::function<bool()>& should_stop) {
  constexpr milliseconds kPiece{50};
  const auto end = steady_clock::now() + time;
  while (!(should_stop && should_stop())) {
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
    if (left <= milliseconds{0}) return;
    std::this_thread::sleep_for(std::min(left, kPiece));
  }
}

tl::unexpected<Error> refused(const HttpClient& client, std::string_view path,
                              const HttpReply& reply, ErrorCode code) {
  Diagnostics details;
  details.add(Diagnostic{
      fmt::format("{}{}", client.base_url(), path), 0, "the answer",
      fmt::format("{} {}", reply.status, reason_phrase(reply.status)),
      reply.body.empty() ? "events to follow" : fmt::format("events to follow: {}", reply.body)});
  return tl::unexpected(Error{code, std::move(details)});
}

bool is_final_refusal(int status) {
  const bool may_pass = status == 408 || status == 429 || status >= 500;
  return status >= 300 && !may_pass;
}

}  // namespace

Result<std::string> follow_events(HttpClient& client, std::string_view path, std::string last_id,
                                  const std::function<bool(const ServerEvent&)>& on_event,
                                  const std::function<bool()>& should_stop,
                                  const FollowOptions& options) {
  milliseconds delay = options.first_wait;
  std::optional<milliseconds> wish;
  std::optional<steady_clock::time_point> last_heard;
  const auto begin = steady_clock::now();
  while (!(should_stop && should_stop())) {
    EventStreamParser parser;
    bool is_over = false;
    HeaderList headers{{"Accept", "text/event-stream"}};
    if (!last_id.empty()) headers.add("Last-Event-ID", last_id);
    const auto on_bytes = [&](std::string_view bytes) {
      last_heard = steady_clock::now();
      delay = wish.value_or(options.first_wait);
      return parser.put(bytes, [&](const ServerEvent& event) {
        if (!event.id.empty()) last_id = event.id;
        is_over = !on_event(event);
        return !is_over;
      });
    };
    const auto reply = client.stream(path, headers, on_bytes, should_stop);
    if (is_over) return last_id;
    const bool is_patient = steady_clock::now() - last_heard.value_or(begin) <= options.patience;
    if (!reply) {
      if (!last_heard || !is_patient) return tl::unexpected(reply.error());
    } else if (reply->status == 204) {
      return last_id;
    } else if (is_final_refusal(reply->status)) {
      return refused(client, path, *reply, ErrorCode::bad_input);
    } else if (reply->succeeded()) {
      last_heard = steady_clock::now();
    } else if (!is_patient) {
      return refused(client, path, *reply, ErrorCode::unavailable);
    }
    if (parser.retry()) wish = delay = *parser.retry();
    wait(delay, should_stop);
    delay = std::min(delay * 2, std::max(options.longest_wait, delay));
  }
  return last_id;
}

}  // namespace weir::transport
