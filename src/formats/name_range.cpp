// SPDX-License-Identifier: Apache-2.0
#include "formats/name_range.h"

#include "formats/quantity_text.h"

namespace weir::formats {
namespace {

constexpr std::size_t kMostRangeDigits = 9;

// The digits as a number, if there are not too many.
std::optional<std::int64_t> number_in(std::string_view digits) {
  return digits.size() <= kMostRangeDigits ? parse_count(digits) : std::nullopt;
}

std::size_t fixed_digits(std::string_view first) {
  return first.size() > 1 && first.starts_with('0') ? first.size() : 0;
}

std::string padded(std::int64_t number, std::size_t digits) {
  const std::string text = std::to_string(number);
  return text.size() < digits ? std::string(digits - text.size(), '0') + text : text;
}

}  // namespace

std::string NameRange::name(std::int64_t number) const {
  return prefix + padded(number, digits) + suffix;
}

std::optional<NameRange> parse_name_range(std::string_view text) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return std::nullopt;
  const std::string_view inside = text.substr(open + 1, close - open - 1);
  const std::string_view suffix = text.substr(close + 1);
  const std::size_t dash = inside.find('-');
  if (dash == std::string_view::npos || suffix.find_first_of("[]") != std::string_view::npos)
    return std::nullopt;
  const std::string_view first = inside.substr(0, dash);
  const std::string_view last = inside.substr(dash + 1);
  const auto first_number = number_in(first);
  const auto last_number = number_in(last);
  if (!first_number || !last_number || *first_number > *last_number) return std::nullopt;
  const std::size_t digits = fixed_digits(first);
  const bool has_even_digits = digits == 0 ? fixed_digits(last) == 0 : last.size() == digits;
  if (!has_even_digits) return std::nullopt;
  return NameRange{std::string{text.substr(0, open)}, *first_number, *last_number, digits,
                   std::string{suffix}};
}

std::string format_name_range(const NameRange& range) {
  return range.prefix + "[" + padded(range.first, range.digits) + "-" +
         padded(range.last, range.digits) + "]" + range.suffix;
}

std::optional<NameRange> range_beginning_with(std::string_view name) {
  const std::size_t last_letter = name.find_last_not_of("0123456789");
  const std::size_t split = last_letter == std::string_view::npos ? 0 : last_letter + 1;
  const std::string_view digits = name.substr(split);
  const auto number = number_in(digits);
  if (!number) return std::nullopt;
  return NameRange{std::string{name.substr(0, split)}, *number, *number, fixed_digits(digits), ""};
}

bool extend(NameRange& range, std::string_view name) {
  const std::string next = padded(range.last + 1, range.digits);
  if (next.size() > kMostRangeDigits || (range.digits > 0 && next.size() > range.digits))
    return false;
  if (range.prefix + next + range.suffix != name) return false;
  ++range.last;
  return true;
}

}  // namespace weir::formats
