// SPDX-License-Identifier: Apache-2.0
//
// A number with a unit in its type, so that milli-GPUs cannot be added to milli-CPUs. Quantities of
// one kind add, subtract, compare and scale by plain numbers; products of two quantities exist only
// where somebody wrote one that means something.
#pragma once

#include <compare>

namespace weir {

template <class Tag, class Rep>
struct Quantity {
  Rep value{};

  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep v) : value{v} {}

  friend constexpr auto operator<=>(const Quantity&, const Quantity&) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity{a.value + b.value};
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity{a.value - b.value};
  }
  friend constexpr Quantity operator*(Quantity a, Rep k) { return Quantity{a.value * k}; }
  friend constexpr Quantity operator*(Rep k, Quantity a) { return Quantity{k * a.value}; }
  constexpr Quantity& operator+=(Quantity other) {
    value += other.value;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value -= other.value;
    return *this;
  }
};

}  // namespace weir
