// SPDX-License-Identifier: Apache-2.0
#include "domain/seeded_rng.h"

#include <bit>
#include <cassert>
#include <cmath>
#include <numbers>

namespace weir {
namespace {

std::uint64_t splitmix(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

SeededRng::SeededRng(std::uint64_t seed) : seed_{seed}, state_{} {
  std::uint64_t mixer = seed;
  for (std::uint64_t& word : state_) word = splitmix(mixer);
}

SeededRng SeededRng::fork(std::string_view name) const {
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return fork(hash);
}

SeededRng SeededRng::fork(std::uint64_t number) const {
  std::uint64_t mixer = seed_;
  const std::uint64_t own = splitmix(mixer);
  mixer = number ^ 0x6a09e667f3bcc909ULL;
  return SeededRng{own ^ splitmix(mixer)};
}

std::uint64_t SeededRng::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t SeededRng::below(std::uint64_t bound) {
  assert(bound > 0 && "there is nothing below 0");
  // Lemire's multiplication method with rejection: exactly uniform.
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t threshold = (0 - bound) % bound;
  while (true) {
    const Wide product = static_cast<Wide>(next()) * bound;
    if (static_cast<std::uint64_t>(product) >= threshold) {
      return static_cast<std::uint64_t>(product >> 64);
    }
  }
}

double SeededRng::uniform() {
  return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

double SeededRng::exponential() {
  return -std::log1p(-uniform());
}

double SeededRng::normal() {
  const double radius = std::sqrt(2.0 * exponential());
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

double SeededRng::lognormal(double log_mean, double log_sigma) {
  return std::exp(log_mean + log_sigma * normal());
}

std::size_t SeededRng::weighted(std::span<const std::int64_t> weights) {
  std::uint64_t total = 0;
  for (const std::int64_t weight : weights) total += static_cast<std::uint64_t>(weight);
  std::uint64_t draw = below(total);
  std::size_t index = 0;
  while (draw >= static_cast<std::uint64_t>(weights[index])) {
    draw -= static_cast<std::uint64_t>(weights[index++]);
  }
  return index;
}

}  // namespace weir
