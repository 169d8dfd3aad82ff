// SPDX-License-Identifier: Apache-2.0
//
// The largest of a range of numbers in constant time, after n log n preparation.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <vector>

namespace weir::plan {

class RangeMaximum {
 public:
  RangeMaximum() = default;
  explicit RangeMaximum(std::vector<double> values) {
    levels_.push_back(std::move(values));
    for (std::size_t width = 1; 2 * width <= levels_.front().size(); width *= 2) {
      const std::vector<double>& half = levels_.back();
      std::vector<double> level(half.size() - width);
      for (std::size_t i = 0; i < level.size(); ++i) level[i] = std::max(half[i], half[i + width]);
      levels_.push_back(std::move(level));
    }
  }
  // Of [first, end); 0 for an empty range.
  double of(std::size_t first, std::size_t end) const {
    if (first >= end) return 0;
    const auto level = static_cast<std::size_t>(std::bit_width(end - first)) - 1;
    const std::vector<double>& values = levels_[level];
    return std::max(values[first], values[end - (std::size_t{1} << level)]);
  }

 private:
  std::vector<std::vector<double>> levels_;
};

}  // namespace weir::plan
