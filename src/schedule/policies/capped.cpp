// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/capped.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "schedule/energy/capped_options.h"
#include "schedule/energy/energy_pool.h"
#include "schedule/energy/energy_price.h"

namespace weir::schedule {
namespace {

const PricedOption& option(const PricedJob& job, int at) {
  return (*job.options)[static_cast<std::size_t>(at)];
}

std::vector<std::size_t> shortest_first(const std::vector<PricedJob>& jobs,
                                        const std::vector<int>& at) {
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return jobs[a].left / option(jobs[a], at[a]).rate < jobs[b].left / option(jobs[b], at[b]).rate;
  });
  return order;
}

}  // namespace

Allocation CappedElasticPolicy::allocate(const PoolView& view) const {
  const EnergyPool pool{view};
  const CapPace pace = cap_pace(view, pool);
  const auto& jobs = pool.jobs();
  std::vector<std::vector<int>> sizes;
  std::vector<int> fastest;
  for (const PricedJob& job : jobs) {
    sizes.push_back(capped_options(*job.options, pace.caps));
    fastest.push_back(sizes.back().front());
  }
  const std::vector<std::size_t> order = shortest_first(jobs, fastest);
  std::int32_t left = pool.terms(0).gpus;
  std::vector<int> level(jobs.size(), kNoOption);
  std::vector<int> chosen(jobs.size(), kNoOption);
  for (const std::size_t i : order) {
    const std::int32_t gpus = option(jobs[i], sizes[i].front()).gpus;
    if (gpus > left) continue;
    level[i] = 0;
    left -= gpus;
  }
  while (left > 0) {
    double most = 0;
    std::size_t best = jobs.size();
    for (const std::size_t i : order) {
      if (level[i] == kNoOption || level[i] + 1 >= static_cast<int>(sizes[i].size())) continue;
      const auto at = static_cast<std::size_t>(level[i]);
      const PricedOption& have = option(jobs[i], sizes[i][at]);
      const PricedOption& next = option(jobs[i], sizes[i][at + 1]);
      if (next.gpus - have.gpus > left) continue;
      // How much faster for each GPU more, against what its first GPUs do.
      const PricedOption& first = option(jobs[i], sizes[i].front());
      const double gain =
          (next.rate - have.rate) / (next.gpus - have.gpus) / (first.rate / first.gpus);
      if (gain > most) {
        most = gain;
        best = i;
      }
    }
    if (best == jobs.size()) break;
    const auto at = static_cast<std::size_t>(level[best]);
    left -= option(jobs[best], sizes[best][at + 1]).gpus - option(jobs[best], sizes[best][at]).gpus;
    ++level[best];
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (level[i] != kNoOption) chosen[i] = sizes[i][static_cast<std::size_t>(level[i])];
  }
  Allocation allocation = pool.allocation(chosen, order, ReasonCode::policy_order);
  allocation.energy_prices = cap_records(pool, pace, chosen);
  return allocation;
}

Allocation CappedSrtfPolicy::allocate(const PoolView& view) const {
  const EnergyPool pool{view};
  const CapPace pace = cap_pace(view, pool);
  const auto& jobs = pool.jobs();
  std::vector<int> chosen;
  for (const PricedJob& job : jobs)
    chosen.push_back(capped_options(*job.options, pace.caps).back());
  const std::vector<std::size_t> order = shortest_first(jobs, chosen);
  std::int32_t left = pool.terms(0).gpus;
  for (const std::size_t i : order) {
    if (option(jobs[i], chosen[i]).gpus > left) {
      chosen[i] = kNoOption;
    } else {
      left -= option(jobs[i], chosen[i]).gpus;
    }
  }
  Allocation allocation = pool.allocation(chosen, order, ReasonCode::policy_order);
  allocation.energy_prices = cap_records(pool, pace, chosen);
  return allocation;
}

}  // namespace weir::schedule
