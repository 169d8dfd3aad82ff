// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ostream>
#include <utility>
#include <vector>

#include "cli/infeasible_text.h"
#include "cli/interrupts.h"
#include "cli/plan_output.h"
#include "cli/plan_overlap_command.h"
#include "cli/planning_options.h"
#include "cli/planning_setup.h"
#include "cli/progress_display.h"
#include "cli/transformer_command.h"
#include "cli/transformer_options.h"
#include "formats/quantity_text.h"
#include "plan/training/advice.h"
#include "plan/training/alleviation.h"
#include "plan/training/explain_path.h"
#include "plan/training/feasibility.h"
#include "plan/training/megatron_grid.h"
#include "report/plan_tables.h"

namespace weir::cli {
namespace {

using plan::PlanAnswer;
using plan::SearchBudget;
using Clock = SearchBudget::Clock;

// Of --budget. What is left is for printing and writing.
constexpr double kSearchShare = 0.9;
constexpr double kShareBeforeAdvice = 0.75;
// A search on the side looks at so many stages, or at this part of what the search itself took.
constexpr std::uint64_t kFewEvaluations = 1'000'000;
constexpr std::uint64_t kPartForAdvice = 16;

// People are told what would help; programs that ask for the plan are not kept waiting.
bool wants_advice(const OptionValues& options) {
  return !options.flag("json") || options.has("report") || options.flag("explain");
}

class Budgets {
 public:
  Budgets(const OptionValues& options, Clock::time_point start, const CatchInterrupt& interrupt)
      : options_{options}, start_{start}, interrupt_{interrupt} {}

  SearchBudget search() const {
    SearchBudget budget = until(wants_advice(options_) ? kShareBeforeAdvice : kSearchShare);
    if (options_.has("evaluations"))
      budget.evaluations = static_cast<std::uint64_t>(options_.integer("evaluations"));
    return budget;
  }

  // For one of several searches after one that took `evaluations`.
  SearchBudget on_the_side(std::uint64_t evaluations) const {
    SearchBudget budget = until(kSearchShare);
    budget.evaluations = std::max(kFewEvaluations, evaluations / kPartForAdvice);
    return budget;
  }

 private:
  SearchBudget until(double share) const {
    SearchBudget budget;
    budget.interrupted = &interrupt_.is_interrupted();
    if (!options_.has("evaluations") || options_.is_given("budget")) {
      const Duration whole = *formats::parse_duration(options_.text("budget"));
      budget.deadline = start_ + std::chrono::duration_cast<Clock::duration>(whole * share);
    }
    return budget;
  }

