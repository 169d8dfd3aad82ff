// SPDX-License-Identifier: Apache-2.0
#include "formats/log_values.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace weir::formats::log {

std::string to_text(Seconds seconds) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(seconds.value);
  std::string text = fmt::format("{}.{:09}", whole.count(), (seconds.value - whole).count());
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::optional<Seconds> seconds_of(std::string_view number) {
  constexpr double kMost = 9e9;  // a little less than 64 bits of nanoseconds
  double seconds = -1;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), seconds);
  const bool is_whole = error == std::errc{} && end == number.data() + number.size();
  if (!is_whole || !(seconds >= 0 && seconds <= kMost)) return std::nullopt;
  return Seconds{Duration{std::llround(seconds * 1e9)}};
}

std::optional<WideInteger> wide_integer_of(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  WideInteger value = 0;  // on the side of the sign: the least number has no positive twin
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    const int digit = is_negative ? '0' - c : c - '0';
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value)) {
      return std::nullopt;
    }
  }
  return value;
}

}  // namespace weir::formats::log
