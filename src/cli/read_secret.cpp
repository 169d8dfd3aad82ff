// SPDX-License-Identifier: Apache-2.0
#include "cli/read_secret.h"

#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

namespace weir::cli {
namespace {

constexpr std::size_t kLongest = 4096;
constexpr char kInterrupt = 3;  // Ctrl-C

// No echo as long as it lives. Ctrl-C is a character that ends the line, not a signal that would leave the
// terminal without echo.
class Unseen {
 public:
  Unseen() {
    if (tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios quiet = before_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO | ISIG);
    quiet.c_cc[VEOL] = kInterrupt;
    is_quiet_ = tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet) == 0;
  }
  ~Unseen() {
    if (is_quiet_) tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
  }
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;
  bool is_quiet() const { return is_quiet_; }

 private:
  termios before_{};
  bool is_quiet_ = false;
};

void say(std::string_view text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

// Nothing when it was interrupted or cannot be read.
std::optional<std::string> read_line() {
  std::string line;
  while (line.size() <= kLongest) {
    char c = 0;
    const ssize_t count = read(STDIN_FILENO, &c, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 || c == kInterrupt) return std::nullopt;
    if (count == 0 || c == '\n') return line;
    line += c;
  }
  return std::nullopt;
}

}  // namespace

Result<std::string> read_secret(std::string_view question) {
  std::optional<std::string> line;
  if (isatty(STDIN_FILENO) == 1) {
    const Unseen unseen;
    if (unseen.is_quiet()) {
      say(question);
      line = read_line();
      say("\n");
    }
  } else {
    line = read_line();
  }
  if (!line)
    return bad_input(
        Diagnostic{"", 0, "standard input", "no line", "a line of at most 4096 bytes"});
  line->erase(line->find_last_not_of(" \t\r\n") + 1);
  line->erase(0, line->find_first_not_of(" \t"));
  return std::move(*line);
}

}  // namespace weir::cli
