// SPDX-License-Identifier: Apache-2.0
//
// What an operator wants of the energy a cluster uses: a budget of grams of CO2 or of money over a
// time, a price for them, a limit of the feeder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/ids.h"
#include "domain/time.h"

namespace weir {

// What happens when the budget is spent before its time is over. Promises are kept in any case.
enum class WhenSpent : std::uint8_t {
  overdraw,   // as before, and it is told
  min_power,  // every job on the configuration that uses least for its work
  pause,      // jobs without a promise wait, at most EnergyTerms::longest_pause
};

// What a pool's nodes draw beside their jobs.
struct PoolPower {
  PoolIndex pool;
  std::int64_t idle_milliwatts = 0;       // of a GPU without a job, on a node that is awake
  std::int64_t node_milliwatts = 0;       // of a node that is awake, without its GPUs
  std::int64_t asleep_milliwatts = 0;     // of a node without jobs, with its GPUs
  std::int32_t overhead_permille = 1000;  // what the site draws for 1000 here
  friend bool operator==(const PoolPower&, const PoolPower&) = default;
};

// What a tenant's jobs may use, over the time of the terms.
struct TenantBudget {
  std::string tenant;
  std::int64_t budget_micros = 0;
  std::int64_t expected_gpu_seconds = 0;  // as in EnergyTerms, of the tenant's own work
  friend bool operator==(const TenantBudget&, const TenantBudget&) = default;
};

// One unit is a gram of CO2, or of the money the prices are in.
struct EnergyTerms {
  std::vector<PoolPower> pools;
  // How many nanoseconds of a job's time one unit is worth. Without it, and with a budget, the price
  // is found so that the budget lasts.
  std::optional<std::int64_t> price_nanos;
  std::optional<std::int64_t> budget_micros;  // millionths of a unit
  Time from;                                  // of the budget
  Time until;
  WhenSpent when_spent = WhenSpent::overdraw;
  // GPU-seconds of work, each job at its least size, expected between `from` and `until`; 0: as much
  // a day as has come so far.
  std::int64_t expected_gpu_seconds = 0;
  std::optional<std::int64_t> cap_milliwatts;  // never to be exceeded
  Duration longest_pause = std::chrono::hours{24};
  std::vector<TenantBudget> tenants{};  // by name, each once; beside the budget of all, or alone

  bool has_budget() const { return budget_micros.has_value() || !tenants.empty(); }
  // The place in `tenants` of whoever pays for a job of that tenant; nothing where nobody does. A job
  // without a tenant is one of the default tenant.
  std::optional<std::size_t> payer_of(std::string_view tenant) const;

  friend bool operator==(const EnergyTerms&, const EnergyTerms&) = default;
};

// Whether a scheduler can work with them: each pool once, tenants ascend, nothing is negative,
// budgets have a time.
bool is_well_formed(const EnergyTerms& terms);

}  // namespace weir
