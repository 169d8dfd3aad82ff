// SPDX-License-Identifier: Apache-2.0
//
// The best pipeline for one microbatch size, exactly: which cuts, which option for each stage. From the last
// stage to the first, over (stages behind, GPUs behind, first operator): the memory of a stage depends on the stages behind it, the links
// it uses on the GPUs behind it, so its cost is exact.
//
//   iteration = max over stages of steady + sum over stages of traverse
//
// A pass minimises one of the two under a limit on the other's maximum; best() combines passes into the exact minimum.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "domain/training_plan.h"
#include "plan/training/search_budget.h"
#include "plan/training/stage_option.h"

namespace weir::plan {

struct PipelineStage {
  StageOption* option = nullptr;
  int first = 0;
  int end = 0;
};

struct Pipeline {
  double steady = 0;    // of the slowest stage, microseconds
  double traverse = 0;  // of all stages
  std::vector<PipelineStage> stages;
  double iteration() const { return steady + traverse; }
};

// On large clusters: only pipelines in which the number of stages behind grows about evenly with the GPUs behind.
struct StageBand {
  double stages_per_gpu = 1;
  int width = 0;  // stages to both sides
};

struct PipelineProblem {
  PlanCluster cluster;
  bool hides_transfers = false;
  int microbatches = 1;
  bool stages_may_straddle_nodes = false;
  std::optional<StageBand> band;
  std::optional<int> stages;         // exactly so many
  bool stages_may_be_empty = false;  // cuts are cells, and two may fall into one
  std::vector<StageOption*> options;
  std::vector<int>
      cuts;  // where a stage may begin or end, ascending, both ends of the model included
};

// What a stage's recomputation is taken to cost.
enum class Costing : unsigned char { chosen, least };

class PipelineDp {
 public:
  PipelineDp(PipelineProblem problem, Costing costing, SearchBudget& budget);

  // The best pipeline with iteration() below `below` (microseconds), or nothing. When the budget runs out,
  // the best so far, which may be nothing; is_proved() then is false.
  std::optional<Pipeline> best(double below);
  // No pipeline of the problem has less, as far as best() got.
  double lower_bound() const { return lower_bound_; }
  bool is_proved() const { return is_proved_; }

  // Only lower_bound(): quick, and no weaker than the work bound.
  void find_quick_bound(double below);

  // The sum over operators of the least GPU time, spread over all GPUs.
  double work_bound() const;

 private:
  enum class Goal : unsigned char { steady, traverse };
  struct From {
    std::int32_t cut = -1;
    std::int32_t option = -1;
  };
  struct Table {
    std::vector<double> value;
    std::vector<From> from;
    int first = 0;  // cuts [first, end) have values
    int end = 0;
  };

  // For every cut and number of GPUs in front of it, how slow the slowest stage there is at least: with the least recomputation and the
  // fewest stages that can be behind. What cannot be completed within `limit` is infinite.
  void find_heads(double limit);
  double& head(int gpus, int cut);
  bool is_in_band(int stages, int gpus) const;
  std::optional<Pipeline> pass(Goal goal, double limit);
  template <Goal goal>
  void extend(const Table& tail, Table& into, std::size_t option, int stages_behind,
              int gpus_behind, double limit);
  Pipeline trace(int stages, Goal goal) const;
  StageSpan span_of(std::size_t option, int first, int end, int stages_behind,
                    int gpus_behind) const;
  Table& table(int stages, int gpus);
  const Table& table(int stages, int gpus) const;
  predict::StagePlace place_of(int gpus_behind, int gpus, int stages_behind) const;

  PipelineProblem problem_;
  Costing costing_;
  SearchBudget& budget_;
  std::vector<double> work_;     // least GPU time of the operators before each cut
  std::vector<double> fastest_;  // least time of the operators before each cut, at any degree
  std::vector<Table> tables_;
  std::vector<double> heads_;
  int largest_option_ = 1;
  int most_stages_ = 0;
  double lower_bound_ = 0;
  bool is_proved_ = false;
};

}  // namespace weir::plan
