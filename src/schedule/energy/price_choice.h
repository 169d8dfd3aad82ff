// SPDX-License-Identifier: Apache-2.0
//
// Who runs on how many GPUs at which clock when a unit of energy (a gram of CO2, or money) is worth
// some of a job's time. A job with work R to do at rate v costs (R / v) (1 + price x units per
// second): its work cancels, so each job takes the configuration with the least cost per iteration.
// Where GPUs are short they have a price too, the least at which they suffice.
//
// A carbon price in the place of a limit for each hour is our design (docs/models/energy.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "domain/supply_series.h"
#include "schedule/energy/priced_options.h"

namespace weir::schedule {

inline constexpr int kNoOption = -1;

struct PricedJob {
  const PricedOptions* options = nullptr;
  double left = 0;             // iterations
  bool must_run = false;       // it has waited as long as it may
  std::int32_t held_gpus = 0;  // what it has now
  double least_price = 0;      // seconds per unit: who pays for it has less than others
};

struct PriceTerms {
  double price = 0;       // seconds per unit; of each job, that or its own
  std::int32_t gpus = 0;  // to be had in all
  std::int32_t gpus_per_node = 1;
  double node_watts = 0;  // of a node that is awake; with the site's overhead, as all here
  double idle_watts = 0;  // of a GPU without a job, on such a node
  std::optional<double> cap_watts{};     // of these jobs and their nodes
  const SupplySeries* supply = nullptr;  // required where a price is not 0
  Time now;
  // How long GPUs are taken to stay as short as they are. Over a longer time one costs less than now,
  // so it is the long jobs that make room where many wait.
  double shortage_seconds = 2 * 3600;
};

struct PriceChoice {
  std::vector<int> options;        // of each job: its option, or kNoOption
  std::vector<std::size_t> order;  // who goes first: whoever is done first
  double gpu_price = 0;            // seconds per GPU and second
};

// What a unit costs the job.
inline double price_for(const PricedJob& job, const PriceTerms& terms) {
  return job.least_price > terms.price ? job.least_price : terms.price;
}

// Under a cap everybody may be made to wait; who must run, last.
PriceChoice choose_by_price(std::span<const PricedJob> jobs, const PriceTerms& terms);

// What the chosen configurations draw if jobs stand as close as they can.
double packed_watts(std::span<const PricedJob> jobs, std::span<const int> options,
                    const PriceTerms& terms);

// What an iteration on that option takes, of time and of energy.
struct WorkCost {
  double seconds = 0;
  double units = 0;
};
WorkCost work_cost(const PricedJob& job, const PricedOption& option, const PriceTerms& terms);

// The least of time and energy that an iteration of the job can cost at these prices, and what it
// emits then, in units; the supply as it is on average over the job's own time.
struct CheapestWork {
  double cost = 0;   // seconds per iteration
  double units = 0;  // per iteration
  int option = kNoOption;
};
CheapestWork cheapest_work(const PricedJob& job, const PriceTerms& terms, double gpu_price);

}  // namespace weir::schedule
