// SPDX-License-Identifier: Apache-2.0
#include "formats/fixed_decimal.h"

#include <algorithm>
#include <cassert>

namespace weir::formats {
namespace {

__extension__ using Unsigned128 = unsigned __int128;

std::string digits_of(Unsigned128 value) {
  std::string reversed;
  do {
    reversed += static_cast<char>('0' + static_cast<int>(value % 10));
    value /= 10;
  } while (value > 0);
  return {reversed.rbegin(), reversed.rend()};
}

// Adds one to a number written in digits.
void increment(std::string& digits) {
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    if (*digit != '9') {
      ++*digit;
      return;
    }
    *digit = '0';
  }
  digits.insert(digits.begin(), '1');
}

}  // namespace

std::string fixed_decimal(Int128 numerator, Int128 denominator, int decimals) {
  assert(denominator > 0 && decimals >= 0);
  const auto divisor = static_cast<Unsigned128>(denominator);
  const Unsigned128 magnitude = numerator < 0 ? Unsigned128{0} - static_cast<Unsigned128>(numerator)
                                              : static_cast<Unsigned128>(numerator);
  std::string digits = digits_of(magnitude / divisor);
  Unsigned128 rest = magnitude % divisor;
  for (int i = 0; i < decimals; ++i) {
    rest *= 10;
    digits += static_cast<char>('0' + static_cast<int>(rest / divisor));
    rest %= divisor;
  }
  const bool is_odd = (digits.back() - '0') % 2 != 0;
  if (rest * 2 > divisor || (rest * 2 == divisor && is_odd)) increment(digits);
  const bool is_zero = std::all_of(digits.begin(), digits.end(), [](char c) { return c == '0'; });
  if (decimals > 0) digits.insert(digits.size() - static_cast<std::size_t>(decimals), ".");
  return numerator < 0 && !is_zero ? "-" + digits : digits;
}

std::string fixed_percent(std::int64_t sum, std::int64_t count, std::int64_t capacity,
                          int decimals) {
  return fixed_decimal(Int128{sum} * 100, Int128{count} * capacity, decimals);
}

}  // namespace weir::formats
