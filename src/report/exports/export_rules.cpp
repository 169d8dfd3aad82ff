// SPDX-License-Identifier: Apache-2.0
#include "report/exports/export_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weir::report::exports {

using predict::ParallelMode;
using predict::TransformerPlan;

void Words::need(bool can, std::string_view what) {
  const bool is_new = std::find(missing_.begin(), missing_.end(), what) == missing_.end();
  if (!can && is_new) missing_.emplace_back(what);
}

bool has_copies(const TransformerModel& model, const TransformerPlan& plan) {
  return plan.mode == ParallelMode::isp && plan.grid.head > model.kv_heads;
}

bool is_isp(const TransformerPlan& plan) {
  return plan.mode == ParallelMode::isp;
}

int tensor_degree(const TransformerPlan& plan) {
  return is_isp(plan) ? 1 : plan.split();
}

namespace {

// What NVIDIA made before Ampere has neither bfloat16 nor a flash attention that trainers call.
constexpr std::array<std::string_view, 4> kBeforeAmpere{"P100", "V100", "V100S", "T4"};

}  // namespace

bool has_bf16(const predict::GpuType& gpu) {
  return std::none_of(kBeforeAmpere.begin(), kBeforeAmpere.end(),
                      [&](std::string_view chip) { return predict::is_chip_of(chip, gpu); });
}

bool has_window(const ExportedPlan& exported) {
  return exported.window > 0 && exported.window < exported.task.sequence;
}

void need_plain_grid(const TransformerModel& model, const TransformerPlan& plan, Words& words) {
  words.need(plan.grid.window == plan.grid.context, "a ring with windows");
  words.need(plan.grid.is_head_first, "context-first placement");
  words.need(!has_copies(model, plan), "copies of key/value heads");
}

void need_chunks(std::int64_t sequence, std::int64_t chunks, std::string_view why, Words& words) {
  const std::int64_t over = sequence % chunks;
  words.need(over == 0,
             fmt::format("sequences of {} tokens: it wants a multiple of {} ({}), such as {}",
                         sequence, chunks, why, sequence + chunks - over));
}

void add_precision_notes(const predict::TransformerTask& task, std::vector<std::string>& notes) {
  if (has_bf16(task.gpu)) return;
  notes.push_back(fmt::format(
      "float16 instead of bfloat16, and no flash attention: {} has neither, they came with Ampere",
      task.gpu.name));
  if (task.runtime.has_flash)
    notes.emplace_back(
        "the plan counts on attention that keeps no scores: take a memory-efficient one, such as "
        "that of xformers or of PyTorch's scaled_dot_product_attention, or it needs more memory "
        "than was planned");
}

void add_window_note(const ExportedPlan& exported, std::vector<std::string>& notes) {
  if (has_window(exported))
    notes.push_back(
        fmt::format("this trains with full attention: the config's window of {} tokens "
                    "(sliding_window) is not in it",
                    exported.window));
}

}  // namespace weir::report::exports
