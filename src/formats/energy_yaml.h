// SPDX-License-Identifier: Apache-2.0
//
// What an operator wants of the energy of a cluster, and what its machines draw: a file `energy.yaml`.
//
//   supply: grid.csv             # a series file (supply_csv.h) beside this file, or a region: ciso
//   supply:                      # or a feed: CSV over HTTP
//     url: http://grid.example/carbon.csv
//     every: 15m                 # default 15m
//     file: last-known.csv       # while the feed has never answered; optional
//   pue: 1.3                     # what the site draws for 1 here; default 1
//   power:                       # of every pool; what is left out is assumed, and told
//     gpu_watts: 400             # a GPU at work at its highest clock
//     static_share: 0.35         # of it, what does not fall with the clock
//     waiting_share: 0.3         # of the rest, what a GPU draws that waits for others
//     clock_bound_share: 0.4     # of the time with the batch, what follows the clock
//     idle_gpu_watts: 55         # without a job, on a node that is awake
//     node_watts: 800            # of a node that is awake, without its GPUs
//     asleep_node_watts: 0       # of a node without jobs, with its GPUs
//   pools: {v100: {gpu_watts: 300}}   # of one pool, before `power`
//   budget:
//     kg_co2: 40                 # or money: 120, in the unit of the prices
//     from: 2026-11-16T00:00:00Z
//     until: 2026-11-23T00:00:00Z
//     when_spent: overdraw       # or min-power, pause
//     tenants: {vision: 12}      # of it, what the jobs of a tenant may use; with kg_co2: none, only
//                                # tenants have budgets
//   price: 2.5                   # instead of a budget: seconds of a job's time for a gram, or for
//                                # one unit of money
//   power_cap: 12.5              # kW of the whole site
//   clocks: true                 # false where they cannot be set: jobs are only sized and timed
//   longest_pause: 24h           # how long a job without a promise may be made to wait
//
// `supply: none` alone: nobody asks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "domain/cluster.h"
#include "domain/energy_terms.h"
#include "domain/result.h"
#include "domain/supply_kind.h"
#include "formats/input_file.h"

namespace weir::formats {

struct SupplySource {
  std::string url{};             // empty: the file alone
  std::filesystem::path file{};  // empty: the feed alone
  Duration every = std::chrono::minutes{15};
};

// Of one GPU at work; what the power model of a pool is made from.
struct GpuPowerConstants {
  double full_watts = 400;
  double static_share = 0.35;
  double waiting_share = 0.3;
  double clock_bound_share = 0.4;
  friend bool operator==(const GpuPowerConstants&, const GpuPowerConstants&) = default;
};

struct EnergyFile {
  bool is_off = false;  // nobody asks; the rest is empty
  SupplySource supply{};
  EnergyTerms terms{};     // one entry for each pool with GPUs; times of the wall clock
  bool has_clocks = true;  // they may be chosen
  std::vector<GpuPowerConstants> gpus{};   // of the same pools
  std::vector<std::string> assumed{};      // "pool a100: gpu_watts 400, node_watts 800"
  std::optional<bool> budget_is_carbon{};  // what it must be a budget of
  std::uint64_t budget_line = 0;
};

Result<EnergyFile> read_energy_yaml(const std::filesystem::path& path, const Cluster& cluster);
Result<EnergyFile> read_energy_yaml(InputFile input, const Cluster& cluster,
                                    const std::filesystem::path& folder);

// A budget of grams needs a series of grams. `file` is the energy file.
std::optional<Diagnostic> budget_mismatch(const EnergyFile& energy, const SupplyKind& kind,
                                          const std::string& file);

}  // namespace weir::formats
