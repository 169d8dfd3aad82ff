// SPDX-License-Identifier: Apache-2.0
#include "cli/train_simulation_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <ostream>
#include <utility>

#include "cli/output_files.h"
#include "cli/progress_display.h"
#include "cli/run_logs.h"
#include "cli/training_setup.h"
#include "domain/nearest_name.h"
#include "formats/quantity_text.h"
#include "report/text_table.h"
#include "report/training_output.h"
#include "report/training_summary.h"
#include "schedule/policies/training_policies.h"
#include "simulate/training_sweep.h"

namespace weir::cli {
namespace {

constexpr std::array kOnlyWithJobs = {"jobs", "cluster",        "curves", "slot",
                                      "gate", "counter-offers", "log"};
constexpr std::array kOnlyWithTasks = {"nodes", "tasks",      "seeds",    "protocol", "load",
                                       "queue", "node-order", "workload", "bound"};

bool is_on(const OptionValues& options, const char* option) {
  return options.text(option) == "on";
}

// The default of --policy is for tasks.
std::vector<std::string> chosen_policies(const OptionValues& options) {
  if (!options.is_given("policy")) return {"weir"};
  const std::vector<std::string>& chosen = options.texts("policy");
  if (std::find(chosen.begin(), chosen.end(), "all") == chosen.end()) return chosen;
  std::vector<std::string> all;
  for (const auto& row : schedule::training_policies()) all.emplace_back(row.name);
  return all;
}

// The recipe leaves out what is the default, but `all` is not the default here.
std::string recipe_of(const OptionValues& options) {
  const bool is_left_out =
      options.is_given("policy") && options.texts("policy") == std::vector<std::string>{"all"};
  return options.recipe() + (is_left_out ? " --policy all" : "");
}

void check_policies(const OptionValues& options, Diagnostics& mistakes) {
  const std::vector<std::string> known = training_policy_names();
  if (!options.is_given("policy")) return;
  for (const std::string& policy : options.texts("policy")) {
    if (std::find(known.begin(), known.end(), policy) != known.end()) continue;
    mistakes.add({{},
                  0,
                  "--policy",
                  policy,
                  fmt::format("with --jobs some of {}{}", fmt::join(known, ", "),
                              did_you_mean(policy, known))});
  }
}

void check_outputs(const OptionValues& options, Diagnostics& mistakes) {
  const auto inputs = training_input_paths(options);
  std::vector<std::string> seen;
  for (const char* output : {"csv", "report", "log"}) {
    if (!options.has(output)) continue;
    const std::string& path = options.text(output);
    check_output(fmt::format("--{}", output), path, inputs, mistakes);
    if (std::find(seen.begin(), seen.end(), path) != seen.end())
      mistakes.add({{}, 0, fmt::format("--{}", output), path, "a file for each output"});
    seen.push_back(path);
  }
}

Diagnostics check_options(const OptionValues& options) {
  Diagnostics mistakes;
  for (const char* option : kOnlyWithTasks) {
    if (!options.is_given(option)) continue;
    mistakes.add({{},
                  0,
                  "option",
                  fmt::format("--{}", option),
                  "an option that goes with --jobs, not with --tasks"});
  }
  const auto needs = [&](const char* option, const char* what) {
    if (!options.has(option)) mistakes.add({{}, 0, fmt::format("--{}", option), {}, what});
  };
  needs("jobs", "the training jobs to play, a CSV trace or a YAML file");
  needs("cluster", "the cluster for --jobs: 16x4xT4, or a cluster file");
  needs("curves", "the throughput of the models in --jobs: a folder of tables or a JSON file");
  if (!formats::parse_duration(options.text("slot")))
    mistakes.add({{}, 0, "--slot", options.text("slot"), "a duration like 60s, or 0s for none"});
  check_policies(options, mistakes);
  check_outputs(options, mistakes);
  return mistakes;
}

simulate::TrainingSweepConfig sweep_config(const OptionValues& options) {
  simulate::TrainingSweepConfig config;
  config.policies = chosen_policies(options);
  config.training.slot = formats::parse_duration(options.text("slot")).value_or(Duration{0});
  config.training.has_gate = is_on(options, "gate");
  config.training.makes_counter_offers = is_on(options, "counter-offers");
  config.threads = static_cast<unsigned>(options.integer("threads"));
  config.timing = options.flag("timing");
  return config;
}

std::vector<simulate::TrainingSweepRun> sweep(const TrainingSetup& setup,
                                              const simulate::TrainingSweepConfig& config,
                                              Console& console) {
  ProgressDisplay progress{console.err, console.err_is_terminal};
  auto runs =
      simulate::sweep_training(setup.cluster, setup.workloads, setup.curves, config, progress);
  for (std::size_t i = 0; i < runs.size(); ++i)
    runs[i].jobs_file = setup.jobs_files[i / config.policies.size()];
  return runs;
}

// Files first, then standard output: a reader that closes the pipe early does not cost the files.
Result<void> publish(const OptionValues& options,
                     const std::vector<simulate::TrainingSweepRun>& runs,
                     std::vector<OutputFile> files, Console& console) {
  const std::vector<report::TrainingSummary> summaries = report::summarise(runs);
  std::string text;
  if (options.flag("json")) {
    auto json = report::training_json(summaries);
    if (!json) return tl::unexpected(std::move(json.error()));
    text = std::move(*json);
  } else {
    for (const report::Table& table : report::training_tables(summaries))
      text += report::to_text(table) + "\n";
    text += std::string{report::training_legend()} + "\n" + recipe_of(options) + "\n";
  }
  if (options.has("csv")) files.push_back({options.text("csv"), report::training_csv(summaries)});
  if (auto written = write_files(files); !written) return written;
  console.out << text;
  for (const OutputFile& file : files) console.err << "wrote " << file.path.string() << "\n";
  return {};
}

}  // namespace

bool asks_for_training(const OptionValues& options) {
  return std::any_of(kOnlyWithJobs.begin(), kOnlyWithJobs.end(),
                     [&](const char* option) { return options.is_given(option); });
}

std::vector<std::string> training_policy_names() {
  std::vector<std::string> names;
  for (const auto& row : schedule::training_policies()) names.emplace_back(row.name);
  names.emplace_back("all");
  return names;
}

Result<void> train_simulation_command(const OptionValues& options, Console& console) {
  if (auto mistakes = check_options(options); !mistakes.empty())
    return bad_input(std::move(mistakes));
  const auto setup = read_training_setup(options);
  if (!setup) return tl::unexpected(setup.error());
  simulate::TrainingSweepConfig config = sweep_config(options);
  std::optional<RunLogs> logs;
  if (options.has("log")) {
    logs.emplace(*setup, config, options.text("log"), options.text("curves"));
    config.observer = [&logs](std::size_t run) {
      return [&logs, run](const Record& record) { logs->write(run, record); };
    };
  }
  const auto runs = sweep(*setup, config, console);
  return publish(options, runs, logs ? logs->take_files() : std::vector<OutputFile>{}, console);
}

}  // namespace weir::cli
