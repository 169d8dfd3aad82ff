// SPDX-License-Identifier: Apache-2.0
#include "predict/training/link_times.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace weir::predict {

namespace {

constexpr double kForbiddenUs = 100000.0 * 1000.0;
constexpr double kSkippedMs = 1e6;  // and more: the size was not measured

// The tables' GB/s are 1000 MiB/s: so the artifact reads them.
double us_at(double mib, double gb_per_s) {
  return mib / (gb_per_s * 0.001);
}

}  // namespace

double stepped_transfer_us(std::span<const LinkSpeed> link, double mib) {
  if (!(mib > 0)) return 0;
  if (std::isinf(mib)) return kForbiddenUs;
  const auto size = static_cast<std::ptrdiff_t>(link.size());
  auto index = static_cast<std::ptrdiff_t>(std::log2(mib));  // towards zero
  if (index >= 1) --index;
  if (index < 0) index = std::max<std::ptrdiff_t>(0, size + index);
  index = std::min(index, size - 1);
  return us_at(mib, link[static_cast<std::size_t>(index)].gb_per_s);
}

double transfer_time_us(std::span<const LinkSpeed> link, double mib) {
  if (!(mib > 0)) return 0;
  if (mib <= link.front().data_mib) return us_at(mib, link.front().gb_per_s);
  if (mib >= link.back().data_mib) return us_at(mib, link.back().gb_per_s);
  const auto above = std::ranges::lower_bound(link, mib, {}, &LinkSpeed::data_mib);
  const LinkSpeed& high = *above;
  const LinkSpeed& low = *std::prev(above);
  const double low_us = us_at(low.data_mib, low.gb_per_s);
  const double high_us = us_at(high.data_mib, high.gb_per_s);
  return low_us + (high_us - low_us) * (mib - low.data_mib) / (high.data_mib - low.data_mib);
}

double looked_up_collective_us(const CollectiveTimes* times, double mib) {
  if (times == nullptr) return kForbiddenUs;
  for (const double size : {mib, mib - 1}) {
    const auto found = times->find(std::llrint(size));  // half to even
    if (found != times->end()) return found->second * 1000.0;
  }
  return kForbiddenUs;
}

std::optional<double> interpolated_collective_us(const CollectiveTimes& times, double mib) {
  if (times.empty()) return std::nullopt;
  const auto above = times.lower_bound(static_cast<std::int64_t>(std::ceil(mib)));
  if (above == times.begin()) return above->second * 1000.0;
  const auto below = std::prev(above);
  const auto low = static_cast<double>(below->first);
  if (above == times.end()) return below->second * 1000.0 * mib / low;
  const auto high = static_cast<double>(above->first);
  return (below->second + (above->second - below->second) * (mib - low) / (high - low)) * 1000.0;
}

void drop_skipped(CollectiveTimes& times) {
  std::erase_if(times,
                [](const auto& entry) { return entry.second >= kSkippedMs || entry.first <= 0; });
}

double ring_collective_us(Collective kind, int gpus, double mib, std::span<const LinkSpeed> link) {
  const double others = gpus - 1;
  const double moved = kind == Collective::all_reduce   ? 2 * others / gpus * mib
                       : kind == Collective::all_gather ? others * mib
                                                        : others / gpus * mib;
  return transfer_time_us(link, moved);
}

}  // namespace weir::predict
