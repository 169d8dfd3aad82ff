// SPDX-License-Identifier: Apache-2.0
//
// A training plan for people: which operators run where and how, where an iteration's time goes, and how full
// the memory is.
#pragma once

#include <string>
#include <vector>

#include "report/plan_view.h"
#include "report/table.h"

namespace weir::report {

// "58,492.6"
std::string with_commas(double value, int decimals);

// What a stage spends an iteration on, in milliseconds; together the iteration.
struct StageShares {
  double compute = 0;
  double recompute = 0;
  double links = 0;  // transfers that computation does not hide
  double reshard = 0;
  double end = 0;  // once per iteration: gradients, optimizer, tied embeddings
  double waiting = 0;
};
StageShares stage_shares(const PlanView& view, std::size_t stage);

// "layer 3 enc-attention-qkv": the operator in words.
std::string op_words(const predict::IterationCosts& costs, int op);

// Which operators, on how many GPUs, split how, computed again or not.
Table stage_table(const PlanView& view);
// Where the time goes.
Table time_table(const PlanView& view);
// What fills the memory of a GPU.
Table memory_table(const PlanView& view);
// A bar for each stage against the limit; of the first `most` stages.
std::string memory_bars(const PlanView& view, std::size_t most);
// The stages over the limit, in words; empty when there are none.
std::vector<std::string> memory_warnings(const PlanView& view);

// From a naive plan to this one: bottleneck, change, effect.
Table path_table(const PlanView& view);
// The same for a terminal, where changes are too long for a column.
std::string path_text(const PlanView& view);
// What would help, and by how much.
Table advice_table(const PlanView& view);

// The result in a sentence or two.
std::string plan_headline(const PlanView& view);

}  // namespace weir::report
