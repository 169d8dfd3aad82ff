// SPDX-License-Identifier: Apache-2.0
#include "plan/training/plan_path.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "plan/training/bottleneck.h"

namespace weir::plan {

namespace {

// More cuts than this that move at once are told as the new sizes of the stages.
constexpr std::size_t kMostMovesInWords = 3;

std::string operators(int count) {
  return fmt::format("{} operator{}", count, count == 1 ? "" : "s");
}

std::vector<int> sizes_of(const TrainingPlan& plan) {
  std::vector<int> sizes;
  for (const PlanStage& stage : plan.stages) sizes.push_back(static_cast<int>(stage.ops.size()));
  return sizes;
}

std::string layout_in_words(const PlanStage& stage) {
  const PlanOp& front = stage.ops.front();
  const bool is_mixed = std::ranges::any_of(stage.ops, [&](const PlanOp& op) {
    return op.tp != front.tp || op.dp != front.dp || op.dim != front.dim;
  });
  if (is_mixed) return "mixed layouts";
  return fmt::format("tp {} x dp {}{}", front.tp, front.dp, front.dim == 0 ? "" : ", dim 1");
}

// Whether operators of the stage are spread differently, apart from those that come and go at its ends.
bool is_spread_alike(const PlanStage& before, int before_first, const PlanStage& after,
                     int after_first) {
  const int first = std::max(before_first, after_first);
  const int end = std::min(before_first + static_cast<int>(before.ops.size()),
                           after_first + static_cast<int>(after.ops.size()));
  if (first >= end) return layout_in_words(before) == layout_in_words(after);
  for (int op = first; op < end; ++op) {
    const PlanOp& a = before.ops[static_cast<std::size_t>(op - before_first)];
    const PlanOp& b = after.ops[static_cast<std::size_t>(op - after_first)];
    if (a.tp != b.tp || a.dp != b.dp || a.dim != b.dim) return false;
  }
  return true;
}

// "stage 3", "stages 0, 2-5"
std::string stages_in_words(const std::vector<std::size_t>& stages) {
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < stages.size();) {
    std::size_t last = i;
    while (last + 1 < stages.size() && stages[last + 1] == stages[last] + 1) ++last;
    ranges.push_back(last == i ? std::to_string(stages[i])
                               : fmt::format("{}-{}", stages[i], stages[last]));
    i = last + 1;
  }
  return fmt::format("stage{} {}", stages.size() == 1 ? "" : "s", fmt::join(ranges, ", "));
}

// Stages with the same change are told together, in the order of the first.
void say_layouts(const TrainingPlan& before, const TrainingPlan& after,
                 std::vector<std::string>& words) {
  struct Change {
    std::string text;
    std::vector<std::size_t> stages;
  };
  std::vector<Change> changes;
  int before_first = 0;
  int after_first = 0;
  for (std::size_t i = 0; i < before.stages.size(); ++i) {
    const PlanStage& was = before.stages[i];
    const PlanStage& is = after.stages[i];
    std::string text;
    if (was.gpus != is.gpus) {
      text = fmt::format("on {} GPU{} ({}) instead of {}", is.gpus, is.gpus == 1 ? "" : "s",
                         layout_in_words(is), was.gpus);
    } else if (!is_spread_alike(was, before_first, is, after_first)) {
      text = fmt::format("with {} instead of {}", layout_in_words(is), layout_in_words(was));
    }
    before_first += static_cast<int>(was.ops.size());
    after_first += static_cast<int>(is.ops.size());
    if (text.empty()) continue;
    auto same = std::ranges::find(changes, text, &Change::text);
    if (same == changes.end()) same = changes.insert(same, {text, {}});
    same->stages.push_back(i);
  }
  for (const Change& change : changes) {
    words.push_back(fmt::format("{} {}", stages_in_words(change.stages), change.text));
  }
}

void say_cuts(const TrainingPlan& before, const TrainingPlan& after,
              std::vector<std::string>& words) {
  const std::vector<int> was = sizes_of(before);
  const std::vector<int> is = sizes_of(after);
  std::vector<std::string> moves;
  int moved = 0;  // how far the cut after the stage goes to the right
  for (std::size_t i = 0; i + 1 < was.size(); ++i) {
    moved += is[i] - was[i];
    if (moved > 0)
      moves.push_back(fmt::format("{} from stage {} to stage {}", operators(moved), i + 1, i));
    if (moved < 0)
      moves.push_back(fmt::format("{} from stage {} to stage {}", operators(-moved), i, i + 1));
  }
  if (moves.size() > kMostMovesInWords) {
    words.push_back(
        fmt::format("operators spread {} instead of {}", fmt::join(is, "/"), fmt::join(was, "/")));
  } else {
    words.insert(words.end(), moves.begin(), moves.end());
  }
}

int recomputed(const PlanStage& stage) {
  return static_cast<int>(std::ranges::count_if(stage.ops, &PlanOp::recompute));
}

// Alone: by stage. Beside another change, which it follows from: in one number.
void say_recomputation(const TrainingPlan& before, const TrainingPlan& after,
                       std::vector<std::string>& words) {
  if (!words.empty()) {
    int was = 0;
    int is = 0;
    for (const PlanStage& stage : before.stages) was += recomputed(stage);
    for (const PlanStage& stage : after.stages) is += recomputed(stage);
    if (was != is)
      words.push_back(fmt::format("{} computed again instead of {}", operators(is), was));
    return;
  }
  for (std::size_t i = 0; i < before.stages.size(); ++i) {
    if (before.stages[i] == after.stages[i]) continue;
    const int was = recomputed(before.stages[i]);
    const int is = recomputed(after.stages[i]);
    words.push_back(
        was == is ? fmt::format("stage {} computes {} again, others than before", i, operators(is))
                  : fmt::format("stage {} computes {} again instead of {}", i, operators(is), was));
  }
}

bool fits(const predict::IterationCosts& costs, const PathPlan& path_plan) {
  return path_plan.cost.largest_memory_mib <= costs.cluster().memory_mib;
}

}  // namespace

