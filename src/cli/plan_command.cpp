// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_command.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <ostream>
#include <utility>

#include "cli/interrupts.h"
#include "cli/plan_output.h"
#include "cli/planning_setup.h"
#include "cli/progress_display.h"
#include "formats/quantity_text.h"
#include "report/plan_tables.h"

namespace weir::cli {
namespace {

using Clock = plan::SearchBudget::Clock;

// Of --budget: the rest is for printing and writing.
constexpr double kSearchShare = 0.9;

plan::SearchBudget search_budget(const OptionValues& options, Clock::time_point start,
                                 const CatchInterrupt& interrupt) {
  plan::SearchBudget budget;
  budget.interrupted = &interrupt.is_interrupted();
  const bool has_evaluations = options.has("evaluations");
  if (has_evaluations)
    budget.evaluations = static_cast<std::uint64_t>(options.integer("evaluations"));
  if (!has_evaluations || options.is_given("budget")) {
    const Duration whole = *formats::parse_duration(options.text("budget"));
    budget.deadline = start + std::chrono::duration_cast<Clock::duration>(whole * kSearchShare);
  }
  return budget;
}

std::string news_text(const plan::SearchNews& news) {
  const std::string best = std::isfinite(news.best_ms)
                               ? fmt::format("best {} ms", report::with_commas(news.best_ms, 1))
                               : "no plan yet";
  return fmt::format("searching: {}, {}", news.what, best);
}

formats::PlanDocument document_of(const PlanSetup& setup, TrainingPlan plan) {
  formats::PlanDocument document;
  document.database = setup.model.profile.database;
  document.model = setup.model.profile.model;
  document.size = setup.model.size;
  if (setup.model.layers > 0) document.layers = setup.model.layers;
  document.nodes = setup.cluster.nodes;
  document.gpus_per_node = setup.cluster.gpus_per_node;
  document.memory_limit_mib = setup.cluster.memory_mib;
  document.cost_model = to_string(setup.cost_options.model);
  document.plan = std::move(plan);
  return document;
}

}  // namespace

Result<void> plan_command(const OptionValues& options, Console& console) {
  const auto start = Clock::now();
  const auto setup = read_plan_setup(options);
  if (!setup) return tl::unexpected(setup.error());
  const auto costs = setup->model.costs(setup->cluster, setup->cost_options);
  if (!costs) return tl::unexpected(costs.error());
  const CatchInterrupt interrupt;
  plan::SearchBudget budget = search_budget(options, start, interrupt);
  auto answer = [&] {
    ProgressDisplay progress{console.err, console.err_is_terminal};
    return plan::search_plan(*costs, setup->request, budget,
                             [&](const plan::SearchNews& news) { progress.tell(news_text(news)); });
  }();
  if (!answer) return tl::unexpected(answer.error());
  const std::chrono::duration<double> passed = Clock::now() - start;
  const formats::PlanDocument document = document_of(*setup, std::move(answer->plan));
  const report::PlanView view{*costs, document, answer->cost,
                              report::SearchFigures{answer->lower_bound_ms, passed.count(),
                                                    answer->evaluations, answer->is_complete},
                              std::nullopt};
  if (interrupt.is_interrupted()) {
    console.err << "weir: interrupted; this is the best plan so far\n";
    console.exit_code = static_cast<int>(ExitCode::interrupted);
  }
  return publish_plan(options, view, console);
}

}  // namespace weir::cli
