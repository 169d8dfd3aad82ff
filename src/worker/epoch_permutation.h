// SPDX-License-Identifier: Apache-2.0
//
// The order of the samples of an epoch, computed one by one: a formula of length, seed, epoch and
// position. No memory, any position at once, integers only, the same numbers as in Python.
//
// A Feistel network cuts a position into halves of equal bits, so its domain is a power of four; each
// round adds a hash of one half to the other, which can be undone, so no two positions meet. What
// falls beyond the length goes through again until it does not (cycle walking): less than four turns
// on average, because the domain is less than four times the length. 256 is the smallest domain: a
// network on fewer positions gives only even permutations of them, and walking through a larger one
// gives all.
#pragma once

#include <array>
#include <cstdint>

namespace weir::worker {

inline constexpr std::int64_t kLongestEpoch = std::int64_t{1} << 62;

class EpochPermutation {
 public:
  // Requires: 0 <= length <= kLongestEpoch.
  EpochPermutation(std::int64_t length, std::uint64_t seed, std::uint64_t epoch);

  std::int64_t length() const { return static_cast<std::int64_t>(length_); }
  // The sample at a position of the epoch. Requires: 0 <= position < length.
  std::int64_t operator[](std::int64_t position) const;

 private:
  std::uint64_t once(std::uint64_t value) const;

  std::uint64_t length_;
  int half_bits_;
  std::array<std::uint64_t, 8> keys_{};
};

}  // namespace weir::worker
