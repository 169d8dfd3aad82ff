// SPDX-License-Identifier: Apache-2.0
#include "cli/run_job_display.h"

#include <fmt/format.h>

#include <array>
#include <chrono>

#include "report/gpus_text.h"

namespace weir::cli {
namespace {

using namespace std::chrono_literals;

constexpr Duration kRedrawStatus = 200ms;
constexpr Duration kPlainLine = 10s;
// Cyan, yellow, green, magenta, blue: red is for what goes wrong.
constexpr std::array kColours = {36, 33, 32, 35, 34};

}  // namespace

void RunDisplay::line(std::int32_t rank, std::string_view text) {
  if (!settings_.shows_lines) return;
  wipe();
  if (settings_.has_colour) {
    const int colour = kColours[static_cast<std::size_t>(rank) % kColours.size()];
    lines_ << fmt::format("\x1b[{}m[{}]\x1b[0m {}\n", colour, rank, text);
  } else {
    lines_ << fmt::format("[{}] {}\n", rank, text);
  }
}

void RunDisplay::remark(std::string_view text) {
  wipe();
  lines_.flush();  // both may be one terminal or file: in the order of events
  remarks_ << "weir: " << text << std::endl;
}

void RunDisplay::progress(std::uint32_t generation, std::int32_t gpus, const RunProgress& progress,
                          Duration now) {
  if (origin_.generation != generation) origin_ = {generation, progress.iterations, now};
  // A first line at once says nothing that the remark of the start did not.
  if (!shown_at_) shown_at_ = now;
  if (now - *shown_at_ < (settings_.has_status_line ? kRedrawStatus : kPlainLine)) return;
  shown_at_ = now;
  const std::string text = status(gpus, progress, now);
  if (!settings_.has_status_line) return remark(text);
  remarks_ << "\r" << text << "\x1b[K" << std::flush;
  has_status_ = true;
}

std::string RunDisplay::status(std::int32_t gpus, const RunProgress& progress, Duration now) const {
  std::string text = fmt::format("step {}", progress.iterations);
  if (progress.loss) text += fmt::format(", loss {:.4g}", *progress.loss);
  if (now > origin_.at && progress.iterations > origin_.step) {
    text +=
        fmt::format(", {:.3g} steps/s", static_cast<double>(progress.iterations - origin_.step) /
                                            to_seconds(now - origin_.at));
  }
  return text + " on " + report::gpus_text(gpus);
}

void RunDisplay::flush() {
  lines_.flush();
}

void RunDisplay::wipe() {
  if (!has_status_) return;
  remarks_ << "\r\x1b[K" << std::flush;
  has_status_ = false;
}

}  // namespace weir::cli
