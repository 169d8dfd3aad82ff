// SPDX-License-Identifier: Apache-2.0
#include "report/plan_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

namespace weir::report {
namespace {

using predict::ModelUnit;
using predict::StageMemory;
using predict::StageTime;

constexpr std::size_t kBarWidth = 40;
constexpr std::size_t kLayoutsShown = 3;
constexpr double kNoGap = 0.005;  // percent
constexpr double kLargestGapTold = 25;

std::string share(double part, double whole) {
  return fmt::format("{:.1f}", whole > 0 ? part / whole * 100 : 0);
}

// The most common first: "2x1" where all are alike, otherwise "1x2 (52 ops), 2x1 (20 ops)".
template <class Value, class Text>
std::string by_count(const std::vector<PlanOp>& ops, Value value, Text text) {
  std::map<decltype(value(ops.front())), int> counts;
  for (const PlanOp& op : ops) ++counts[value(op)];
  if (counts.size() == 1) return text(counts.begin()->first);
  std::vector<std::pair<decltype(value(ops.front())), int>> order{counts.begin(), counts.end()};
  std::ranges::stable_sort(order, std::greater<>{}, [](const auto& entry) { return entry.second; });
  std::vector<std::string> shown;
  for (const auto& [what, count] : order) {
    if (shown.size() == kLayoutsShown) {
      shown.emplace_back("...");
      break;
    }
    shown.push_back(fmt::format("{} ({} ops)", text(what), count));
  }
  return fmt::format("{}", fmt::join(shown, ", "));
}

std::string layout_of(const PlanStage& stage) {
  return by_count(
      stage.ops,
      [](const PlanOp& op) {
        return std::pair<int, int>{op.tp, op.dp};
      },
      [](const std::pair<int, int>& degrees) {
        return fmt::format("{} x {}", degrees.first, degrees.second);
      });
}

std::string dim_of(const PlanStage& stage) {
  const bool has_split = std::ranges::any_of(stage.ops, [](const PlanOp& op) { return op.tp > 1; });
  if (!has_split) return "-";
  return by_count(
      stage.ops, [](const PlanOp& op) { return int{op.dim}; },
      [](int dim) { return std::to_string(dim); });
}

std::string recomputed_of(const PlanStage& stage) {
  const auto count =
      std::ranges::count_if(stage.ops, [](const PlanOp& op) { return op.recompute; });
  if (count == 0) return "none";
  if (static_cast<std::size_t>(count) == stage.ops.size()) return "all";
  return fmt::format("{} of {}", count, stage.ops.size());
}

std::string of_limit(const PlanView& view, double mib) {
  return view.limit_mib() ? share(mib, *view.limit_mib()) : "-";
}

std::string gain_words(const plan::Advice& advice, double now_ms) {
  constexpr double kNothing = 0.05;  // percent
  if (!advice.at_most_ms) return advice.obstacle;
  const double percent = (1 - *advice.at_most_ms / now_ms) * 100;
  if (percent < kNothing) return advice.is_complete ? "none" : "none found in a short search";
  return fmt::format("{}{:.1f} % less time", advice.is_complete ? "" : "at least ", percent);
}

}  // namespace

std::string with_commas(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", value, decimals);
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::size_t first_digit = text.front() == '-' ? 1 : 0;
  for (std::size_t at = point; at > first_digit + 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

StageShares stage_shares(const PlanView& view, std::size_t stage) {
  const StageTime& time = view.cost.stages[stage].time;
  const auto count = static_cast<double>(view.microbatches());
  const auto ms = [](double us) { return us / 1000.0; };
  StageShares shares;
  shares.compute = ms((time.forward + time.backward) * count);
  shares.recompute = ms(time.recompute * count);
  shares.reshard = ms((time.reshard_forward + time.reshard_backward) * count);
  shares.end = ms(time.finish());
  const double own = ms(time.pace * (count - 1) + time.traverse + time.finish());
  shares.links = own - shares.compute - shares.recompute - shares.reshard - shares.end;
  shares.waiting = view.cost.iteration_ms - own;
  return shares;
}

std::string op_words(const predict::IterationCosts& costs, int op) {
  const predict::ModelOps& ops = costs.ops();
  const auto at = static_cast<std::size_t>(op);
  const std::string& name = costs.profile().ops[static_cast<std::size_t>(ops.rows[at])];
  const auto unit = static_cast<std::size_t>(ops.unit_of[at]);
  const int kind = ops.units[unit].kind;
  const auto is_same_kind = [&](const ModelUnit& other) { return other.kind == kind; };
  if (std::ranges::count_if(ops.units, is_same_kind) == 1) return name;
  const auto number = std::count_if(
      ops.units.begin(), ops.units.begin() + static_cast<std::ptrdiff_t>(unit), is_same_kind);
  return fmt::format("layer {} {}", number, name);
}

Table stage_table(const PlanView& view) {
  Table table{"Stages",
              {{"stage"},
               {"operators"},
               {"from", Align::left},
               {"to", Align::left},
               {"GPUs"},
               {"tp x dp", Align::left},
               {"dim", Align::left},
               {"computed again", Align::left}},
              {}};
  int first = 0;
  for (std::size_t i = 0; i < view.plan().stages.size(); ++i) {
    const PlanStage& stage = view.plan().stages[i];
    const int last = first + static_cast<int>(stage.ops.size()) - 1;
    table.rows.push_back({std::to_string(i), fmt::format("{}-{}", first, last),
                          op_words(view.costs, first), op_words(view.costs, last),
                          std::to_string(stage.gpus), layout_of(stage), dim_of(stage),
                          recomputed_of(stage)});
    first = last + 1;
  }
  return table;
}

Table time_table(const PlanView& view) {
  Table table{"Where an iteration's time goes, % (* paces the pipeline)",
              {{"stage"},
               {"paces ms"},
               {"compute"},
               {"recompute"},
               {"links"},
               {"reshard"},
               {"end"},
               {"waits"}},
              {}};
  for (std::size_t i = 0; i < view.cost.stages.size(); ++i) {
    const StageShares shares = stage_shares(view, i);
    const double whole = view.cost.iteration_ms;
    const bool is_slowest = static_cast<int>(i) == view.cost.bottleneck;
    table.rows.push_back(
        {fmt::format("{}{}", is_slowest ? "*" : "", i), with_commas(view.cost.stage_ms[i], 1),
         share(shares.compute, whole), share(shares.recompute, whole), share(shares.links, whole),
         share(shares.reshard, whole), share(shares.end, whole), share(shares.waiting, whole)});
  }
  return table;
}

Table memory_table(const PlanView& view) {
  Table table{"Memory of each GPU, MiB",
              {{"stage"},
               {"weights"},
               {"gradients"},
               {"optimizer"},
               {"activations"},
               {"peak"},
               {"workspace"},
               {"all"},
               {"% of limit"}},
              {}};
  for (std::size_t i = 0; i < view.cost.stages.size(); ++i) {
    const StageMemory& memory = view.cost.stages[i].memory;
    std::vector<std::string> row{std::to_string(i)};
    for (const double part : {memory.weights, memory.gradients, memory.optimizer,
                              memory.activations, memory.peak, memory.reserved, memory.total()}) {
      row.push_back(with_commas(part, 0));
    }
    row.push_back(of_limit(view, memory.total()));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string memory_bars(const PlanView& view, std::size_t most) {
  const double whole = view.limit_mib().value_or(view.cost.largest_memory_mib);
  std::string text = view.limit_mib() ? fmt::format("Memory of each GPU, limit {} MiB\n",
                                                    with_commas(*view.limit_mib(), 0))
                                      : "Memory of each GPU; no limit is known (--memory)\n";
  for (std::size_t i = 0; i < std::min(most, view.cost.stages.size()); ++i) {
    const double total = view.cost.stages[i].memory.total();
    const double filled = std::clamp(total / whole, 0.0, 1.0) * static_cast<double>(kBarWidth);
    const auto marks = static_cast<std::size_t>(filled);
    text += fmt::format("{:>5}  [{}{}] {:>9} MiB", i, std::string(marks, '#'),
                        std::string(kBarWidth - marks, '.'), with_commas(total, 0));
    if (view.limit_mib() && total > *view.limit_mib()) text += "  OVER THE LIMIT";
    text += "\n";
  }
  return text;
}

std::vector<std::string> memory_warnings(const PlanView& view) {
  std::vector<std::string> warnings;
  if (!view.limit_mib()) return warnings;
  for (std::size_t i = 0; i < view.cost.stages.size(); ++i) {
    const double total = view.cost.stages[i].memory.total();
    if (total <= *view.limit_mib()) continue;
    warnings.push_back(fmt::format("stage {} needs {} MiB on each GPU, {} MiB more than the limit",
                                   i, with_commas(total, 0),
                                   with_commas(total - *view.limit_mib(), 0)));
  }
  return warnings;
}

std::string path_text(const PlanView& view) {
  std::string text = "The way to this plan\n";
  const auto line = [](double ms, bool fits) {
    return fmt::format("{:>12} ms{}", with_commas(ms, 1), fits ? "" : ", does not fit in memory");
  };
  for (const plan::PlanStep& step : view.path) {
    text +=
        fmt::format("{}. Bottleneck: stage {}, by {}: {} ms, {} MiB.\n",
                    line(step.from_ms, step.fits_before), step.stage, plan::name_of(step.resource),
                    with_commas(step.stage_from_ms, 1), with_commas(step.memory_from_mib, 0));
    text += fmt::format("{:>17} {}. Stage {} then: {} ms, {} MiB.\n", "->", step.change, step.stage,
                        with_commas(step.stage_to_ms, 1), with_commas(step.memory_to_mib, 0));
  }
  if (!view.path.empty()) text += line(view.path.back().to_ms, view.path.back().fits_after) + "\n";
  return text;
}

Table path_table(const PlanView& view) {
  Table table{"The way to this plan",
              {{"iteration ms"},
               {"bottleneck", Align::left},
               {"by", Align::left},
               {"change", Align::left},
               {"iteration ms"},
               {"its memory MiB"}},
              {}};
  const auto time = [](double ms, bool fits) {
    return with_commas(ms, 1) + (fits ? "" : " (does not fit)");
  };
  for (const plan::PlanStep& step : view.path) {
    table.rows.push_back({time(step.from_ms, step.fits_before), fmt::format("stage {}", step.stage),
                          std::string{plan::name_of(step.resource)}, step.change,
                          time(step.to_ms, step.fits_after),
                          fmt::format("{} -> {}", with_commas(step.memory_from_mib, 0),
                                      with_commas(step.memory_to_mib, 0))});
  }
  return table;
}

Table advice_table(const PlanView& view) {
  Table table{
      "What would help", {{"change", Align::left}, {"iteration ms"}, {"gain", Align::left}}, {}};
  for (const plan::Advice& advice : view.advice) {
    table.rows.push_back({advice.change,
                          advice.at_most_ms ? with_commas(*advice.at_most_ms, 1) : "-",
                          gain_words(advice, view.cost.iteration_ms)});
  }
  return table;
}

std::string plan_headline(const PlanView& view) {
  std::string text =
      fmt::format("An iteration takes {} ms: {} samples/s.", with_commas(view.cost.iteration_ms, 1),
                  with_commas(view.samples_per_s(), 2));
  if (!view.search) return text;
  const double bound = view.search->lower_bound_ms;
  const double gap = (view.cost.iteration_ms / std::max(bound, 1e-9) - 1) * 100;
  if (gap < kNoGap) return text + " No plan of the space searched is faster.";
  if (gap > kLargestGapTold)
    return text + fmt::format(" No plan takes less than {} ms; that is all that is proved.",
                              with_commas(bound, 1));
  text += fmt::format(" That is proved to be at most {:.2f} % above the best possible.", gap);
  return text;
}

}  // namespace weir::report
