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

}  // namespace weir::formats
