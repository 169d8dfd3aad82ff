// SPDX-License-Identifier: Apache-2.0
//
// The configuration linear programme of a cluster and a demand: how much GPU could be packed at
// best by anybody who knows the whole demand and may place fractions of tasks?
//
//   maximise    sum over node classes k, packings q of  x[k,q] * milli(q)
//   subject to  sum over q of     x[k,q]         <=  nodes of class k         price mu_k
//               sum over k, q of  x[k,q] * q[m]  <=  demand of shape m        price pi_m
//
// A packing q is a multiset of shapes that fits an empty node of the class: exact in the GPUs
// (shares within single GPUs, whole GPUs for tasks of several), CPU in steps, memory ignored.
// Solved by column generation: LinearProgram is the master, PackingTable finds the packing to add.
//
// Uses: (1) `bound_milli` limits what ANY policy can pack of that demand (with
// Rounding::optimistic; CPU-only tasks are left out, which only raises it); (2) `demand_price` says
// how much GPU one more task of the shape would add, so milli_m - pi_m is the part of a task's size
// that the node's resources are worth.
//
// Limits: as deterministic as LinearProgram. On the openb lists 1 to 30 ms without model sets and
// up to 0.5 s with them (320 shapes). The time grows with more than the square of the number of
// shapes, so callers limit it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "domain/target_workload.h"
#include "schedule/place/placement_policy.h"

namespace weir::schedule {

// Nodes with GPUs that are alike when empty, as far as packing is concerned.
struct PackingClass {
  GpuModelId model;
  MilliCpu cpu;
  std::int32_t gpu_count = 0;
  std::int64_t nodes = 0;

  friend auto operator<=>(const PackingClass&, const PackingClass&) = default;
};

// In an order fixed by their contents.
std::vector<PackingClass> packing_classes(std::span<const NodeClass> node_classes);

struct ShapeDemand {
  Shape shape;       // with GPUs
  double tasks = 0;  // >= 0, may be a fraction
};

enum class ModelSets : std::uint8_t {
  kept,
  erased,  // every task accepts every model
};

// The shapes with GPUs, counts scaled so that they ask for `total` together, in an order fixed by
// their contents. Shapes that became equal are one.
std::vector<ShapeDemand> scaled_demand(std::span<const ExpectedShape> shapes, MilliGpu total,
                                       ModelSets model_sets);

struct ConfigurationLpOptions {
  enum class Rounding : std::uint8_t {
    pessimistic,  // task CPU up, node CPU down: every packing surely fits. For prices
    optimistic,   // task CPU down, node CPU up: no true packing is missing. For bounds
  };

  Rounding rounding = Rounding::pessimistic;
  int max_rounds = 2000;
  double relative_gap = 1e-6;  // good enough when the bound is this close to what was packed
};

struct ConfigurationLpResult {
  bool has_converged = false;  // otherwise bound_milli is valid but not tight
  double packed_milli = 0;     // by the best fractional packing found
  double bound_milli = 0;      // no packing has more
  // pi, by demand: milli-GPU per task, >= 0; without meaning where the demand is 0.
  std::vector<double> demand_price;
  std::vector<double> class_price;  // mu, by class: milli-GPU per node, >= 0
};

ConfigurationLpResult solve_configuration_lp(std::span<const PackingClass> classes,
                                             std::span<const ShapeDemand> demand,
                                             const ConfigurationLpOptions& options = {});

}  // namespace weir::schedule
