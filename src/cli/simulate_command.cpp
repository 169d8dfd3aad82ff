// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <utility>
#include <vector>

#include "cli/compare_command.h"
#include "cli/observed_inputs.h"
#include "cli/output_files.h"
#include "cli/progress_display.h"
#include "cli/simulation_inputs.h"
#include "cli/train_simulation_command.h"
#include "cli/version.h"
#include "report/churn_summary.h"
#include "report/html_report.h"
#include "report/inflation_summary.h"
#include "report/inflation_tables.h"
#include "report/outcome_csv.h"
#include "report/outcome_json.h"
#include "report/text_table.h"
#include "schedule/core/cluster_layout.h"
#include "schedule/place/policies.h"
#include "schedule/place/policy_text.h"
#include "simulate/arrival_plan.h"
#include "simulate/inflation.h"
#include "simulate/sweep.h"

namespace weir::cli {
namespace {

bool is_replay(const OptionValues& options) {
  return options.text("protocol") == "replay" || options.has("from");
}

// Tasks come and go.
bool is_churn(const OptionValues& options) {
  return options.text("protocol") == "churn" || is_replay(options);
}

std::vector<std::string> chosen_placement_policies(const OptionValues& options) {
  const std::vector<std::string>& chosen = options.texts("policy");
  if (std::find(chosen.begin(), chosen.end(), "all") == chosen.end()) return chosen;
  std::vector<std::string> all;
  for (const schedule::PolicyRow& row : schedule::placement_policies()) all.emplace_back(row.name);
  return all;
}

// A load as whole percent; nothing when it has a finer part.
std::optional<int> whole_percent(double load) {
  const double percent = std::round(load * 100);
  if (std::abs(percent - load * 100) > 1e-6) return std::nullopt;
  return static_cast<int>(percent);
}

// The table's choices are those of tasks and of training jobs.
void check_policies(const OptionValues& options, Diagnostics& mistakes) {
  for (const std::string& policy : options.texts("policy")) {
    if (policy == "all") continue;
    const auto found = schedule::read_placement_policy(policy);
    if (found) continue;
    mistakes.add({{},
                  0,
                  "--policy",
                  policy,
                  schedule::looks_like_a_blend(policy)
                      ? found.error()
                      : "with --tasks a placement policy (`weir policies`)"});
  }
}

// What a single option cannot show: options that do not go together, places that cannot be written.
Diagnostics check_simulate_options(const OptionValues& options) {
  Diagnostics mistakes;
  check_policies(options, mistakes);
  const auto only_with = [&](const char* option, const char* protocol) {
    const bool is_so = protocol == std::string_view{"churn"} ? is_churn(options)
                       : is_replay(options)                  ? false
                                                             : options.text("protocol") == protocol;
    if (options.is_given(option) && !is_so) {
      mistakes.add({{},
                    0,
                    fmt::format("--protocol (which --{} needs)", option),
                    options.text("protocol"),
                    protocol});
    }
  };
  only_with("load", "churn");
  if (options.is_given("load") && is_replay(options))
    mistakes.add({{}, 0, "--load", "given", "leave it out: a replay has the load that was"});
  for (const char* option : {"state", "add-nodes", "lose"}) {
    if (options.is_given(option) && !options.has("from"))
      mistakes.add({{}, 0, fmt::format("--{}", option), "given", "--from kubernetes beside it"});
  }
  for (const char* option : {"nodes", "tasks"}) {
    if (options.is_given(option) && options.has("from"))
      mistakes.add({{},
                    0,
                    fmt::format("--{}", option),
                    "given",
                    "leave it out: --from names the cluster and the tasks"});
  }
  only_with("queue", "churn");
  only_with("node-order", "inflation");
  only_with("bound", "inflation");
  for (const double load : options.numbers("load")) {
    if (!whole_percent(load)) {
      mistakes.add({{}, 0, "--load", fmt::format("{}", load), "a load with at most two decimals"});
    }
  }
  if (options.has("nodes") && !options.has("tasks")) {
    mistakes.add({{}, 0, "--tasks", {}, "the task list to play on --nodes"});
  }
  const auto inputs = input_paths(options);
  check_outputs(options, {"csv", "report"}, inputs, mistakes);
  return mistakes;
}

// A list with hardly any GPU demand would make a run endless.
void check_length(const OptionValues& options, const SimulationInputs& inputs, std::size_t list,
                  Diagnostics& mistakes) {
  const Workload& workload = inputs.workloads[list];
  const MilliGpu capacity = inputs.cluster.gpu_capacity();
  if (capacity == MilliGpu{0} || workload.gpu_demand() == MilliGpu{0}) return;
  const std::string& file = inputs.tasks_files[list];
  if (!is_churn(options)) {
    const std::int64_t submissions = simulate::expected_submissions(workload, capacity);
    if (submissions > simulate::kMostSubmissions) {
      mistakes.add(
          {file, 0, "number of tasks to reach 130 % of the GPUs", fmt::format("{}", submissions),
           fmt::format("at most {}: a list that asks for more GPU", simulate::kMostSubmissions)});
    }
    return;
  }
  if (!workload.has_timing() || is_replay(options)) return;
  for (const double load : options.numbers("load")) {
    const int percent = whole_percent(load).value_or(100);
    if (!simulate::ArrivalPlan{workload, capacity, percent}.is_too_long()) continue;
    mistakes.add({file, 0, fmt::format("length of the run at load {}", load),
                  "years, or millions of passes",
                  "run times closer to each other, or more GPU work in the list"});
  }
}

Diagnostics check_inputs(const OptionValues& options, const SimulationInputs& inputs) {
  Diagnostics mistakes;
  const std::string nodes = options.has("nodes") ? options.text("nodes") : "";
  if (inputs.cluster.gpu_count() == 0) {
    mistakes.add({nodes, 0, "number of GPUs", "0", "a cluster with at least one GPU"});
  }
  for (std::size_t i = 0; i < inputs.workloads.size(); ++i) {
    const Workload& workload = inputs.workloads[i];
    if (workload.gpu_demand().value == 0) {
      mistakes.add(
          {inputs.tasks_files[i], 0, "GPU demand", "0", "at least one task that uses a GPU"});
    }
    check_length(options, inputs, i, mistakes);
    if (is_churn(options) && !workload.has_timing()) {
      mistakes.add({inputs.tasks_files[i],
                    0,
                    "the time of a task",
                    {},
                    "creation and deletion times for every task, which churn and replay need"});
    }
  }
  return mistakes;
}

// Not a mistake, but nobody should wonder why nothing is allocated.
void tell_of_hopeless_jobs(const SimulationInputs& inputs, Console& console) {
  const auto layout = schedule::make_layout(inputs.cluster, schedule::listed_order(inputs.cluster));
  for (std::size_t i = 0; i < inputs.workloads.size(); ++i) {
    const std::vector<WorkloadJob>& jobs = inputs.workloads[i].jobs;
    const auto hopeless = std::count_if(jobs.begin(), jobs.end(), [&](const WorkloadJob& job) {
      return layout.room_when_empty(job.spec.shape, job.spec.replicas) < job.spec.replicas;
    });
    if (hopeless == 0) continue;
    console.err << fmt::format(
        "note: {}: {} of {} jobs do not fit this cluster, even when it is empty\n",
        inputs.tasks_files[i], hopeless, jobs.size());
  }
}

simulate::SweepConfig placement_sweep(const OptionValues& options) {
  simulate::SweepConfig config;
  config.policies = chosen_placement_policies(options);
  for (const std::int64_t seed : options.integers("seeds")) {
    config.seeds.push_back(static_cast<std::uint64_t>(seed));
  }
  config.threads = static_cast<unsigned>(options.integer("threads"));
  const std::string& order = options.text("node-order");
  config.node_order = order == "as-listed"     ? simulate::NodeOrder::as_listed
                      : order == "cpu-per-gpu" ? simulate::NodeOrder::cpu_per_gpu
                                               : simulate::NodeOrder::permuted;
  config.expectation = options.text("workload") == "learned" ? simulate::Expectation::learned
                                                             : simulate::Expectation::oracle;
  config.timing = options.flag("timing");
  config.bound = options.flag("bound");
  return config;
}

simulate::ChurnSweepConfig churn_config(const OptionValues& options) {
  simulate::ChurnSweepConfig config;
  config.runs = placement_sweep(options);
  config.load_percents.clear();
  if (is_replay(options)) config.load_percents.push_back(0);
  for (const double load : options.numbers("load")) {
    if (is_replay(options)) break;
    config.load_percents.push_back(whole_percent(load).value_or(0));
  }
  config.queues.clear();
  for (const std::string& queue : options.texts("queue")) {
    config.queues.push_back(queue == "fifo" ? simulate::QueueOrder::fifo
                                            : simulate::QueueOrder::backfill);
  }
  return config;
}

// Sweeps return the runs of one list after the other; they do not know the file it came from.
template <class Outcome>
void name_files(std::vector<Outcome>& outcomes, const SimulationInputs& inputs) {
  const std::size_t per_list = outcomes.size() / std::max<std::size_t>(1, inputs.workloads.size());
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    outcomes[i].tasks_file = inputs.tasks_files[i / per_list];
  }
}

report::ReportHeader report_header(const OptionValues& options, const SimulationInputs& inputs) {
  report::ReportHeader header{options.recipe(), std::string{kVersion}, {}};
  const auto fact = [&](const char* name, auto value) {
    header.facts.emplace_back(name, fmt::format("{}", value));
  };
  fact("nodes", inputs.cluster.nodes.size());
  fact("GPUs", inputs.cluster.gpu_count());
  fact("task lists", inputs.workloads.size());
  fact("policies", chosen_placement_policies(options).size());
  fact("seeds", options.integers("seeds").size());
  return header;
}

std::vector<report::Table> tables_of(const std::vector<simulate::InflationOutcome>& outcomes) {
  return report::inflation_tables(report::by_list(report::summarise(outcomes)));
}

std::vector<report::Table> tables_of(const std::vector<simulate::ChurnOutcome>& outcomes) {
  return report::churn_tables(report::summarise(outcomes));
}

// Files first, then standard output: a reader that closes the pipe early does not cost the files.
template <class Outcome>
Result<void> publish(const OptionValues& options, const SimulationInputs& inputs,
                     const std::vector<Outcome>& outcomes, Console& console) {
  std::string text;
  if (options.flag("json")) {
    auto json = report::outcome_json(outcomes);
    if (!json) return tl::unexpected(std::move(json.error()));
    text = std::move(*json);
  } else {
    for (const report::Table& table : tables_of(outcomes)) text += report::to_text(table) + "\n";
    if (!is_churn(options)) text += std::string{report::inflation_legend()} + "\n";
    text += options.recipe() + "\n";
  }
  std::vector<OutputFile> files;
  if (options.has("csv")) files.push_back({options.text("csv"), report::outcome_csv(outcomes)});
  if (options.has("report")) {
    files.push_back(
        {options.text("report"), report::html_report(report_header(options, inputs), outcomes)});
  }
  if (auto written = write_files(files); !written) return written;
  console.out << text;
  for (const OutputFile& file : files) console.err << "wrote " << file.path.string() << "\n";
  return {};
}

}  // namespace

