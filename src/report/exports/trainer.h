// SPDX-License-Identifier: Apache-2.0
//
// What weir knows of a training program: which plans and networks it can run, and how it is told of them.
#pragma once

#include <string>
#include <vector>

#include "domain/layer_style.h"
#include "domain/result.h"
#include "predict/transformer/transformer_time.h"
#include "report/plan_export.h"

namespace weir::report::exports {

struct Trainer {
  // What of a plan it has no word for, or would refuse.
  std::vector<std::string> (*beyond_plan)(const predict::TransformerTask& task,
                                          const predict::TransformerPlan& plan) = nullptr;
  // The same of how layers are made; none where the network is made elsewhere.
  std::vector<std::string> (*beyond_style)(const LayerStyle& style) = nullptr;
  bool can_autocast = false;
  // Whether it can be told to keep a memory pool for gathered weights, and not to gather them ahead.
  bool has_gathering_choices = false;
  Result<std::string> (*text)(const ExportedPlan& exported) = nullptr;
  std::vector<std::string> (*notes)(const ExportedPlan& exported) = nullptr;
};

Trainer megatron();
Trainer deepspeed();
Trainer torchtitan();
Trainer internevo();

}  // namespace weir::report::exports
