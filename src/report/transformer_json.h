// SPDX-License-Identifier: Apache-2.0
//
// A transformer's plan for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "plan/transformer/transformer_advice.h"
#include "plan/transformer/transformer_curve.h"

namespace weir::report {

// Everything an answer has: what was chosen, what else there was.
struct TransformerView {
  std::string title;  // of the model: its file, or its kind
  plan::TransformerRequest request;
  int gpus_per_node = 1;
  plan::TransformerAnswer answer;  // not empty
  std::vector<plan::TransformerAlternative> families;
  std::vector<plan::TransformerAlternative> others;
  std::vector<plan::PlannedSize> sizes;  // where cost was the objective: what was compared
  double price_per_hour = 0;             // of one GPU; 0: nobody knows
  std::vector<std::string> notes;        // what somebody should know before believing it
  double seconds = 0;                    // of the search

  const plan::TransformerChoice& chosen() const { return answer.best.front(); }
  double cost(double iteration_seconds, int gpus) const {
    return iteration_seconds / 3600 * gpus * price_per_hour;
  }
  // The chosen plan may have a part of a node; other sizes are of whole ones.
  plan::TransformerRequest of_whole_nodes() const {
    plan::TransformerRequest whole = request;
    whole.task.fabric.gpus_per_node = gpus_per_node;
    return whole;
  }
  int nodes() const { return (request.gpus + gpus_per_node - 1) / gpus_per_node; }
};

// Why there is no plan on so many GPUs. Requires: the size has none.
std::string why_no_plan_on(const plan::TransformerRequest& request, const plan::PlannedSize& size);
// weir's own plan file: the degrees, the model and the batch they are for.
nlohmann::ordered_json transformer_plan_json(const predict::TransformerTask& task,
                                             const predict::TransformerPlan& plan);
// The plan with its time, memory and what stood beside it.
nlohmann::ordered_json transformer_answer_json(const TransformerView& view);

}  // namespace weir::report
