// SPDX-License-Identifier: Apache-2.0
//
// Cuts the bytes of a watch into lines, one JSON object each, wherever the pieces end in which they arrive.
// What is left at the end of a stream is half a line and is never given: the server sends that event again.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::engine::kubernetes {

// An API server takes objects of at most 3 MB.
inline constexpr std::size_t kMaxWatchLine = std::size_t{16} << 20;

class WatchLines {
 public:
  explicit WatchLines(std::size_t max_bytes = kMaxWatchLine) : max_bytes_{max_bytes} {}

  // Calls `use` with each line that is now complete, without its end; empty lines are left out. Stops when `use`
  // returns false, or when a line is longer than allowed: false then, and nothing more may be put.
  template <class Use>
  bool put(std::string_view bytes, Use use) {
    while (true) {
      const std::size_t end = bytes.find('\n');
      if (end == std::string_view::npos) return keep(bytes);
      const std::string_view piece = bytes.substr(0, end);
      bytes.remove_prefix(end + 1);
      if (!keep_or_view(piece)) return false;
      const std::string_view line = pending_.empty() ? piece : std::string_view{pending_};
      if (!is_blank(line) && !use(line)) return false;
      pending_.clear();
    }
  }

  // The last put() ended because of this.
  bool is_too_long() const { return is_too_long_; }

  void restart() {
    pending_.clear();
    pending_.shrink_to_fit();
    is_too_long_ = false;
  }

 private:
  static bool is_blank(std::string_view line) {
    return line.find_first_not_of(" \t\r") == std::string_view::npos;
  }
  bool keep(std::string_view piece) {
    is_too_long_ = pending_.size() + piece.size() > max_bytes_;
    if (!is_too_long_) pending_ += piece;
    return !is_too_long_;
  }
  // The end of a line: joined with what came before, if anything did.
  bool keep_or_view(std::string_view piece) {
    if (!pending_.empty()) return keep(piece);
    is_too_long_ = piece.size() > max_bytes_;
    return !is_too_long_;
  }

  std::size_t max_bytes_;
  std::string pending_;
  bool is_too_long_ = false;
};

}  // namespace weir::engine::kubernetes
