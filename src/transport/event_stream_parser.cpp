// SPDX-License-Identifier: Apache-2.0
#include "transport/event_stream_parser.h"

#include <algorithm>
#include <charconv>

namespace weir::transport {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

bool EventStreamParser::put(std::string_view bytes,
                            const std::function<bool(const ServerEvent&)>& on_event) {
  while (!bytes.empty() && !is_too_large_) {
    if (skips_line_feed_) {
      skips_line_feed_ = false;
      if (bytes.front() == '\n') {
        bytes.remove_prefix(1);
        continue;
      }
    }
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    if (line_.size() + data_.size() + end > most_bytes_) {
      is_too_large_ = true;
      break;
    }
    line_ += bytes.substr(0, end);
    if (end == bytes.size()) return true;
    skips_line_feed_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    const std::string line = std::exchange(line_, {});
    std::string_view text = line;
    if (is_at_start_ && text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    is_at_start_ = false;
    if (!text.empty()) {
      take_line(text);
    } else if (!dispatch(on_event)) {
      return false;
    }
  }
  return !is_too_large_;
}

void EventStreamParser::take_line(std::string_view line) {
  const std::size_t colon = std::min(line.find(':'), line.size());
  if (colon == 0) return;  // a comment
  std::string_view value = line.substr(std::min(colon + 1, line.size()));
  if (value.starts_with(' ')) value.remove_prefix(1);
  take_field(line.substr(0, colon), value);
}

void EventStreamParser::take_field(std::string_view name, std::string_view value) {
  if (name == "data") {
    data_ += value;
    data_ += '\n';
    has_data_ = true;
  } else if (name == "event") {
    event_ = value;
  } else if (name == "id") {
    if (value.find('\0') == std::string_view::npos) last_id_ = value;
  } else if (name == "retry") {
    std::uint32_t milliseconds = 0;
    const auto [end, error] =
        std::from_chars(value.data(), value.data() + value.size(), milliseconds);
    if (error == std::errc{} && end == value.data() + value.size()) {
      retry_ = std::chrono::milliseconds{milliseconds};
    }
  }
}

// An event without data is none.
bool EventStreamParser::dispatch(const std::function<bool(const ServerEvent&)>& on_event) {
  const bool has_data = std::exchange(has_data_, false);
  ServerEvent event{last_id_, std::exchange(event_, {}), std::exchange(data_, {})};
  if (!has_data) return true;
  if (event.event.empty()) event.event = "message";
  event.data.pop_back();  // the last line's end is not data
  return on_event(event);
}

}  // namespace weir::transport
