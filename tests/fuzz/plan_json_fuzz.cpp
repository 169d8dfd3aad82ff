// SPDX-License-Identifier: Apache-2.0
//
// A training plan, in weir's own form or the artifact's.
#include <nlohmann/json.hpp>

#include "formats/training_plan_json.h"
#include "round_trip_check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  auto input = formats::InputFile::from_memory("fuzz.json", fuzz::text_of(data, size));
  if (!input) return 0;
  const auto plan = formats::read_plan_json(std::move(*input));
  fuzz::check_refusal(plan);
  if (!plan) return 0;
  for (const PlanStage& stage : plan->plan.stages) {
    fuzz::check(!stage.ops.empty(), "a stage has an operator");
    for (const PlanOp& op : stage.ops)
      fuzz::check(op.tp * op.dp == stage.gpus, "an operator uses the stage's GPUs");
  }
  const std::string text = formats::plan_json(*plan).dump();
  const auto back = formats::read_plan_json(*formats::InputFile::from_memory("back.json", text));
  fuzz::check(back && *back == *plan, "a plan comes back as written");
  return 0;
}
