// SPDX-License-Identifier: Apache-2.0
//
// Small runs with energy in them, each from one number: cluster, curves, tables of power, supply and
// jobs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/seeded_rng.h"
#include "formats/cluster_shorthand.h"
#include "simulate/training_run.h"

namespace weir::simulate {

struct EnergyCase {
  Cluster cluster;
  CurveBook curves;
  TrainingWorkload workload;
  TrainingRunConfig config;

  TrainingOutcome play() const { return run_training(cluster, workload, {curves}, config); }
  EnergyTerms& terms() { return config.energy->terms; }
  PowerBook& book() { return config.energy->books.front(); }
  SupplySeries& supply() { return config.energy->supply; }
};

// Slower and thriftier: a part of the time follows the clock, power its cube.
inline PowerTable any_power_table(SeededRng& rng, const Curve& curve) {
  PowerTable table;
  const double clocked = 0.1 + 0.8 * rng.uniform();
  const double idle = 60 + 100 * rng.uniform();
  const double busy = 50 + 250 * rng.uniform();
  for (const CurvePoint& point : curve.useful()) {
    for (const std::int32_t clock : {500, 700, 850, 1000}) {
      const double x = clock / 1000.0;
      const double rate = static_cast<double>(point.rate.value) / ((1 - clocked) + clocked / x);
      table.push_back(
          {point.gpus, clock,
           clock == kFullClock ? point.rate : IterationRate{static_cast<std::int64_t>(rate)},
           static_cast<std::int64_t>(point.gpus * (idle + busy * x * x * x) * 1000)});
    }
  }
  return table;
}

inline EnergyCase an_energy_case(std::string_view policy, std::uint64_t seed,
                                 bool has_deadlines = false) {
  SeededRng rng{seed};
  constexpr std::array kClusters = {"1x4xT4", "2x4xT4", "3x2xT4", "2x8xA100", "5x1xT4", "4x8xA100"};
  constexpr std::uint64_t kModels = 4;
  EnergyCase made;
  made.cluster = *formats::parse_cluster_shorthand(kClusters[rng.below(kClusters.size())]);
  PowerBook book{.gpu = "any",
                 .idle_milliwatts = static_cast<std::int64_t>(rng.below(60'000)),
                 .node_milliwatts = static_cast<std::int64_t>(rng.below(900'000)),
                 .asleep_milliwatts = static_cast<std::int64_t>(rng.below(2) * rng.below(9'000)),
                 .overhead_permille = static_cast<std::int32_t>(1000 + rng.below(600)),
                 .tables = {}};
  for (std::uint64_t model = 0; model < kModels; ++model) {
    std::vector<CurvePoint> points;
    auto rate = static_cast<std::int64_t>(1'000'000 + rng.below(20'000'000));
    for (std::int32_t gpus = 1; gpus <= 8; gpus *= 2) {
      points.push_back({gpus, IterationRate{rate}});
      rate += static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(rate))) - rate / 8;
    }
    const CurveKey key{"m", static_cast<std::int64_t>(model)};
    made.curves.curves.emplace(key, Curve{std::move(points)});
    book.tables[key] = any_power_table(rng, made.curves.curves.at(key));
  }
  std::vector<double> values;
  for (std::uint64_t hour = 24 + rng.below(48); hour > 0; --hour)
    values.push_back(static_cast<double>(20 + rng.below(600)));
  EnergySetup setup;
  setup.books = {std::move(book)};
  setup.supply = SupplySeries{Time{}, std::chrono::hours{1}, std::move(values)};
  made.workload.name = "any";
  Time first = Time::max();
  for (std::uint64_t i = 1 + rng.below(20); i > 0; --i) {
    TrainingArrival arrival;
    arrival.submitted = Time{from_seconds(static_cast<std::int64_t>(rng.below(20'000)))};
    arrival.spec.name = "job";
    arrival.spec.curve = {"m", static_cast<std::int64_t>(rng.below(kModels))};
    arrival.spec.iterations = static_cast<std::int64_t>(1 + rng.below(200'000));
    if (has_deadlines && rng.below(2) == 0) {
      arrival.spec.deadline_kind = DeadlineKind::hard;
      arrival.spec.deadline =
          arrival.submitted + from_seconds(static_cast<std::int64_t>(600 + rng.below(90'000)));
    }
    first = std::min(first, arrival.submitted);
    made.workload.jobs.push_back(std::move(arrival));
  }
  // From the first job on, when the meter begins; until the last is about done.
  setup.terms.from = first;
  setup.terms.until = first + std::chrono::hours{24};
  made.config.policy = policy;
  made.config.planned_cost = {from_seconds(static_cast<std::int64_t>(rng.below(8))),
                              from_seconds(static_cast<std::int64_t>(rng.below(4)))};
  made.config.training.caps = {static_cast<std::int32_t>(rng.below(3) * 2),
                               static_cast<std::int32_t>(500 + 250 * rng.below(3))};
  made.config.energy = std::move(setup);
  return made;
}

// All but what energy is worth.
inline std::vector<Record> decisions_of(EnergyCase& made) {
  std::vector<Record> records;
  made.config.on_record = [&](const Record& record) {
    if (!std::holds_alternative<EnergyPriceSet>(record.what)) records.push_back(record);
  };
  made.play();
  made.config.on_record = nullptr;
  return records;
}

}  // namespace weir::simulate
