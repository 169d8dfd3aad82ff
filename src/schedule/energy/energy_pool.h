// SPDX-License-Identifier: Apache-2.0
//
// What policies that mind energy share: who is to be served beside the promises, and the way from
// chosen sizes and clocks to GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "schedule/energy/packed_places.h"
#include "schedule/energy/price_choice.h"
#include "schedule/policies/training_policy.h"

namespace weir::schedule {

// Decisions fall on multiples of it.
inline constexpr Duration kEnergyEpoch = from_seconds(600);

// How many of the pool's nodes may draw all they can at once under the site's cap; all without one.
std::int32_t nodes_under_cap(const PoolView& view);

class EnergyPool {
 public:
  explicit EnergyPool(const PoolView& view);

  // Jobs that are not held in place by a promise or by being in one piece; ids ascend.
  const std::vector<JobId>& ids() const { return ids_; }
  std::vector<PricedJob>& jobs() { return jobs_; }
  const std::vector<PricedJob>& jobs() const { return jobs_; }
  // Those that have GPUs by promise, or in one piece; by ascending id, with the options that are as
  // fast as that.
  const std::vector<JobId>& held_ids() const { return held_ids_; }
  const std::vector<PricedJob>& held() const { return held_; }
  // The place in the terms of the tenant that pays for a job with a budget of its own.
  std::optional<std::size_t> payer_of(JobId job) const;
  // Of each payer: its jobs pay at least that.
  void set_least_prices(std::span<const double> by_payer);
  // With the GPUs that are left for them. The supply is null where nobody asks.
  PriceTerms terms(double price) const;
  const PoolPower* power() const { return power_; }

  // `order`: who gets its place first, and loses it last where the site would draw more than it may.
  Allocation allocation(const std::vector<int>& options, const std::vector<std::size_t>& order,
                        ReasonCode reason) const;

 private:
  void hold(const WantedBlock& fixed);
  NodeRow nodes() const;
  // As placed, the rest of the site included.
  double site_watts(const std::vector<WantedBlock>& wanted) const;

  const PoolView& view_;
  const PoolPower* power_ = nullptr;
  std::vector<JobId> ids_;
  std::vector<PricedOptions> options_;
  std::vector<PricedJob> jobs_;
  std::vector<WantedBlock> fixed_;
  std::vector<JobId> held_ids_;
  std::vector<PricedOptions> held_options_;
  std::vector<PricedJob> held_;
  BlockMap closed_;
};

}  // namespace weir::schedule
