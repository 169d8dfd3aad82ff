// SPDX-License-Identifier: Apache-2.0
//
// Measured figures in JSON: no more digits than they mean.
#pragma once

#include <cmath>

namespace weir::formats {

inline double thousandths(double value) {
  return std::round(value * 1e3) / 1e3;
}

inline double ten_thousandths(double value) {
  return std::round(value * 1e4) / 1e4;
}

// Of amounts that may be far below one: six digits from the first that is none.
inline double six_digits(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int place = 5 - static_cast<int>(std::floor(std::log10(std::abs(value))));
  const double scale = std::pow(10.0, std::abs(place));
  return place < 0 ? std::round(value / scale) * scale : std::round(value * scale) / scale;
}

}  // namespace weir::formats
