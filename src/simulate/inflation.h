// SPDX-License-Identifier: Apache-2.0
//
// The published Monte-Carlo workload inflation (FGD, USENIX ATC 2023): shuffle the task list with the
// seed, cut or extend it to 130 % of the cluster's GPU capacity, submit one task after the other;
// nothing departs, what finds no node is dropped. docs/models/fragmentation.md has the details.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "domain/cluster.h"
#include "domain/workload.h"
#include "simulate/outcome.h"

namespace weir::simulate {

// In which order nodes stand when scores are equal.
enum class NodeOrder : std::uint8_t {
  permuted,     // by the seed: the default, and the published protocol
  as_listed,    // as in the file
  cpu_per_gpu,  // fewest CPUs per GPU first: the order that breaks FGD
};

// Where a policy's target workload comes from.
enum class Expectation : std::uint8_t {
  oracle,   // counted over the list that is simulated, as in the paper
  learned,  // estimated from the submissions seen so far
};

struct InflationConfig {
  std::string policy = "fgd";
  std::uint64_t seed = 42;
  NodeOrder node_order = NodeOrder::permuted;
  Expectation expectation = Expectation::oracle;
  bool timing = false;
};

// The submissions of one run, made by the seed: indices into workload.jobs. Public for tests.
std::vector<std::uint32_t> inflate(const Workload& workload, MilliGpu capacity, std::uint64_t seed);

// Requires: the policy exists; every shape's models are those of the cluster.
InflationOutcome run_inflation(const Cluster& cluster, const Workload& workload,
                               const InflationConfig& config);

}  // namespace weir::simulate
