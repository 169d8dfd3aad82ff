// SPDX-License-Identifier: Apache-2.0
#include "engine/local/progress_line.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "domain/digits.h"
#include "engine/local/run_token.h"

namespace weir::engine {
namespace {

constexpr std::size_t kLongestLine = 4096;

bool is_space(char c) {
  return c == ' ' || c == '\t';
}

std::optional<std::int64_t> take_step(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const auto size = static_cast<std::size_t>(end - text.begin());
  const auto step = parse_number<std::int64_t>(text.substr(0, size));
  text.remove_prefix(size);
  return step;
}

// False when there is no number; one that is not finite is a number, but no loss.
bool take_loss(std::string_view& text, std::optional<double>& loss) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (error == std::errc{} && std::isfinite(value)) loss = value;
  return true;
}

}  // namespace

ProgressLine::ProgressLine(std::string_view pattern) {
  while (!pattern.empty()) {
    if (pattern.starts_with("{step}")) {
      pieces_.push_back({Piece::Kind::step, ""});
      pattern.remove_prefix(6);
    } else if (pattern.starts_with("{loss}")) {
      pieces_.push_back({Piece::Kind::loss, ""});
      pattern.remove_prefix(6);
    } else if (is_space(pattern.front())) {
      const auto end = std::find_if_not(pattern.begin(), pattern.end(), is_space);
      pattern.remove_prefix(static_cast<std::size_t>(end - pattern.begin()));
      pieces_.push_back({Piece::Kind::space, ""});
    } else {
      if (pieces_.empty() || pieces_.back().kind != Piece::Kind::text)
        pieces_.push_back({Piece::Kind::text, ""});
      pieces_.back().text += pattern.front();
      pattern.remove_prefix(1);
    }
  }
}

std::optional<ProgressReading> ProgressLine::match_at(std::string_view line,
                                                      std::size_t start) const {
  // Not the last digits of a longer number.
  if (pieces_.front().kind == Piece::Kind::step && start > 0 && is_digit(line[start - 1]))
    return std::nullopt;
  std::string_view rest = line.substr(start);
  ProgressReading reading;
  for (const Piece& piece : pieces_) {
    switch (piece.kind) {
      case Piece::Kind::text:
        if (!rest.starts_with(piece.text)) return std::nullopt;
        rest.remove_prefix(piece.text.size());
        break;
      case Piece::Kind::space: {
        const auto end = std::find_if_not(rest.begin(), rest.end(), is_space);
        if (end == rest.begin()) return std::nullopt;
        rest.remove_prefix(static_cast<std::size_t>(end - rest.begin()));
        break;
      }
      case Piece::Kind::step: {
        const auto step = take_step(rest);
        if (!step) return std::nullopt;
        reading.step = *step;
        break;
      }
      case Piece::Kind::loss:
        if (!take_loss(rest, reading.loss)) return std::nullopt;
        break;
    }
  }
  return reading;
}

std::optional<ProgressReading> ProgressLine::find_in(std::string_view line) const {
  for (std::size_t start = 0; !pieces_.empty() && start < line.size(); ++start)
    if (const auto reading = match_at(line, start)) return reading;
  return std::nullopt;
}

std::optional<ProgressReading> ProgressLine::append(std::string_view portion) {
  std::optional<ProgressReading> last;
  while (!portion.empty()) {
    const std::size_t end = std::min(portion.find_first_of("\r\n"), portion.size());
    is_too_long_ = is_too_long_ || line_.size() + end > kLongestLine;
    if (!is_too_long_) line_ += portion.substr(0, end);
    if (end == portion.size()) break;
    if (const auto reading = is_too_long_ ? std::nullopt : find_in(line_)) last = reading;
    line_.clear();
    is_too_long_ = false;
    portion.remove_prefix(end + 1);
  }
  return last;
}

}  // namespace weir::engine
