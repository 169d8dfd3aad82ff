// SPDX-License-Identifier: Apache-2.0
//
// What the rules and texts of several trainers have in common.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "predict/transformer/transformer_time.h"
#include "report/plan_export.h"

namespace weir::report::exports {

// Collects what a trainer cannot say, each once.
class Words {
 public:
  void need(bool can, std::string_view what);
  std::vector<std::string> missing() && { return std::move(missing_); }

 private:
  std::vector<std::string> missing_;
};

bool is_isp(const predict::TransformerPlan& plan);

// By how many weights are split; attention alone is split elsewhere.
int tensor_degree(const predict::TransformerPlan& plan);

// Whether ranks have the same key/value heads.
bool has_copies(const TransformerModel& model, const predict::TransformerPlan& plan);

bool has_bf16(const predict::GpuType& gpu);

// Whether the config's window is shorter than what is trained.
bool has_window(const ExportedPlan& exported);

// One ring, heads in neighbouring ranks, every KV head once: what most trainers have.
void need_plain_grid(const TransformerModel& model, const predict::TransformerPlan& plan,
                     Words& words);

// Some trainers want more of a sequence than the plan needs: two equal chunks for each rank that has a part of it.
void need_chunks(std::int64_t sequence, std::int64_t chunks, std::string_view why, Words& words);

// Where the GPU has no bfloat16.
void add_precision_notes(const predict::TransformerTask& task, std::vector<std::string>& notes);

// Where the config has a window and the trainer none.
void add_window_note(const ExportedPlan& exported, std::vector<std::string>& notes);

}  // namespace weir::report::exports
