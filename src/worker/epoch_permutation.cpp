// SPDX-License-Identifier: Apache-2.0
#include "worker/epoch_permutation.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace weir::worker {
namespace {

constexpr std::uint64_t kGolden =
    0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio, the step of splitmix64
constexpr std::uint64_t kMixA = 0xBF58476D1CE4E5B9;
constexpr std::uint64_t kMixB = 0x94D049BB133111EB;
constexpr int kLeastHalfBits = 4;

// The finishing step of splitmix64: every bit of the input reaches every bit of the output.
std::uint64_t mix(std::uint64_t value) {
  value = (value ^ value >> 30) * kMixA;
  value = (value ^ value >> 27) * kMixB;
  return value ^ value >> 31;
}

int half_bits_for(std::uint64_t length) {
  const int bits_of_largest = static_cast<int>(std::bit_width(length == 0 ? 0 : length - 1));
  return std::max(kLeastHalfBits, (bits_of_largest + 1) / 2);
}

}  // namespace

EpochPermutation::EpochPermutation(std::int64_t length, std::uint64_t seed, std::uint64_t epoch)
    : length_{static_cast<std::uint64_t>(length)}, half_bits_{half_bits_for(length_)} {
  assert(length >= 0 && length <= kLongestEpoch && "the length of an epoch");
  std::uint64_t state = mix(mix(seed) + epoch);
  for (std::uint64_t& key : keys_) key = mix(state += kGolden);
}

std::int64_t EpochPermutation::operator[](std::int64_t position) const {
  assert(position >= 0 && position < length() && "a position of the epoch");
  std::uint64_t value = once(static_cast<std::uint64_t>(position));
  while (value >= length_) value = once(value);
  return static_cast<std::int64_t>(value);
}

std::uint64_t EpochPermutation::once(std::uint64_t value) const {
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & ((std::uint64_t{1} << half_bits_) - 1);
  for (const std::uint64_t key : keys_) {
    std::uint64_t hashed = (right ^ key) * kMixA;
    hashed = (hashed ^ hashed >> 32) * kMixB;
    left = std::exchange(right, left ^ hashed >> (64 - half_bits_));
  }
  return left << half_bits_ | right;
}

}  // namespace weir::worker
