// SPDX-License-Identifier: Apache-2.0
//
// What one iteration of training costs under a plan: time and memory of every pipeline stage, from
// measurements of single operators.
//
// A stage needs `pace` for each microbatch once the pipeline is full and `traverse` for the one that
// fills and drains it; `finish` comes once at the end. With m microbatches
//
//   iteration = max over stages of (pace (m - 1) + finish)  +  sum over stages of traverse
//
// Two models share this form. `published` is that of the Aceso artifact with its quirks: pace and
// traverse are equal, nothing is charged at the end, links are looked up in steps. `full` interpolates,
// charges gradient all-reduce, optimizer and tied embeddings, and can take transfers between stages as hidden
// behind computation. docs/planner.md lists every difference.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "domain/op_profile.h"
#include "domain/result.h"
#include "domain/training_plan.h"
#include "predict/training/model_ops.h"
#include "predict/training/op_layout.h"

namespace weir::predict {

enum class CostModel : unsigned char { published, full };

struct CostOptions {
  CostModel model = CostModel::full;
  // Without tensor parallelism the dimension of the split means nothing, yet profiles hold two measurements.
  // True: take the first for both. False: as measured, which flatters plans that mix (parity with the artifact).
  bool one_measurement_at_tp1 = true;
  // `full`: a stage computes while data travels. A plain 1F1B schedule cannot: it has no microbatch to spare, so in
  // a balanced pipeline every transfer is waited for. True is for runtimes that keep more microbatches in flight.
  bool hides_transfers = false;
  // GB/s at which the optimizer's step reads and writes its state (`full`). An assumption: 80 % of a V100's memory bandwidth.
  double optimizer_gb_per_s = 720;
};

// Where a stage lies: which of its two ends are on a node's border.
struct StagePlace {
  int stages_behind = 0;
  bool input_crosses = false;
  bool output_crosses = false;
  friend bool operator==(const StagePlace&, const StagePlace&) = default;
};

struct StageTime {  // microseconds, one microbatch unless said otherwise
  double forward = 0;
  double backward = 0;
  double recompute = 0;
  double receive = 0;  // from the stage before, and gradients back to it
  double send = 0;
  double reshard_forward = 0;
  double reshard_backward = 0;
  double gradients = 0;  // once per iteration: all-reduce among replicas
  double tied = 0;       // once per iteration: embeddings shared by first and last stage
  double optimizer = 0;  // once per iteration
  double pace = 0;       // of a microbatch in the full pipeline
  double traverse = 0;   // of a microbatch alone
  double finish() const { return gradients + tied + optimizer; }
};

struct StageMemory {   // MiB
  double weights = 0;  // with the copy the optimizer works on
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;  // of the microbatches under way
  double peak = 0;         // of the one in its backward pass
  double reserved = 0;     // workspace
  double total() const { return weights + gradients + optimizer + activations + peak + reserved; }
};

struct StageCost {
  StageTime time;
  StageMemory memory;
};

struct PlanCost {
  std::vector<StageCost> stages;
  std::vector<double> stage_ms;  // iteration as seen from each stage; the largest is the iteration
  double iteration_ms = 0;
  double largest_memory_mib = 0;
  int bottleneck = 0;  // the stage that decides the time
};

// How many bytes of weights, copy and optimizer state there are for one byte of weights.
struct StateFactors {
  double weights = 3;
  double optimizer = 4;
  double all() const { return weights + 1 + optimizer; }
};

class IterationCosts {
 public:
  // Bad input when the profile does not fit the model (model_ops.h) or lacks what `cluster` needs.
  static Result<IterationCosts> make(OpProfile profile, int layers, PlanCluster cluster,
                                     CostOptions options);

  // Points into its own profile: it may move, but a copy would point into the original's.
  IterationCosts(IterationCosts&&) = default;
  IterationCosts& operator=(IterationCosts&&) = default;

  const ModelOps& ops() const { return ops_; }
  const OpProfile& profile() const { return profile_; }
  const PlanCluster& cluster() const { return cluster_; }
  const CostOptions& options() const { return options_; }
  StateFactors state_factors() const { return factors_; }
  bool hides_transfers() const {
    return options_.model == CostModel::full && options_.hides_transfers;
  }

  // The rows measured at a variant, or null: nobody measured it.
  const OpMeasure* rows(OpVariant variant) const;
  const OpMeasure& measure(const OpMeasure* rows, int op) const {
    return rows[ops_.rows[static_cast<std::size_t>(op)]];
  }
  bool has(int microbatch, int tp, int dim) const { return rows({microbatch, tp, dim}) != nullptr; }
  // Every microbatch size per replica that was measured at some degree, ascending.
  const std::vector<int>& microbatches() const { return microbatches_; }

  // The parts of a cost, for a search that sums them up in its own way. Microseconds.
  double transfer_us(double mib, bool crosses_nodes) const;
  // Of a stage that begins, or ends, with operator `op`. In `full`, nothing comes before the model's first operator or goes anywhere after
  // its last.
  double receive_us(int op, double input_mib, bool crosses_nodes) const;
  double send_us(int op, double output_mib, bool crosses_nodes) const;
  double collective_us(Collective kind, int gpus, double mib) const;
  struct ReshardTime {
    double forward = 0;
    double backward = 0;
  };
  // Between operator `op` - 1 and operator `op` of a stage, at `microbatch` samples over all replicas.
  ReshardTime reshard_us(int op, const PlanOp& before, const PlanOp& here, int microbatch) const;
  // What an operator's activation counts for, and what is saved when it and its successor are computed again.
  double kept_mib(int op, double activation_mib) const {
    return ops_.traits_of(op).activation_factor * activation_mib;
  }
  double saved_mib(int op, double activation_mib) const;
  // pace and traverse from the other times.
  void set_pace(StageTime& time) const;
  double gradients_us(double weight_mib, int replicas) const;
  double optimizer_us(double weight_mib) const;
  // Of a stage of operators [first, end): only one that holds one end of the model and not the other.
  double tied_us(double embedding_mib, int first, int end) const;

  // Requires: every variant the operators use was measured (check_plan.h).
  StageCost stage(int first, std::span<const PlanOp> ops, int microbatch, StagePlace place) const;
  // Largest sum of activations computed again at once.
  double peak_recomputed_mib(int first, std::span<const PlanOp> ops, int microbatch) const;
  double saved_by_recomputing_mib(int first, std::span<const PlanOp> ops, int microbatch) const;

  // Bad input for a plan that breaks a rule (check_plan) or uses what was not measured.
  Result<PlanCost> plan(const TrainingPlan& plan) const;
  PlanCost plan_unchecked(const TrainingPlan& plan) const;

 private:
  IterationCosts() = default;

  OpProfile profile_;
  ModelOps ops_;
  PlanCluster cluster_;
  CostOptions options_;
  StateFactors factors_;
  std::vector<int> microbatches_;
  std::vector<const OpMeasure*> tables_;  // by slot of a variant
  std::vector<int> slot_of_microbatch_;
  std::size_t slot(OpVariant variant) const;
};

// Where each stage of a plan lies.
StagePlace place_of(const TrainingPlan& plan, std::size_t stage, const PlanCluster& cluster);

// From the stages' costs: T_i, the iteration, the bottleneck.
PlanCost sum_up(std::vector<StageCost> stages, int microbatches);

}  // namespace weir::predict
