// SPDX-License-Identifier: Apache-2.0
//
// A training plan as JSON, with run lengths ([value, count]) for what operators have in common:
//
//   {"database":"miniset","model":"gpt","size":"1_3B","layers":24,"nodes":1,"gpus_per_node":4,
//    "memory_limit_mib":12000,"cost_model":"published","batch":512,"microbatch":1,
//    "stages":[{"ops":[0,78],"gpus":1,"tp":[[1,78]],"dp":[[1,78]],"dim":[[0,78]],"recompute":[[0,52],[1,26]]}]}
//
//   ops  the first operator and the one after the last
//
// Other keys (predicted_ms, time_ms, memory_mib ...) are results and are not read. The plans of the
// Aceso artifact are read too, with full lists (`model_parallel_size_of_each_op`) or with run lengths (`tp_rle`).
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "domain/result.h"
#include "domain/training_plan.h"
#include "formats/input_file.h"

namespace weir::formats {

inline constexpr std::uint64_t kMaxPlanJsonBytes = std::uint64_t{64} << 20;
inline constexpr int kMostPlanOps = 1'000'000;
inline constexpr int kMostPlanStages = 100'000;
inline constexpr int kMostPlanStageGpus = 16'384;

// A plan with what the file says about where it comes from; absent parts are empty or nothing.
struct PlanDocument {
  std::string database;
  std::string model;
  std::string size;
  std::optional<int> layers;
  std::optional<int> nodes;
  std::optional<int> gpus_per_node;
  std::optional<double> memory_limit_mib;
  std::string cost_model;
  TrainingPlan plan;
  friend bool operator==(const PlanDocument&, const PlanDocument&) = default;
};

// Every mistake of the file at once. Checks what a plan must hold by itself: stages that follow each
// other, run lengths that add up, tp x dp = the stage's GPUs, powers of two, a batch that the microbatch
// divides and a microbatch that every dp divides.
// Whether operators and measurements exist is for predict/ to say.
Result<PlanDocument> read_plan_json(InputFile input);
Result<PlanDocument> read_plan_json(const std::filesystem::path& path);

// {"ops":[..],"gpus":..,"tp":..,"dp":..,"dim":..,"recompute":..} of a stage whose first operator is `first`.
nlohmann::ordered_json stage_json(const PlanStage& stage, int first);
// The document without its stages, for a writer that has more to say about each.
nlohmann::ordered_json plan_header_json(const PlanDocument& document);
// The whole document, as above.
nlohmann::ordered_json plan_json(const PlanDocument& document);

}  // namespace weir::formats
