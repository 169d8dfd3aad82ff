// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/capped.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "schedule/energy/energy_pool.h"

namespace weir::schedule {
namespace {

// Of each size up to the cap the fastest clock below the cap; where all are faster, the slowest.
struct CappedSizes {
  std::vector<int> options;  // by ascending size
};

CappedSizes capped_sizes(const PricedOptions& options, const EnergyCaps& caps) {
  CappedSizes sizes;
  for (std::size_t k = 0; k < options.size(); ++k) {
    if (caps.gpus > 0 && options[k].gpus > caps.gpus && !sizes.options.empty()) break;
    const bool is_first =
        sizes.options.empty() ||
        options[static_cast<std::size_t>(sizes.options.back())].gpus != options[k].gpus;
    if (is_first) {
      sizes.options.push_back(static_cast<int>(k));
    } else if (options[k].clock_permille <= caps.clock_permille) {
      sizes.options.back() = static_cast<int>(k);
    }
  }
  return sizes;
}

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
  const auto& jobs = pool.jobs();
  std::vector<CappedSizes> sizes;
  std::vector<int> fastest;
  for (const PricedJob& job : jobs) {
    sizes.push_back(capped_sizes(*job.options, view.config.caps));
    fastest.push_back(sizes.back().options.front());
  }
  const std::vector<std::size_t> order = shortest_first(jobs, fastest);
  std::int32_t left = pool.terms(0).gpus;
  std::vector<int> level(jobs.size(), kNoOption);
  std::vector<int> chosen(jobs.size(), kNoOption);
  for (const std::size_t i : order) {
    const std::int32_t gpus = option(jobs[i], sizes[i].options.front()).gpus;
    if (gpus > left) continue;
    level[i] = 0;
    left -= gpus;
  }
  while (left > 0) {
    double most = 0;
    std::size_t best = jobs.size();
    for (const std::size_t i : order) {
      if (level[i] == kNoOption || level[i] + 1 >= static_cast<int>(sizes[i].options.size()))
        continue;
      const auto at = static_cast<std::size_t>(level[i]);
      const PricedOption& have = option(jobs[i], sizes[i].options[at]);
      const PricedOption& next = option(jobs[i], sizes[i].options[at + 1]);
      if (next.gpus - have.gpus > left) continue;
      // How much faster for each GPU more, against what its first GPUs do.
      const PricedOption& first = option(jobs[i], sizes[i].options.front());
      const double gain =
          (next.rate - have.rate) / (next.gpus - have.gpus) / (first.rate / first.gpus);
      if (gain > most) {
        most = gain;
        best = i;
      }
    }
    if (best == jobs.size()) break;
    const auto at = static_cast<std::size_t>(level[best]);
    left -= option(jobs[best], sizes[best].options[at + 1]).gpus -
            option(jobs[best], sizes[best].options[at]).gpus;
    ++level[best];
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (level[i] != kNoOption) chosen[i] = sizes[i].options[static_cast<std::size_t>(level[i])];
  }
  return pool.allocation(chosen, order, ReasonCode::policy_order);
}

Allocation CappedSrtfPolicy::allocate(const PoolView& view) const {
  const EnergyPool pool{view};
  const auto& jobs = pool.jobs();
  std::vector<int> chosen;
  for (const PricedJob& job : jobs)
    chosen.push_back(capped_sizes(*job.options, view.config.caps).options.back());
  const std::vector<std::size_t> order = shortest_first(jobs, chosen);
  std::int32_t left = pool.terms(0).gpus;
  for (const std::size_t i : order) {
    if (option(jobs[i], chosen[i]).gpus > left) {
      chosen[i] = kNoOption;
    } else {
      left -= option(jobs[i], chosen[i]).gpus;
    }
  }
  return pool.allocation(chosen, order, ReasonCode::policy_order);
}

}  // namespace weir::schedule
