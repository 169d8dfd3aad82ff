// SPDX-License-Identifier: Apache-2.0
//
// How one training job uses its GPUs: the operators cut into pipeline stages, and for every operator
// how many ways it is split (tensor parallel), how many replicas there are (data parallel), which
// dimension the split takes, and whether its output is computed again in the backward pass.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir {

struct PlanOp {
  std::int16_t tp = 1;
  std::int16_t dp = 1;
  std::int8_t dim = 0;
  bool recompute = false;
  friend bool operator==(const PlanOp&, const PlanOp&) = default;
};

struct PlanStage {
  int gpus = 1;
  std::vector<PlanOp> ops;
  friend bool operator==(const PlanStage&, const PlanStage&) = default;
};

struct TrainingPlan {
  int batch = 0;       // samples per iteration
  int microbatch = 0;  // samples in a stage at a time, over all its replicas
  std::vector<PlanStage> stages;
  friend bool operator==(const TrainingPlan&, const TrainingPlan&) = default;
};

// The machine a plan is for.
struct PlanCluster {
  int nodes = 1;
  int gpus_per_node = 1;
  double memory_mib = 0;  // of one GPU, that a plan may use
  int gpus() const { return nodes * gpus_per_node; }
  friend bool operator==(const PlanCluster&, const PlanCluster&) = default;
};

}  // namespace weir