std::string_view name_of(PlanResource resource) {
  switch (resource) {
    case PlanResource::compute:
      return "compute";
    case PlanResource::communication:
      return "communication";
    case PlanResource::recomputation:
      return "recomputation";
    case PlanResource::memory:
      break;
  }
  return "memory";
}

std::string change_in_words(const TrainingPlan& before, const TrainingPlan& after) {
  std::vector<std::string> words;
  if (before.microbatch != after.microbatch) {
    words.push_back(
        fmt::format("microbatch {} instead of {}", after.microbatch, before.microbatch));
  }
  say_layouts(before, after, words);
  say_cuts(before, after, words);
  say_recomputation(before, after, words);
  return fmt::format("{}", fmt::join(words, "; "));
}

PlanStep plan_step(const predict::IterationCosts& costs, const PathPlan& before,
                   const PathPlan& after) {
  const auto loads = loads_of(costs, IdealWork{costs, before.plan.microbatch}, before);
  const int stage = by_pressure(loads).front();
  const auto at = static_cast<std::size_t>(stage);
  return {.from_ms = before.cost.iteration_ms,
          .to_ms = after.cost.iteration_ms,
          .fits_before = fits(costs, before),
          .fits_after = fits(costs, after),
          .stage = stage,
          .resource = by_share(loads, stage).front(),
          .change = change_in_words(before.plan, after.plan),
          .stage_from_ms = before.cost.stage_ms[at],
          .stage_to_ms = after.cost.stage_ms[at],
          .memory_from_mib = before.cost.stages[at].memory.total(),
          .memory_to_mib = after.cost.stages[at].memory.total()};
}

std::vector<PlanStep> plan_path(const predict::IterationCosts& costs,
                                const std::vector<PathPlan>& plans) {
  std::vector<PlanStep> path;
  for (std::size_t i = 0; i + 1 < plans.size(); ++i) {
    if (plans[i].plan == plans[i + 1].plan) continue;
    path.push_back(plan_step(costs, plans[i], plans[i + 1]));
  }
  return path;
}

}  // namespace weir::plan
