// SPDX-License-Identifier: Apache-2.0
//
// A transformer's plan in the words of the program that runs it. Each target can say some plans and not others (Megatron-LM
// has no windows in its ring, DeepSpeed no ring at all), and some networks and not others: a plan that breaks a rule or
// that the target cannot say is refused, so whatever is written means what was planned. Names and types of what is written are held against the
// targets' own definitions: tests/exports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/layer_style.h"
#include "domain/result.h"
#include "predict/transformer/transformer_time.h"

namespace weir::report {

enum class ExportTarget : std::uint8_t {
  megatron,
  deepspeed,
  torchtitan,
  internevo,
  torchrun,
  weir
};

// Names as they are typed, in the order of the enumeration.
std::vector<std::string> export_targets();
ExportTarget export_target(std::string_view name);

// What of the plan the target has no word for, or would refuse; empty when it can run it.
std::vector<std::string> beyond(ExportTarget target, const predict::TransformerTask& task,
                                const predict::TransformerPlan& plan);

// The same of how its layers are made, and of how the training program works, whatever the plan.
std::vector<std::string> beyond(ExportTarget target, const LayerStyle& style);
std::vector<std::string> beyond(ExportTarget target, const predict::RuntimeTraits& runtime);

struct ExportedPlan {
  const predict::TransformerTask& task;
  const predict::TransformerPlan& plan;
  int nodes = 1;
  int gpus_per_node = 1;
  std::optional<LayerStyle> style{};  // nothing: LLaMA's where the MLP is gated, GPT's otherwise
  std::int64_t window = 0;            // of the config's attention; 0: over the whole sequence
};
Result<std::string> export_plan(ExportTarget target, const ExportedPlan& exported);

// What has to be done beside the text, a sentence each: an environment variable, a call in the model.
std::vector<std::string> export_notes(ExportTarget target, const ExportedPlan& exported);

}  // namespace weir::report
