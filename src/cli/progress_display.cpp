// SPDX-License-Identifier: Apache-2.0
#include "cli/progress_display.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kRedraw = 100ms;  // ten times a second looks smooth and costs nothing
constexpr auto kLogLine = 3s;    // also the length of work that is over before it says anything
constexpr std::uint64_t kBarWidth = 30;

}  // namespace

ProgressDisplay::ProgressDisplay(std::ostream& err, bool is_terminal,
                                 std::function<Clock::time_point()> now)
    : err_{err},
      is_terminal_{is_terminal},
      now_{std::move(now)},
      start_{now_()},
      shown_at_{start_} {}

ProgressDisplay::~ProgressDisplay() {
  wipe();
}

void ProgressDisplay::wipe() {
  const std::lock_guard lock{mutex_};
  if (has_bar_) err_ << "\r\x1b[K" << std::flush;
  has_bar_ = false;
}

void ProgressDisplay::advance(std::string_view what, std::uint64_t done, std::uint64_t total) {
  const std::lock_guard lock{mutex_};
  done_ = std::max(done_, done);
  const auto since_shown = now_() - shown_at_;
  if (total == 0 || (is_terminal_ ? since_shown < kRedraw : since_shown < kLogLine)) return;
  shown_at_ = now_();
  if (is_terminal_) {
    draw_bar(what, total);
  } else {
    write_line(what, total);
  }
}

void ProgressDisplay::tell(std::string_view what) {
  const std::lock_guard lock{mutex_};
  if (is_terminal_) {
    err_ << fmt::format("\r{}\x1b[K", what) << std::flush;
    has_bar_ = true;
    return;
  }
  if (now_() - shown_at_ < kLogLine) return;
  shown_at_ = now_();
  err_ << what << "\n" << std::flush;
}

void ProgressDisplay::draw_bar(std::string_view what, std::uint64_t total) {
  const auto filled = static_cast<std::size_t>(kBarWidth * done_ / total);
  err_ << fmt::format("\r{} [{}{}] {}/{}{}\x1b[K", what, std::string(filled, '#'),
                      std::string(kBarWidth - filled, '-'), done_, total, time_left(total))
       << std::flush;
  has_bar_ = true;
}

void ProgressDisplay::write_line(std::string_view what, std::uint64_t total) {
  err_ << fmt::format("{}: {} of {} runs{}\n", what, done_, total, time_left(total)) << std::flush;
}

std::string ProgressDisplay::time_left(std::uint64_t total) const {
  if (done_ == 0 || done_ >= total) return "";
  const std::chrono::duration<double> passed = now_() - start_;
  const double left =
      passed.count() * static_cast<double>(total - done_) / static_cast<double>(done_);
  return fmt::format(", {:.0f} s left", left);
}

}  // namespace weir::cli
