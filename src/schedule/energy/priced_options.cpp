// SPDX-License-Identifier: Apache-2.0
#include "schedule/energy/priced_options.h"

#include <algorithm>

namespace weir::schedule {
namespace {

bool is_as_good(const PowerPoint& a, const PowerPoint& b) {
  return a.gpus <= b.gpus && a.milliwatts <= b.milliwatts && a.rate >= b.rate;
}

bool is_same(const PowerPoint& a, const PowerPoint& b) {
  return a.gpus == b.gpus && a.milliwatts == b.milliwatts && a.rate == b.rate;
}

}  // namespace

PowerTable undominated(const PowerTable& table) {
  PowerTable kept;
  for (std::size_t i = 0; i < table.size(); ++i) {
    bool is_dominated = false;
    for (std::size_t j = 0; j < table.size() && !is_dominated; ++j) {
      if (i == j || !is_as_good(table[j], table[i])) continue;
      is_dominated = !is_same(table[i], table[j]) || j < i;  // of two alike the first stays
    }
    if (!is_dominated) kept.push_back(table[i]);
  }
  return kept;
}

PricedOptions priced_options(const PoolState& pool, const TrainingJob& job,
                             const PoolPower* power) {
  PricedOptions options;
  const auto found = pool.power.find(job.spec->curve);
  const double overhead = power == nullptr ? 1 : power->overhead_permille / 1000.0;
  if (found == pool.power.end() || power == nullptr) {
    for (const SizeOption& size : *job.sizes)
      options.push_back(
          {size.gpus, kFullClock, kAllMillionths, static_cast<double>(size.rate.value) / 1e6, 0});
    return options;
  }
  const PowerTable& table = *found->second;
  const auto& curve = *pool.curves.at(job.spec->curve);
  for (const PowerPoint& point : table) {
    const int level = level_of(*job.sizes, static_cast<std::uint32_t>(point.gpus));
    if (level == kPaused) continue;
    const IterationRate full = curve.rate_at(point.gpus);
    const std::int64_t millionths =
        point.clock_permille == kFullClock
            ? kAllMillionths
            : static_cast<std::int64_t>(static_cast<WideInteger>(point.rate.value) *
                                        kAllMillionths / full.value);
    const IterationRate rate = (*job.sizes)[static_cast<std::size_t>(level)].rate;
    options.push_back({point.gpus, point.clock_permille, millionths,
                       static_cast<double>(clocked(rate, millionths).value) / 1e6,
                       static_cast<double>(point.milliwatts) / 1000 * overhead});
  }
  return options;
}

}  // namespace weir::schedule
