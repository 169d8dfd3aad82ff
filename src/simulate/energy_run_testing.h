// SPDX-License-Identifier: Apache-2.0
//
// A small cluster with a power book, and days whose second half is dirtier, for tests of energy.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "simulate/training_run.h"

namespace weir::simulate {

inline const CurveKey kEnergyKind{"model", 64};

// Twice the GPUs are 1.7 times as fast. At half the clock a job is 0.75 times as fast.
inline CurveBook energy_curves() {
  std::vector<CurvePoint> points;
  double rate = 10;
  for (std::int32_t gpus = 1; gpus <= 8; gpus *= 2, rate *= 1.7)
    points.push_back({gpus, IterationRate{static_cast<std::int64_t>(rate * 1e6)}});
  CurveBook book;
  book.curves[kEnergyKind] = Curve{points};
  return book;
}

inline PowerBook energy_book() {
  PowerBook book;
  book.idle_milliwatts = 50'000;
  book.node_milliwatts = 400'000;
  const CurveBook curves = energy_curves();
  PowerTable table;
  for (const CurvePoint& point : curves.curves.at(kEnergyKind).useful()) {
    table.push_back({point.gpus, 500, IterationRate{point.rate.value * 3 / 4},
                     std::int64_t{180'000} * point.gpus});
    table.push_back({point.gpus, 750, IterationRate{point.rate.value * 9 / 10},
                     std::int64_t{260'000} * point.gpus});
    table.push_back({point.gpus, kFullClock, point.rate, std::int64_t{400'000} * point.gpus});
  }
  book.tables[kEnergyKind] = std::move(table);
  return book;
}

// Two nodes of eight GPUs.
inline Cluster energy_cluster() {
  Cluster cluster;
  cluster.pools.push_back({"p"});
  for (std::uint32_t i = 0; i < 2; ++i) {
    Node node;
    node.id = NodeId{i + 1};
    node.name = "n" + std::to_string(i);
    node.gpu_count = 8;
    cluster.nodes.push_back(node);
  }
  return cluster;
}

// A job every so often, each of some hours on one GPU.
inline TrainingWorkload energy_jobs(int count, std::int64_t seconds_between = 3600) {
  TrainingWorkload workload;
  for (int i = 0; i < count; ++i) {
    TrainingArrival arrival;
    arrival.submitted = Time{} + from_seconds(i * seconds_between);
    arrival.spec.name = "job" + std::to_string(i);
    arrival.spec.curve = kEnergyKind;
    arrival.spec.iterations = 10 * 3600 * (1 + i % 5);
    workload.jobs.push_back(arrival);
  }
  return workload;
}

inline SupplySeries dirty_nights() {
  std::vector<double> values;
  for (int hour = 0; hour < 30 * 24; ++hour) values.push_back(hour % 24 < 12 ? 100 : 400);
  return {Time{}, std::chrono::hours{1}, values};
}

inline TrainingRunConfig energy_run(std::string policy) {
  TrainingRunConfig config;
  config.policy = std::move(policy);
  config.energy.emplace();
  config.energy->books = {energy_book()};
  config.energy->supply = dirty_nights();
  return config;
}

}  // namespace weir::simulate
