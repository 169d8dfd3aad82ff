// SPDX-License-Identifier: Apache-2.0
//
// The published Monte-Carlo workload inflation (FGD, USENIX ATC 2023): shuffle the task list with
// the seed, cut or extend it to 130 % of the cluster's GPU capacity, submit one task after the
// other; nothing departs, what finds no node is dropped. docs/models/fragmentation.md has the
// details.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "domain/cluster.h"
#include "domain/workload.h"
#include "simulate/outcome.h"
#include "simulate/run_setup.h"

namespace weir::simulate {

struct InflationConfig {
  std::string policy = "fgd";
  std::uint64_t seed = 42;
  NodeOrder node_order = NodeOrder::permuted;
  Expectation expectation = Expectation::oracle;
  bool timing = false;
};

// How many submissions a run is expected to have; a list that asks for little GPU needs many. More than
// kMostSubmissions should be refused.
inline constexpr std::int64_t kMostSubmissions = 20'000'000;
std::int64_t expected_submissions(const Workload& workload, MilliGpu capacity);

// The submissions of one run, made by the seed: indices into workload.jobs. Public for tests.
std::vector<std::uint32_t> inflate(const Workload& workload, MilliGpu capacity, std::uint64_t seed);

// Requires: the policy exists; every shape's models are those of the cluster.
InflationOutcome run_inflation(const Cluster& cluster, const Workload& workload,
                               const InflationConfig& config);

}  // namespace weir::simulate
