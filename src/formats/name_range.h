// SPDX-License-Identifier: Apache-2.0
//
// Numbered names in short form: `gpu-[01-16]` is gpu-01, gpu-02, ... gpu-16. A first number with a
// leading zero fixes the number of digits; otherwise `n[8-12]` is n8, n9, n10, n11, n12.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::formats {

struct NameRange {
  std::string prefix;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::size_t digits = 0;  // at least so many, filled up with zeros
  std::string suffix;

  std::size_t size() const { return static_cast<std::size_t>(last - first) + 1; }
  // Requires: first <= number <= last.
  std::string name(std::int64_t number) const;

  friend bool operator==(const NameRange&, const NameRange&) = default;
};

// Nothing when the text is not `prefix[first-last]suffix` with first <= last, both below 10^9.
std::optional<NameRange> parse_name_range(std::string_view text);
// The short form; Requires: it parses back, as for every range from the two functions here.
std::string format_name_range(const NameRange& range);

// The range of one that a name ending in digits begins; nothing for other names.
std::optional<NameRange> range_beginning_with(std::string_view name);
// Adds the next number to the range when that gives `name`.
bool extend(NameRange& range, std::string_view name);

}  // namespace weir::formats
