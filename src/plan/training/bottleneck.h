// SPDX-License-Identifier: Apache-2.0
//
// Which stage holds a plan back, and what it is short of (Aceso's two heuristics): the stage most over the memory limit,
// else the slowest. Its time is told apart into what the work would take if it were spread perfectly (compute), what
// spreading and moving data costs on top (communication), and what is computed again (recomputation); the resource of which the stage
// has the largest share among all stages comes first.
#pragma once

#include <array>
#include <vector>

#include "plan/training/plan_path.h"
#include "predict/training/iteration_costs.h"

namespace weir::plan {

// Of one stage and one microbatch, microseconds and MiB.
struct StageLoad {
  double compute = 0;
  double communication = 0;
  double recomputation = 0;
  double time = 0;      // for an iteration, in any unit that compares
  double over_mib = 0;  // above the memory limit; 0 or less: it fits
};

// Stages from the worst to the best: those over the memory limit first, by how much; then by time.
std::vector<int> by_pressure(const std::vector<StageLoad>& loads);

// Resources of a stage from the most to the least pressing. Memory comes first where the stage is over the limit and
// last where it is not.
std::array<PlanResource, 4> by_share(const std::vector<StageLoad>& loads, int stage);

// Above the average of the stages; recomputation: any at all.
bool is_pressed(const std::vector<StageLoad>& loads, int stage, PlanResource resource);

// The time operators need at the least, summed up over the GPUs used: their work.
class IdealWork {
 public:
  // At a microbatch of a whole stage, over every degree that was measured.
  IdealWork(const predict::IterationCosts& costs, int microbatch);
  // Microseconds of `gpus` GPUs that share the work perfectly.
  double us(int first, int end, int gpus) const {
    return (sums_[static_cast<std::size_t>(end)] - sums_[static_cast<std::size_t>(first)]) / gpus;
  }

 private:
  std::vector<double> sums_;  // over the operators before
};

std::vector<StageLoad> loads_of(const predict::IterationCosts& costs, const IdealWork& work,
                                const PathPlan& path_plan);

}  // namespace weir::plan
