// SPDX-License-Identifier: Apache-2.0
#include "formats/rate_text.h"

#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>

#include "domain/digits.h"
#include "formats/input_ranges.h"

namespace weir::formats {
namespace {

constexpr int kMicroDecimals = 6;
constexpr int kLargestExponent = 1000;        // no program prints a larger one
constexpr std::int64_t kMostRateDigits = 18;  // of micro-iterations: fits 64 bits

// "e-02" is -2, "" is 0.
std::optional<int> parse_exponent(std::string_view text) {
  if (text.empty()) return 0;
  text.remove_prefix(1);
  const bool has_plus = text.starts_with('+');
  if (has_plus) text.remove_prefix(1);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if ((has_plus && text.front() == '-') || value > kLargestExponent || value < -kLargestExponent) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

std::optional<RateText> parse_rate(std::string_view text) {
  const std::size_t letter = text.find_first_of("eE");
  const std::string_view mantissa = text.substr(0, letter);
  const auto exponent =
      parse_exponent(letter == std::string_view::npos ? std::string_view{} : text.substr(letter));
  if (!exponent) return std::nullopt;
  const std::size_t point = mantissa.find('.');
  const std::string_view whole = mantissa.substr(0, point);
  if (!all_digits(whole)) return std::nullopt;
  std::string digits{whole};
  std::int64_t shift = *exponent + kMicroDecimals;  // micro-iterations = digits * 10^shift
  if (point != std::string_view::npos) {
    const std::string_view fraction = mantissa.substr(point + 1);
    if (!all_digits(fraction)) return std::nullopt;
    digits += fraction;
    shift -= static_cast<std::int64_t>(fraction.size());
  }
  digits.erase(0, digits.find_first_not_of('0'));
  if (digits.empty()) return RateText{IterationRate{0}, true};
  const std::int64_t kept = static_cast<std::int64_t>(digits.size()) + shift;
  if (kept > kMostRateDigits) return std::nullopt;
  std::int64_t micro = 0;
  for (std::int64_t i = 0; i < kept; ++i) {
    const auto at = static_cast<std::size_t>(i);
    micro = micro * 10 + (at < digits.size() ? digits[at] - '0' : 0);
  }
  return RateText{IterationRate{micro}, false};
}

std::optional<RateText> parse_usable_rate(std::string_view text) {
  const auto parsed = parse_rate(text);
  if (!parsed || parsed->is_zero) return parsed;
  const bool is_usable = parsed->rate.value > 0 && parsed->rate <= kMostRate;
  return is_usable ? parsed : std::nullopt;
}

}  // namespace weir::formats
