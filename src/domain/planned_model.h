// SPDX-License-Identifier: Apache-2.0
//
// A model that nobody measured, described well enough to plan it: its dimensions stand in a job in the place of a
// curve's name. How fast it would be on 1, 2, 4, ... GPUs depends on the GPUs, and only whoever has the cluster knows
// these. So a job carries dimensions and not a curve, and a CurvePlanner makes one for each pool.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "domain/cluster.h"
#include "domain/curve.h"
#include "domain/result.h"
#include "domain/transformer_model.h"

namespace weir {

struct PlannedModel {
  TransformerModel dimensions;  // its name is the one of the curve, `positions` is 0
  std::int64_t sequence = 0;    // tokens of a sample
  std::string gpu;              // the type to plan for; empty: that of each pool

  friend bool operator==(const PlannedModel&, const PlannedModel&) = default;
};

// "gpt-124M-s1024". Other models may have the same: whoever keeps curves by name has to refuse a second one.
std::string planned_model_name(std::string_view title, const TransformerModel& model,
                               std::int64_t sequence);

// What a plan has to know of a pool.
struct PoolGpus {
  PoolIndex pool;
  std::string name;
  std::string gpu;  // the model of its GPUs, as the cluster calls it
  std::int32_t gpus_per_node = 1;
  std::int32_t largest = 1;  // no job gets more: a power of two

  friend bool operator==(const PoolGpus&, const PoolGpus&) = default;
};

// The pools that have GPUs, in the cluster's order; nodes are taken to be like the first one of the pool.
std::vector<PoolGpus> pools_with_gpus(const Cluster& cluster);

// One curve for each of the pools, of the origin planned; an empty one where no plan fits or the GPUs are of a type
// that nobody knows. An error when all are empty, about the fields `model.gpu` and `model`. Pure: equal arguments
// give equal curves.
using CurvePlanner = std::function<Result<std::vector<Curve>>(
    const PlannedModel& model, std::int64_t batch, std::span<const PoolGpus> pools)>;

}  // namespace weir
