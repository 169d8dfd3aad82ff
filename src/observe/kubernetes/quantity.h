// SPDX-License-Identifier: Apache-2.0
//
// Amounts as Kubernetes writes them: "500m", "16Gi", "1e3", "2". Exact: a 128-bit count of billionths,
// so that the smallest suffix (n) and the largest (Ei) fit, and sums of a whole cluster too.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::observe {

struct Quantity {
  __int128 billionths = 0;

  static constexpr Quantity of(std::int64_t units) {
    return {static_cast<__int128>(units) * 1'000'000'000};
  }
  static constexpr Quantity of_milli(std::int64_t milli) {
    return {static_cast<__int128>(milli) * 1'000'000};
  }
  // Rounded up, as requests are counted; at most what an int64 holds.
  std::int64_t units_rounded_up() const;
  std::int64_t milli_rounded_up() const;
  // Rounded down, as what a node has is counted.
  std::int64_t units_rounded_down() const;
  std::int64_t milli_rounded_down() const;

  constexpr bool is_zero() const { return billionths == 0; }
  friend constexpr auto operator<=>(const Quantity&, const Quantity&) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return {a.billionths + b.billionths};
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return {a.billionths - b.billionths};
  }
  constexpr Quantity& operator+=(Quantity other) { return *this = *this + other; }
  constexpr Quantity& operator-=(Quantity other) { return *this = *this - other; }
};

// Finer than a billionth is rounded up, as Kubernetes does. Nothing when the text breaks the grammar or the amount is
// beyond 2^63 units.
std::optional<Quantity> read_quantity(std::string_view text);

// The shortest text that reads back as the same amount: "500m", "16Gi", "1500". `is_binary` prefers Ki, Mi, ...
// where they divide it, as people write memory.
std::string to_string(Quantity quantity, bool is_binary = false);

}  // namespace weir::observe
