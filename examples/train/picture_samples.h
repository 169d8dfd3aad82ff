// SPDX-License-Identifier: Apache-2.0
//
// What the example learns: the brightness of a picture at a place, a sun over the sea. The picture is a
// formula, the same as in picture.py: nothing to download, and what was learnt of it can be looked at.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numbers>
#include <ostream>

namespace weir::example {

// 3,600 samples, which no power of two divides, so the last batch of an epoch is smaller.
inline constexpr int kSide = 60;
inline constexpr std::int64_t kSamples = std::int64_t{kSide} * kSide;
inline constexpr std::array<int, 3> kFrequencies = {1, 2, 4};
inline constexpr std::size_t kFeatures = 2 + 4 * kFrequencies.size();

using Features = std::array<double, kFeatures>;

struct Sample {
  Features features{};
  double brightness = 0;
};

// Waves of a few lengths beside the place itself: without them a small network learns edges slowly.
inline Features features_at(double x, double y) {
  Features features{x, y};
  std::size_t next = 2;
  for (const int frequency : kFrequencies) {
    for (const double place : {x, y}) {
      features[next++] = std::sin(std::numbers::pi * frequency * place);
      features[next++] = std::cos(std::numbers::pi * frequency * place);
    }
  }
  return features;
}

inline double brightness_at(double x, double y) {
  const auto above = [](double value) { return 1 / (1 + std::exp(-value)); };
  const double distance = std::hypot(x - 0.3, y + 0.35);
  const double disc = above((0.35 - distance) * 25);
  const double ring = above((distance - 0.4) * 20) * above((0.7 - distance) * 20);
  const double rays = ring * (0.125 + 0.125 * std::cos(8 * std::atan2(y + 0.35, x - 0.3)));
  const double is_sea = above((y - 0.35 - 0.12 * std::sin(7 * x)) * 25);
  const double sea = 0.35 + 0.25 * std::sin(14 * y + 3 * x);
  return (disc + rays) * (1 - is_sea) + sea * is_sea;
}

// Pixels row by row. Requires: 0 <= index < kSamples.
inline Sample sample(std::int64_t index) {
  const auto place = [](std::int64_t pixel) {
    return (static_cast<double>(pixel) + 0.5) / kSide * 2 - 1;
  };
  const double x = place(index % kSide);
  const double y = place(index / kSide);
  return {features_at(x, y), brightness_at(x, y)};
}

// A PGM, which most viewers show.
inline void write_picture(std::ostream& out, const std::function<double(const Features&)>& learnt) {
  out << "P5 " << kSide << ' ' << kSide << " 255\n";
  for (std::int64_t index = 0; index < kSamples; ++index) {
    const double brightness = std::fmin(std::fmax(learnt(sample(index).features), 0), 1);
    out.put(static_cast<char>(std::lround(brightness * 255)));
  }
}

}  // namespace weir::example
