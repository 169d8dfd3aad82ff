// SPDX-License-Identifier: Apache-2.0
//
// Reads server-sent events from bytes that arrive in any pieces. Lines end with LF, CR LF or CR.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace weir::transport {

struct ServerEvent {
  std::string id;  // the last one seen, also when this event had none
  std::string event = "message";
  std::string data;
  friend bool operator==(const ServerEvent&, const ServerEvent&) = default;
};

class EventStreamParser {
 public:
  // An event or line larger than this is an error: put() returns false from then on.
  explicit EventStreamParser(std::size_t most_bytes = 16 << 20) : most_bytes_{most_bytes} {}

  // Calls on_event for every event that is complete with these bytes; false from it skips the rest.
  // False: on_event said so, or an event is too large.
  bool put(std::string_view bytes, const std::function<bool(const ServerEvent&)>& on_event);

  const std::string& last_id() const { return last_id_; }
  // The server's wish for the time before a reconnect, if it sent one.
  std::optional<std::chrono::milliseconds> retry() const { return retry_; }
  bool is_too_large() const { return is_too_large_; }

 private:
  void take_line(std::string_view line);
  void take_field(std::string_view name, std::string_view value);
  bool dispatch(const std::function<bool(const ServerEvent&)>& on_event);

  std::size_t most_bytes_;
  std::string line_;  // the beginning of a line whose end has not arrived
  std::string event_;
  std::string data_;
  std::string last_id_;
  std::optional<std::chrono::milliseconds> retry_;
  bool has_data_ = false;
  bool is_at_start_ = true;       // a byte order mark may come
  bool skips_line_feed_ = false;  // the last byte was a CR
  bool is_too_large_ = false;
};

}  // namespace weir::transport
