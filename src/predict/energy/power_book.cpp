// SPDX-License-Identifier: Apache-2.0
#include "predict/energy/power_book.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <string>

namespace weir::predict {
namespace {

constexpr double kMicro = 1e6;  // micro-iterations in an iteration
constexpr double kMilli = 1e3;  // milliwatts in a watt

double seconds_of(IterationRate rate) {
  return kMicro / static_cast<double>(rate.value);
}

// Times linear in the batch of one GPU: fixed + slope b, neither below 0.
struct Line {
  double fixed = 0;
  double slope = 0;
};

struct TimeAtBatch {
  double local_batch = 0;
  double seconds = 0;
};

// Least squares under the two limits: when the free optimum breaks one, the best lies on it.
Line fit_line(const std::vector<TimeAtBatch>& times) {
  const auto count = static_cast<double>(times.size());
  double sum_b = 0;
  double sum_t = 0;
  double sum_bb = 0;
  double sum_bt = 0;
  for (const TimeAtBatch& at : times) {
    sum_b += at.local_batch;
    sum_t += at.seconds;
    sum_bb += at.local_batch * at.local_batch;
    sum_bt += at.local_batch * at.seconds;
  }
  const double spread = count * sum_bb - sum_b * sum_b;
  if (spread <= 0) return {0, sum_bt / sum_bb};
  const double slope = (count * sum_bt - sum_b * sum_t) / spread;
  const double fixed = (sum_t - slope * sum_b) / count;
  if (slope < 0) return {sum_t / count, 0};
  if (fixed < 0) return {0, sum_bt / sum_bb};
  return {fixed, slope};
}

// Of one model, over all its batches, each at the least size it was measured at.
Line compute_line(const CurveBook& curves, const std::string& model) {
  std::vector<TimeAtBatch> times;
  for (auto at = curves.curves.lower_bound(CurveKey{model, 0});
       at != curves.curves.end() && at->first.model == model; ++at) {
    if (at->second.empty()) continue;
    const CurvePoint& least = at->second.useful().front();
    times.push_back(
        {static_cast<double>(at->first.global_batch) / least.gpus, seconds_of(least.rate)});
  }
  return times.empty() ? Line{} : fit_line(times);
}

// The least size is all compute, whatever the line says: the line's error is no sync.
IterationSplit split(const Line& line, std::int64_t global_batch, const CurvePoint& point,
                     bool is_least) {
  const double seconds = seconds_of(point.rate);
  const double local_batch = static_cast<double>(global_batch) / point.gpus;
  IterationSplit parts;
  parts.fixed_seconds = std::min(line.fixed, seconds);
  const double left = seconds - parts.fixed_seconds;
  parts.batch_seconds = is_least ? left : std::min(line.slope * local_batch, left);
  parts.sync_seconds = left - parts.batch_seconds;
  return parts;
}

std::vector<IterationSplit> split_all(const Line& line, const CurveKey& key, const Curve& curve) {
  std::vector<IterationSplit> all;
  for (const CurvePoint& point : curve.useful())
    all.push_back(split(line, key.global_batch, point, all.empty()));
  return all;
}

PowerPoint point_at(const CurvePoint& measured, const IterationSplit& parts,
                    std::int32_t clock_permille, const PowerAssumptions& assumptions) {
  const double clock = static_cast<double>(clock_permille) / kFullClock;
  const double share = assumptions.clock_bound_share;
  // batch_seconds as one sample: only the product s b is known to matter.
  TimeModel model;
  model.per_iteration = parts.fixed_seconds;
  model.per_sample = parts.batch_seconds * (1 - share);
  model.per_sample_at_full_clock = parts.batch_seconds * share;
  const double compute = model.compute_seconds(1, clock);
  const double seconds = model.iteration_seconds(compute, parts.sync_seconds);
  const double watts = measured.gpus * assumptions.gpu.joules(clock, compute, seconds) / seconds;
  PowerPoint point{measured.gpus, clock_permille, measured.rate,
                   static_cast<std::int64_t>(std::llround(watts * kMilli))};
  if (clock_permille != kFullClock)  // rounded down, as all rates are
    point.rate = IterationRate{static_cast<std::int64_t>(std::floor(kMicro / seconds))};
  return point;
}

WideInteger charged_milliwatts(const PowerPoint& point, const PowerAssumptions& assumptions) {
  WideInteger power = WideInteger{point.milliwatts} * assumptions.gpus_per_node;
  if (assumptions.counts_node_share) power += WideInteger{assumptions.node_milliwatts} * point.gpus;
  return power;
}

// Less energy per iteration, in whole numbers: a/rate_a < b/rate_b.
bool takes_less(const PowerPoint& a, const PowerPoint& b, const PowerAssumptions& assumptions) {
  return charged_milliwatts(a, assumptions) * b.rate.value <
         charged_milliwatts(b, assumptions) * a.rate.value;
}

std::vector<std::int32_t> clocks_downwards(const PowerAssumptions& assumptions) {
  std::vector<std::int32_t> clocks = assumptions.clocks_permille;
  clocks.push_back(kFullClock);
  std::sort(clocks.begin(), clocks.end(), std::greater<>{});
  clocks.erase(std::unique(clocks.begin(), clocks.end()), clocks.end());
  assert(clocks.front() == kFullClock && clocks.back() > 0);
  return clocks;
}

PowerTable table_of(const Curve& curve, const std::vector<IterationSplit>& splits,
                    const std::vector<std::int32_t>& clocks, const PowerAssumptions& assumptions) {
  PowerTable table;
  for (std::size_t i = 0; i < splits.size(); ++i) {
    PowerTable of_size;
    std::size_t best = 0;
    for (const std::int32_t clock : clocks) {
      const PowerPoint point = point_at(curve.useful()[i], splits[i], clock, assumptions);
      if (point.rate.value < 1) break;
      of_size.push_back(point);
      if (takes_less(point, of_size[best], assumptions)) best = of_size.size() - 1;
    }
    of_size.resize(best + 1);
    table.insert(table.end(), of_size.rbegin(), of_size.rend());
  }
  return table;
}

}  // namespace

std::vector<std::int32_t> even_clocks(std::int32_t lowest_permille, std::int32_t levels) {
  std::vector<std::int32_t> clocks;
  const std::int32_t steps = levels - 1;
  for (std::int32_t i = 0; i <= steps; ++i) {
    const std::int32_t above = (kFullClock - lowest_permille) * i;
    clocks.push_back(lowest_permille + (2 * above + steps) / (2 * steps));  // to the nearest
  }
  return clocks;
}

std::vector<IterationSplit> split_iterations(const CurveBook& curves, const CurveKey& key) {
  const Curve* curve = curves.find(key);
  if (curve == nullptr) return {};
  return split_all(compute_line(curves, key.model), key, *curve);
}

PowerBook power_book(const CurveBook& curves, const PowerAssumptions& assumptions) {
  PowerBook book{curves.gpu,
                 assumptions.idle_milliwatts,
                 assumptions.node_milliwatts,
                 assumptions.asleep_milliwatts,
                 assumptions.overhead_permille,
                 {}};
  const std::vector<std::int32_t> clocks = clocks_downwards(assumptions);
  for (const auto& [key, curve] : curves.curves) {
    const auto splits = split_iterations(curves, key);
    if (!splits.empty()) book.tables[key] = table_of(curve, splits, clocks, assumptions);
  }
  return book;
}

}  // namespace weir::predict
