// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/sigmoid_scale.h"

#include <cmath>
#include <limits>

namespace weir::schedule {
namespace {

// 1000 ln(s / (100 - s)) in millionths of a milli-GPU. Rounded to integers here, once, so that the
// last bit of a platform's logarithm decides nothing.
std::int64_t gain_of_score(int score) {
  const double odds = static_cast<double>(score) / static_cast<double>(100 - score);
  return std::llround(1000.0 * std::log(odds) * 1e6);
}

}  // namespace

SigmoidScale::SigmoidScale(std::int64_t total_weight) {
  __extension__ using Wide = __int128;
  thresholds_[0] = std::numeric_limits<std::int64_t>::min();
  for (int score = 1; score < kLevels; ++score) {
    const Wide scaled = static_cast<Wide>(gain_of_score(score)) * total_weight;
    const Wide rounded_up = scaled > 0 ? (scaled + 999'999) / 1'000'000 : scaled / 1'000'000;
    thresholds_[static_cast<std::size_t>(score)] = static_cast<std::int64_t>(rounded_up);
  }
  if (total_weight > 0) return;
  for (int score = 1; score < kLevels; ++score) {
    thresholds_[static_cast<std::size_t>(score)] = score <= kMiddle
                                                       ? std::numeric_limits<std::int64_t>::min()
                                                       : std::numeric_limits<std::int64_t>::max();
  }
}

}  // namespace weir::schedule
