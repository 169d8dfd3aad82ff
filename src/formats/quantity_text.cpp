// SPDX-License-Identifier: Apache-2.0
#include "formats/quantity_text.h"

#include <array>
#include <charconv>
#include <system_error>

#include "domain/digits.h"

namespace weir::formats {
namespace {

constexpr int kCpuDecimals = 3;
constexpr int kNanosecondDecimals = 9;

struct Unit {
  std::string_view name;
  std::int64_t size;
};

// In KiB. Largest first: format_memory takes the first that divides.
constexpr std::array<Unit, 4> kMemoryUnits{{{"TiB", std::int64_t{1} << 30},
                                            {"GiB", std::int64_t{1} << 20},
                                            {"MiB", std::int64_t{1} << 10},
                                            {"KiB", 1}}};
constexpr std::int64_t kKibibytesPerMebibyte = 1024;

// In seconds, in the order in which they are written.
constexpr std::array<Unit, 4> kTimeUnits{{{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}}};

std::optional<std::int64_t> times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

std::optional<std::int64_t> plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

std::int64_t power_of_ten(int exponent) {
  std::int64_t power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

// 2.5 of a unit that has `unit` small units; nothing unless that is a whole number of them.
// Requires: unit <= 10^18.
std::optional<std::int64_t> parse_multiple(std::string_view text, std::int64_t unit) {
  const std::size_t point = text.find('.');
  const auto whole = parse_count(text.substr(0, point));
  if (!whole) return std::nullopt;
  auto result = times(*whole, unit);
  if (point == std::string_view::npos || !result) return result;
  const std::string_view fraction = text.substr(point + 1);
  if (!all_digits(fraction)) return std::nullopt;
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;
  const std::string_view significant = fraction.substr(0, fraction.find_last_not_of('0') + 1);
  constexpr std::size_t kMostDecimals = 18;  // 10^18 fits 64 bits, times unit 128
  if (significant.size() > kMostDecimals) return std::nullopt;
  for (const char digit : significant) {
    numerator = numerator * 10 + (digit - '0');
    denominator *= 10;
  }
  __extension__ using Wide = __int128;
  const Wide scaled = static_cast<Wide>(numerator) * unit;
  if (scaled % denominator != 0) return std::nullopt;
  return plus(*result, static_cast<std::int64_t>(scaled / denominator));
}

}  // namespace

std::optional<std::int64_t> parse_count(std::string_view text) {
  if (!all_digits(text)) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  if (!text.starts_with('-')) return parse_count(text);
  const auto number = parse_count(text.substr(1));
  return number ? std::optional{-*number} : std::nullopt;
}

std::optional<std::int64_t> parse_decimal(std::string_view text, int decimals) {
  return parse_multiple(text, power_of_ten(decimals));
}

std::string format_decimal(std::int64_t scaled, int decimals) {
  const std::int64_t one = power_of_ten(decimals);
  std::string text = std::to_string(scaled / one);
  const std::int64_t rest = scaled % one;
  if (rest == 0) return text;
  const std::string digits = std::to_string(one + rest);  // the leading 1 keeps the zeros
  text += '.';
  text += digits.substr(1, digits.find_last_not_of('0'));
  return text;
}

std::optional<MilliCpu> parse_cpus(std::string_view text) {
  const auto milli = parse_decimal(text, kCpuDecimals);
  if (!milli) return std::nullopt;
  return MilliCpu{*milli};
}

std::string format_cpus(MilliCpu cpus) {
  return format_decimal(cpus.value, kCpuDecimals);
}

std::optional<Mebibytes> parse_memory(std::string_view text) {
  for (const Unit& unit : kMemoryUnits) {
    if (!text.ends_with(unit.name)) continue;
    const auto kibibytes =
        parse_multiple(text.substr(0, text.size() - unit.name.size()), unit.size);
    if (!kibibytes || *kibibytes % kKibibytesPerMebibyte != 0) return std::nullopt;
    return Mebibytes{*kibibytes / kKibibytesPerMebibyte};
  }
  return std::nullopt;
}

std::string format_memory(Mebibytes memory) {
  for (const Unit& unit : kMemoryUnits) {
    const std::int64_t mebibytes = unit.size / kKibibytesPerMebibyte;
    if (mebibytes > 0 && memory.value != 0 && memory.value % mebibytes == 0) {
      return std::to_string(memory.value / mebibytes).append(unit.name);
    }
  }
  return "0MiB";
}

std::optional<Duration> parse_duration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::int64_t nanoseconds = 0;
  auto unit = kTimeUnits.begin();
  while (!text.empty()) {
    const std::size_t letter = text.find_first_not_of("0123456789.");
    if (letter == std::string_view::npos) return std::nullopt;
    while (unit != kTimeUnits.end() && unit->name != text.substr(letter, 1)) ++unit;
    if (unit == kTimeUnits.end()) return std::nullopt;
    const auto part =
        parse_multiple(text.substr(0, letter), unit->size * power_of_ten(kNanosecondDecimals));
    const auto sum = part ? plus(nanoseconds, *part) : std::nullopt;
    if (!sum) return std::nullopt;
    nanoseconds = *sum;
    text.remove_prefix(letter + 1);
    ++unit;
  }
  return Duration{nanoseconds};
}

std::string format_duration(Duration duration) {
  const std::int64_t second = power_of_ten(kNanosecondDecimals);
  std::int64_t rest = duration.count();
  std::string text;
  for (const Unit& unit : kTimeUnits) {
    const std::int64_t size = unit.size * second;
    if (unit.name == "s") {
      if (rest > 0 || text.empty()) text += format_decimal(rest, kNanosecondDecimals) + "s";
    } else if (rest >= size) {
      text += std::to_string(rest / size).append(unit.name);
      rest %= size;
    }
  }
  return text;
}

std::optional<Duration> parse_seconds(std::string_view text) {
  const auto nanoseconds = parse_decimal(text, kNanosecondDecimals);
  if (!nanoseconds) return std::nullopt;
  return Duration{*nanoseconds};
}

std::string format_seconds(Duration duration) {
  return format_decimal(duration.count(), kNanosecondDecimals);
}

}  // namespace weir::formats
