// SPDX-License-Identifier: Apache-2.0
#include "cli/client_screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <ostream>
#include <string_view>
#include <thread>

namespace weir::cli {
namespace {

std::size_t screen_lines() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_row;
}

// Each line replaces the one that stood there, so nothing flickers.
std::string redrawn(std::string_view text) {
  constexpr std::string_view kToTheTop = "\x1b[H";
  constexpr std::string_view kClearLine = "\x1b[K\n";
  constexpr std::string_view kClearBelow = "\x1b[J";
  std::string drawn{kToTheTop};
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    drawn += text.substr(0, end);
    drawn += kClearLine;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return drawn += kClearBelow;
}

}  // namespace

Result<void> show_live(const std::function<Result<std::string>(std::size_t lines)>& text,
                       std::chrono::milliseconds interval, Console& console) {
  if (!console.out_is_terminal) {
    const auto once = text(0);
    if (!once) return tl::unexpected(once.error());
    console.out << *once;
    return {};
  }
  while (true) {
    const auto next = text(screen_lines());
    if (!next) return tl::unexpected(next.error());
    console.out << redrawn(*next);
    console.out.flush();
    if (!console.out) return {};
    std::this_thread::sleep_for(interval);
  }
}

}  // namespace weir::cli