Result<void> simulate_command(const OptionValues& options, Console& console) {
  if (options.has("compare")) return compare_command(options, console);
  if (asks_for_training(options)) return train_simulation_command(options, console);
  if (auto mistakes = check_simulate_options(options); !mistakes.empty())
    return bad_input(std::move(mistakes));
  const auto inputs =
      options.has("from") ? observed_inputs(options, console) : read_inputs(options);
  if (!inputs) return tl::unexpected(inputs.error());
  if (auto mistakes = check_inputs(options, *inputs); !mistakes.empty()) {
    return bad_input(std::move(mistakes));
  }
  tell_of_hopeless_jobs(*inputs, console);
  const auto sweep = [&](auto run) {
    ProgressDisplay progress{console.err, console.err_is_terminal};
    auto outcomes = run(progress);
    name_files(outcomes, *inputs);
    return outcomes;
  };
  if (is_churn(options)) {
    return publish(options, *inputs, sweep([&](ProgressSink& progress) {
                     return simulate::sweep_churn(inputs->cluster, inputs->workloads,
                                                  churn_config(options), progress);
                   }),
                   console);
  }
  return publish(options, *inputs, sweep([&](ProgressSink& progress) {
                   return simulate::sweep_inflation(inputs->cluster, inputs->workloads,
                                                    placement_sweep(options), progress);
                 }),
                 console);
}

}  // namespace weir::cli
