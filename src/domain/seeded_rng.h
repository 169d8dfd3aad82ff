// SPDX-License-Identifier: Apache-2.0
//
// Random numbers that are the same on every platform. The standard engines are portable but the
// standard distributions and std::shuffle are not, so weir has its own.
//
// Each consumer forks a stream of its own by name, so a draw in one place shifts nothing elsewhere:
//   SeededRng rng{42};
//   SeededRng arrivals = rng.fork("arrivals");
// The generator is xoshiro256** seeded through splitmix64 (Blackman and Vigna, public domain
// algorithms). Golden values in the test freeze every distribution.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {

class SeededRng {
 public:
  explicit SeededRng(std::uint64_t seed);

  // An independent stream. Depends on the seed and the name only, not on draws made so far.
  SeededRng fork(std::string_view name) const;
  SeededRng fork(std::uint64_t number) const;

  std::uint64_t next();
  // Uniform in 0..bound-1. Requires: bound > 0.
  std::uint64_t below(std::uint64_t bound);
  // Uniform in [0, 1), 53 bits.
  double uniform();
  // Mean 1.
  double exponential();
  // Mean 0, standard deviation 1.
  double normal();
  double lognormal(double log_mean, double log_sigma);
  // 0..weights.size()-1 with probability proportional to its weight. Requires: a positive sum.
  std::size_t weighted(std::span<const std::int64_t> weights);

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::uint64_t seed_;
  std::array<std::uint64_t, 4> state_;
};

}  // namespace weir
