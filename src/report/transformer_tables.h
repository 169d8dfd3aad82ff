// SPDX-License-Identifier: Apache-2.0
//
// A transformer's plan for people: what was chosen, where the time and the memory go, what stood beside it.
#pragma once

#include <string>

#include "report/table.h"
#include "report/transformer_json.h"

namespace weir::report {

// "isp hp 8 x cp 2, dp 4, ...": a plan in one line.
std::string plan_words(const predict::TransformerPlan& plan);
// "6.74 billion parameters"
std::string parameter_words(double parameters);
// "llama2-7b: 6.74 billion parameters, sequences of 4096 tokens, batch 64."
std::string model_words(const std::string& title, const predict::TransformerTask& task);
// The model, then the result in two or three sentences.
std::string transformer_headline(const TransformerView& view);
// What an iteration costs on each number of GPUs, where cost was the objective.
Table cost_table(const TransformerView& view);
// Each degree of the plan and what it means here.
Table degree_table(const TransformerView& view);
Table transformer_time_table(const TransformerView& view);
// Its parts add up to what is needed, as printed.
Table transformer_memory_table(const TransformerView& view);
// The best with other attention, with other degrees, and the runner-ups, each beside the chosen one.
Table family_table(const TransformerView& view);
Table other_degree_table(const TransformerView& view);
Table runner_up_table(const TransformerView& view);

}  // namespace weir::report