  const OptionValues& options_;
  Clock::time_point start_;
  const CatchInterrupt& interrupt_;
};

std::string news_text(const plan::SearchNews& news) {
  const std::string best = std::isfinite(news.best_ms)
                               ? fmt::format("best {} ms", report::with_commas(news.best_ms, 1))
                               : "no plan yet";
  return fmt::format("searching: {}, {}", news.what, best);
}

formats::PlanDocument document_of(const PlanSetup& setup, const TrainingPlan& plan) {
  formats::PlanDocument document;
  document.database = setup.model.profile.database;
  document.model = setup.model.profile.model;
  document.size = setup.model.size;
  if (setup.model.layers > 0) document.layers = setup.model.layers;
  document.nodes = setup.cluster.nodes;
  document.gpus_per_node = setup.cluster.gpus_per_node;
  document.memory_limit_mib = setup.cluster.memory_mib;
  document.cost_model = to_string(setup.cost_options.model);
  document.plan = plan;
  return document;
}

// A plan, and how the search came to it where it tells.
struct Found {
  PlanAnswer answer;
  std::vector<plan::PlanStep> path;
};

Result<Found> search(const OptionValues& options, const predict::IterationCosts& costs,
                     const plan::PlanRequest& request, SearchBudget& budget,
                     ProgressDisplay& progress) {
  const auto tell = [&](const plan::SearchNews& news) { progress.tell(news_text(news)); };
  if (options.text("search") == "alleviation") {
    return plan::alleviate(costs, request, budget, tell).map([](plan::AlleviationAnswer&& found) {
      return Found{std::move(found.best), std::move(found.path)};
    });
  }
  return plan::search_plan(costs, request, budget, tell).map([](PlanAnswer&& answer) {
    return Found{std::move(answer), {}};
  });
}

Result<void> tell_why_not(const OptionValues& options, const predict::IterationCosts& costs,
                          const plan::PlanRequest& request, const Budgets& budgets,
                          const CatchInterrupt& interrupt, bool is_search_cut_short,
                          Console& console) {
  if (is_search_cut_short && !interrupt.is_interrupted())
    return tl::unexpected(too_short_error(options));
  const auto why = plan::why_infeasible(costs, request, budgets.on_the_side(0));
  if (!interrupt.is_interrupted())
    return tl::unexpected(infeasible_error(options, costs.cluster(), why));
  console.err << "weir: interrupted before there was any plan\n";
  console.exit_code = static_cast<int>(ExitCode::interrupted);
  return {};
}

}  // namespace

Result<void> plan_command(const OptionValues& options, Console& console) {
  if (is_unmeasured(options)) return transformer_command(options, console);
  const auto start = Clock::now();
  Diagnostics mistakes;
  refuse_mixed_plan_options(options, plan_spec(), mistakes);
  if (!options.has("overlap")) check_kind_of_model(options, mistakes);
  for (const char* name : {"model", "size"}) {
    if (!options.has("overlap") && !options.has(name))
      mistakes.add({{},
                    0,
                    fmt::format("--{}", name),
                    {},
                    "a text (or --model-config, a model that was not measured)"});
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  if (options.has("overlap")) return plan_overlap_command(options, console);
  const auto setup = read_plan_setup(options);
  if (!setup) return tl::unexpected(setup.error());
  const auto costs = setup->model.costs(setup->cluster, setup->cost_options);
  if (!costs) return tl::unexpected(costs.error());
  if (const auto why = plan::obviously_infeasible(*costs, setup->request))
    return tl::unexpected(infeasible_error(options, setup->cluster, *why));
  const CatchInterrupt interrupt;
  const Budgets budgets{options, start, interrupt};
  SearchBudget budget = budgets.search();
  ProgressDisplay progress{console.err, console.err_is_terminal};
  auto found = search(options, *costs, setup->request, budget, progress);
  if (!found && found.error().code != ErrorCode::infeasible) return tl::unexpected(found.error());
  if (!found) {
    progress.tell("searching for what would make a plan possible");
    return tell_why_not(options, *costs, setup->request, budgets, interrupt, budget.is_spent(),
                        console);
  }
  const std::chrono::duration<double> passed = Clock::now() - start;
  const PlanAnswer& answer = found->answer;
  const formats::PlanDocument document = document_of(*setup, answer.plan);
  report::PlanView view{
      *costs, document, answer.cost,
      report::SearchFigures{answer.lower_bound_ms, passed.count(), answer.evaluations,
                            answer.is_complete, budget.is_spent()}};
  view.path = std::move(found->path);
  const auto grid = plan::megatron_grid(*costs, setup->request.batch, setup->request.microbatches);
  if (grid) view.grid_ms = grid->cost.iteration_ms;
  if (options.flag("explain") && view.path.empty())
    view.path = plan::explain_path(*costs, setup->request, answer.plan);
  if (wants_advice(options)) {
    progress.tell("searching for what would help");
    view.advice = plan::what_would_help(*costs, setup->request, answer.plan,
                                        budgets.on_the_side(answer.evaluations));
  }
  progress.wipe();
  if (interrupt.is_interrupted()) {
    console.err << "weir: interrupted; this is the best plan so far\n";
    console.exit_code = static_cast<int>(ExitCode::interrupted);
  }
  return publish_plan(options, view, console);
}

}  // namespace weir::cli
