// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/quantity.h"

#include <algorithm>
#include <array>
#include <limits>

#include "domain/digits.h"

namespace weir::observe {
namespace {

constexpr __int128 kUnit = 1'000'000'000;
constexpr __int128 kMost = static_cast<__int128>(std::numeric_limits<std::int64_t>::max()) * kUnit;

struct Suffix {
  std::string_view text;
  __int128 billionths;  // of one
};
constexpr std::array<Suffix, 7> kBinary{{{"Ki", kUnit << 10},
                                         {"Mi", kUnit << 20},
                                         {"Gi", kUnit << 30},
                                         {"Ti", kUnit << 40},
                                         {"Pi", kUnit << 50},
                                         {"Ei", kUnit << 60},
                                         {"", kUnit}}};
constexpr std::array<Suffix, 10> kDecimal{{{"n", 1},
                                           {"u", 1'000},
                                           {"m", 1'000'000},
                                           {"", kUnit},
                                           {"k", kUnit * 1'000},
                                           {"M", kUnit * 1'000'000},
                                           {"G", kUnit * 1'000'000'000},
                                           {"T", kUnit * 1'000'000'000'000},
                                           {"P", kUnit * 1'000'000'000'000'000},
                                           {"E", kUnit * 1'000'000'000'000'000'000}}};

std::optional<__int128> ten_to_the(std::string_view digits) {
  const bool is_negative = !digits.empty() && digits.front() == '-';
  if (!digits.empty() && (digits.front() == '-' || digits.front() == '+')) digits.remove_prefix(1);
  if (digits.size() > 3 || !all_digits(digits)) return std::nullopt;
  int exponent = 0;
  for (const char digit : digits) exponent = exponent * 10 + (digit - '0');
  exponent = is_negative ? 9 - exponent : 9 + exponent;
  if (exponent < 0 || exponent > 27) return std::nullopt;
  __int128 power = 1;
  while (exponent-- > 0) power *= 10;
  return power;
}

std::optional<__int128> billionths_of_one(std::string_view suffix) {
  for (const Suffix& known : kDecimal) {
    if (known.text == suffix) return known.billionths;
  }
  for (const Suffix& known : kBinary) {
    if (known.text == suffix) return known.billionths;
  }
  if (suffix.front() == 'e' || suffix.front() == 'E') return ten_to_the(suffix.substr(1));
  return std::nullopt;
}

std::int64_t within_int64(__int128 value) {
  constexpr __int128 most = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::clamp(value, -most, most));
}

__int128 divided_up(__int128 value, __int128 by) {
  return value / by + (value > 0 && value % by != 0 ? 1 : 0);
}
__int128 divided_down(__int128 value, __int128 by) {
  return value / by - (value < 0 && value % by != 0 ? 1 : 0);
}

// `one` times 0.DIGITS, rounded up. Digits after the 18th only tell that there is a little more.
__int128 fraction_of(__int128 one, std::string_view digits) {
  constexpr std::size_t most_digits = 18;
  __int128 numerator = 0;
  __int128 denominator = 1;
  for (const char digit : digits.substr(0, most_digits)) {
    numerator = numerator * 10 + (digit - '0');
    denominator *= 10;
  }
  const bool is_more = digits.size() > most_digits &&
                       digits.find_first_not_of('0', most_digits) != std::string_view::npos;
  // In two parts, so that no product is beyond 128 bits.
  const __int128 rest = one % denominator * numerator;
  const __int128 sum = one / denominator * numerator + divided_up(rest, denominator);
  return sum + (is_more && rest % denominator == 0 ? 1 : 0);
}

std::string digits_of(__int128 value) {
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
    value /= 10;
  } while (value != 0);
  return digits;
}

}  // namespace

std::int64_t Quantity::units_rounded_up() const {
  return within_int64(divided_up(billionths, kUnit));
}
std::int64_t Quantity::milli_rounded_up() const {
  return within_int64(divided_up(billionths, kUnit / 1000));
}
std::int64_t Quantity::units_rounded_down() const {
  return within_int64(divided_down(billionths, kUnit));
}
std::int64_t Quantity::milli_rounded_down() const {
  return within_int64(divided_down(billionths, kUnit / 1000));
}

std::optional<Quantity> read_quantity(std::string_view text) {
  const bool is_negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  std::size_t end = 0;
  while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
  const std::string_view number = text.substr(0, end);
  const std::size_t point = number.find('.');
  const std::string_view whole = number.substr(0, point);
  const std::string_view part =
      point == std::string_view::npos ? std::string_view{} : number.substr(point + 1);
  if (whole.empty() && part.empty()) return std::nullopt;
  if (part.find('.') != std::string_view::npos) return std::nullopt;
  const auto one = billionths_of_one(text.substr(end));
  if (!one) return std::nullopt;

  const __int128 most_before = kMost / *one;
  __int128 count = 0;
  for (const char digit : whole) {
    count = count * 10 + (digit - '0');
    if (count > most_before) return std::nullopt;
  }
  const __int128 billionths = count * *one + fraction_of(*one, part);
  if (billionths > kMost) return std::nullopt;
  return Quantity{is_negative ? -billionths : billionths};
}

std::string to_string(Quantity quantity, bool is_binary) {
  const bool is_negative = quantity.billionths < 0;
  const __int128 amount = is_negative ? -quantity.billionths : quantity.billionths;
  const auto with = [&](const Suffix& suffix) {
    return (is_negative ? "-" : "") + digits_of(amount / suffix.billionths) +
           std::string{suffix.text};
  };
  if (is_binary && amount != 0) {
    for (auto at = kBinary.rbegin() + 1; at != kBinary.rend(); ++at) {
      if (amount % at->billionths == 0) return with(*at);
    }
  }
  for (std::size_t i = 3 + 1; i-- > 0;) {
    if (amount % kDecimal[i].billionths == 0) return with(kDecimal[i]);
  }
  return with(kDecimal[0]);
}

}  // namespace weir::observe
