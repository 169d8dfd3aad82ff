// SPDX-License-Identifier: Apache-2.0
//
// Jobs with sizes and clocks as a power model gives them, from one number each.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "domain/seeded_rng.h"
#include "schedule/energy/price_choice.h"

namespace weir::schedule::testing {

// What a price is to choose from. Jobs point into it, so it stays where it is.
struct PricedInstance {
  std::vector<PricedOptions> options;
  SupplySeries supply;
  std::vector<PricedJob> jobs;
  PriceTerms terms;

  PricedInstance() = default;
  PricedInstance(const PricedInstance&) = delete;
  PricedInstance& operator=(const PricedInstance&) = delete;

  PriceChoice choose() const { return choose_by_price(jobs, terms); }
  const PricedOption& option(std::size_t job, int at) const {
    return options[job][static_cast<std::size_t>(at)];
  }
  std::int64_t gpus_of(const std::vector<int>& chosen) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i)
      sum += chosen[i] == kNoOption ? 0 : option(i, chosen[i]).gpus;
    return sum;
  }
};

struct InstanceSketch {
  std::uint64_t most_jobs = 12;
  std::vector<std::int32_t> sizes{1, 2, 4, 8};
  std::vector<std::int32_t> clocks{500, 700, 850, 1000};
  bool has_nodes = true;
  bool is_constant = false;           // the supply
  bool all_can_run = false;           // no fewer GPUs than jobs
  std::uint64_t one_in_must_run = 5;  // 0: none
};

// Rates grow with the size, each doubling by less; a part of the time follows the clock, power its
// cube. Neither dominated nor slower at more watts: what a job's table holds.
inline PricedOptions any_options(SeededRng& rng, const InstanceSketch& sketch) {
  PricedOptions options;
  double rate = std::exp(rng.uniform() * 6 - 2);
  double gain = 0.5 + 0.5 * rng.uniform();  // of a doubling, of what it could be
  const double clocked = 0.1 + 0.8 * rng.uniform();
  const double idle = 60 + 100 * rng.uniform();
  const double busy = 50 + 250 * rng.uniform();
  for (const std::int32_t gpus : sketch.sizes) {
    for (const std::int32_t clock : sketch.clocks) {
      const double x = clock / 1000.0;
      const double of_full = 1 / ((1 - clocked) + clocked / x);
      options.push_back({gpus, clock, std::llround(of_full * 1e6), rate * of_full,
                         gpus * (idle + busy * x * x * x)});
    }
    rate *= 1 + gain;
    gain *= 0.5 + 0.5 * rng.uniform();
  }
  return options;
}

inline void make_instance(PricedInstance& made, std::uint64_t seed, const InstanceSketch& sketch) {
  SeededRng rng{seed};
  const std::size_t jobs = 1 + rng.below(sketch.most_jobs);
  for (std::size_t i = 0; i < jobs; ++i) made.options.push_back(any_options(rng, sketch));
  for (std::size_t i = 0; i < jobs; ++i) {
    const bool must_run = sketch.one_in_must_run > 0 && rng.below(sketch.one_in_must_run) == 0;
    made.jobs.push_back({&made.options[i], std::exp(rng.uniform() * 12), must_run, 0});
  }
  std::vector<double> values;
  for (std::size_t hour = 0; hour < 48; ++hour)
    values.push_back(sketch.is_constant && hour > 0 ? values.front()
                                                    : std::floor(20 + 600 * rng.uniform()));
  made.supply = SupplySeries{Time{}, std::chrono::hours{1}, std::move(values)};
  made.terms.supply = &made.supply;
  made.terms.now = Time{from_seconds(static_cast<std::int64_t>(rng.below(24 * 3600)))};
  // Seconds per gram: from what hardly matters to where energy is all that matters.
  made.terms.price = rng.below(5) == 0 ? 0 : std::exp(rng.uniform() * 7 - 3);
  made.terms.gpus = static_cast<std::int32_t>(1 + rng.below(4 * jobs));
  if (sketch.all_can_run)
    made.terms.gpus = std::max(made.terms.gpus, static_cast<std::int32_t>(jobs));
  if (sketch.has_nodes) {
    made.terms.gpus_per_node = 1 << rng.below(4);
    made.terms.node_watts = static_cast<double>(rng.below(1000));
    made.terms.idle_watts = static_cast<double>(rng.below(60));
  }
}

}  // namespace weir::schedule::testing
