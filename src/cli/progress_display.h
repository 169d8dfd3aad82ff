// SPDX-License-Identifier: Apache-2.0
//
// How far long work is, on standard error: a bar on a terminal, redrawn at most ten times a second;
// a line every few seconds in a log; nothing at all for work that is over at once. Work of unknown
// length tells in words where it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <ostream>
#include <string_view>

#include "domain/progress.h"

namespace weir::cli {

class ProgressDisplay final : public ProgressSink {
 public:
  using Clock = std::chrono::steady_clock;

  // `now` is a parameter so that tests can turn the clock.
  ProgressDisplay(
      std::ostream& err, bool is_terminal,
      std::function<Clock::time_point()> now = [] { return Clock::now(); });
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;
  // Wipes what is on the line: what comes next starts on a clean one.
  ~ProgressDisplay() override;

  void advance(std::string_view what, std::uint64_t done, std::uint64_t total) override;
  // What is being done now, in place of a bar.
  void tell(std::string_view what);
  void wipe();

 private:
  void draw_bar(std::string_view what, std::uint64_t total);
  void write_line(std::string_view what, std::uint64_t total);
  std::string time_left(std::uint64_t total) const;

  std::ostream& err_;
  const bool is_terminal_;
  const std::function<Clock::time_point()> now_;
  const Clock::time_point start_;

  std::mutex mutex_;
  Clock::time_point shown_at_;
  std::uint64_t done_ = 0;  // threads may report out of order: the most seen
  bool has_bar_ = false;
};

}  // namespace weir::cli
