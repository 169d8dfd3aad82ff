// SPDX-License-Identifier: Apache-2.0
//
// Positions 0..n-1 from which some are struck out: find and strike the k-th that is left in logarithmic
// time (a Fenwick tree over counts). Erasing from the middle of a vector does the same in linear time, which
// takes minutes for a list of a million.
#pragma once

#include <bit>
#include <cstddef>
#include <vector>

namespace weir::simulate {

class Survivors {
 public:
  explicit Survivors(std::size_t count) : left_{count}, sums_(count + 1) {
    for (std::size_t i = 1; i <= count; ++i) sums_[i] = i & (~i + 1);  // all are left
  }

  std::size_t size() const { return left_; }

  // The position of the k-th survivor, which is one no longer. Requires: k < size().
  std::size_t strike(std::size_t k) {
    std::size_t at = 0;
    for (std::size_t step = std::bit_floor(sums_.size()); step > 0; step /= 2) {
      if (at + step < sums_.size() && sums_[at + step] <= k) {
        at += step;
        k -= sums_[at];
      }
    }
    for (std::size_t i = at + 1; i < sums_.size(); i += i & (~i + 1)) --sums_[i];
    --left_;
    return at;
  }

 private:
  std::size_t left_;
  std::vector<std::size_t> sums_;
};

}  // namespace weir::simulate
