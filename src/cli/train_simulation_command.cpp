// SPDX-License-Identifier: Apache-2.0
#include "cli/train_simulation_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <ostream>
#include <set>
#include <utility>

#include "cli/curve_planner.h"
#include "cli/energy_options.h"
#include "cli/network_options.h"
#include "cli/output_files.h"
#include "cli/progress_display.h"
#include "cli/published_command.h"
#include "cli/run_logs.h"
#include "cli/training_options.h"
#include "cli/training_setup.h"
#include "cli/version.h"
#include "formats/reserve_text.h"
#include "formats/tenants_yaml.h"
#include "report/network_times.h"
#include "report/text_table.h"
#include "report/training_output.h"
#include "report/training_report.h"
#include "report/training_summary.h"
#include "simulate/allocation_history.h"
#include "simulate/training_sweep.h"

namespace weir::cli {
namespace {

constexpr std::array kOnlyWithJobs = {"from-log",
                                      "jobs",
                                      "cluster",
                                      "curves",
                                      "slot",
                                      "round",
                                      "gate",
                                      "counter-offers",
                                      "provisional",
                                      "ablate",
                                      "job-speed",
                                      "speed-seed",
                                      "log",
                                      "tenants",
                                      "as-published",
                                      "reserve",
                                      "node-mtbf",
                                      "node-repair",
                                      "checkpoint-every",
                                      "failure-seed",
                                      "supply",
                                      "supply-from",
                                      "budget",
                                      "forecast",
                                      "tenant-budgets",
                                      "energy-price",
                                      "when-spent",
                                      "power-cap",
                                      "fabric",
                                      "placement",
                                      "traffic"};
constexpr std::array kOnlyWithTasks = {"nodes", "tasks",      "protocol", "load",
                                       "queue", "node-order", "workload", "bound"};

// The default of --policy is for tasks.
std::vector<std::string> chosen_training_policies(const OptionValues& options) {
  return options.is_given("policy") ? given_training_policies(options)
                                    : std::vector<std::string>{"weir"};
}

void check_training_outputs(const OptionValues& options, Diagnostics& mistakes) {
  auto inputs = training_input_paths(options);
  if (options.has("traffic")) inputs.emplace_back(options.text("traffic"));
  if (options.has("fabric"))
    inputs.insert(inputs.end(), options.texts("fabric").begin(), options.texts("fabric").end());
  check_outputs(options, {"csv", "report", "log"}, inputs, mistakes);
}

// Only weir gives tenants their shares.
void check_tenants(const OptionValues& options, const std::vector<std::string>& policies,
                   Diagnostics& mistakes) {
  if (!options.has("tenants") || policies == std::vector<std::string>{"weir"}) return;
  mistakes.add({{},
                0,
                "--policy (beside --tenants)",
                fmt::format("{}", fmt::join(policies, ",")),
                "weir alone: the others give tenants no shares"});
}

Diagnostics check_training_options(const OptionValues& options) {
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
  if (options.has("from-log")) {
    for (const char* option : {"jobs", "cluster", "curves"}) {
      if (options.is_given(option))
        mistakes.add({{}, 0, fmt::format("--{}", option), {}, "to be left out with --from-log"});
    }
  } else {
    needs("jobs", "the training jobs to play, a CSV trace or a YAML file");
    needs("cluster", "the cluster for --jobs: 16x4xT4, or a cluster file");
    check_need_of_curves(options, mistakes);
  }
  check_training_rules(options, mistakes);
  check_training_policies(options, mistakes);
  check_seeds(options, mistakes);
  check_tenants(options, chosen_training_policies(options), mistakes);
  check_parts_of_weir(options, chosen_training_policies(options), mistakes);
  check_energy(options, mistakes);
  check_network(options, mistakes);
  check_training_outputs(options, mistakes);
  return mistakes;
}

simulate::TrainingSweepConfig training_sweep(const OptionValues& options) {
  simulate::TrainingSweepConfig config;
  config.policies = chosen_training_policies(options);
  config.seeds = given_training_seeds(options);
  config.training = training_rules(options);
  config.speeds = job_speeds(options);
  config.failures = node_failures(options);
  config.checkpoint_every = checkpoint_interval(options);
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
    runs[i].jobs_file = setup.jobs_files[simulate::place_of(config, i).workload];
  return runs;
}

// How well the simulator foretells what really happened, where it plays the same policy.
std::string truth_text(const TrainingSetup& setup,
                       const std::vector<simulate::TrainingSweepRun>& runs) {
  std::string text;
  if (!setup.history) return text;
  for (const simulate::TrainingSweepRun& run : runs) {
    if (run.outcome.policy != setup.history->header.policy) continue;
    std::vector<std::optional<Time>> played;
    for (const auto& job : run.outcome.by_job) played.push_back(job.finished);
    const auto foretold = simulate::compare_finishes(*setup.history, played);
    text += fmt::format(
        "live: the log's own policy is {}; finish times of {} jobs are foretold within {:.1f} % "
        "(mean), {:.1f} % (worst), of the time from submission to finish; a start took {:.3f} s "
        "(mean of {})\n",
        run.outcome.policy, foretold.jobs, foretold.mean_error * 100, foretold.worst_error * 100,
        to_seconds(setup.history->measured_cost.base), setup.history->starts);
  }
  return text;
}

std::vector<std::string> all_planned_models(const TrainingSetup& setup) {
  std::set<std::string> models;
  for (const TrainingWorkload& workload : setup.workloads) {
    const auto planned = planned_models(setup.curves, workload);
    models.insert(planned.begin(), planned.end());
  }
  return {models.begin(), models.end()};
}

report::ReportHeader report_header(const OptionValues& options, const TrainingSetup& setup) {
  report::ReportHeader header{training_recipe(options), std::string{kVersion}, {}};
  const auto fact = [&](const char* name, auto value) {
    header.facts.emplace_back(name, fmt::format("{}", value));
  };
  fact("cluster", setup.cluster.name);
  fact("GPUs", setup.cluster.gpu_count());
  fact("traces", setup.workloads.size());
  fact("policies", chosen_training_policies(options).size());
  fact("slot", options.text("slot"));
  if (const auto planned = all_planned_models(setup); !planned.empty())
    fact("planned, not measured", fmt::format("{}", fmt::join(planned, ", ")));
  return header;
}

// What is to be written beside the result of a run, gathered while it runs.
struct Recordings {
  std::optional<RunLogs> logs;
  std::optional<simulate::AllocationRecorder> first_run;  // which the report shows

  void listen_to(simulate::TrainingSweepConfig& config) {
    if (!logs && !first_run) return;
    config.observer = [this](std::size_t run) -> std::function<void(const Record&)> {
      if (!logs && run != 0) return {};
      return [this, run](const Record& record) {
        if (logs) logs->write(run, record);
        if (first_run && run == 0) first_run->hear(record);
      };
    };
  }
};

std::string report_of(const OptionValues& options, const TrainingSetup& setup,
                      const std::vector<simulate::TrainingSweepRun>& runs, Recordings& recordings) {
  const report::ShownRun shown{0, recordings.first_run->take(), formats::log_pools(setup.cluster)};
  return report::training_report(report_header(options, setup), runs, shown);
}

Result<std::string> text_of(const OptionValues& options, const TrainingSetup& setup,
                            const std::vector<report::TrainingSummary>& summaries,
                            const EnergyInput& energy) {
  if (options.flag("json")) return report::training_json(summaries);
  std::string text;
  for (const report::Table& table : report::training_tables(summaries))
    text += report::to_text(table) + "\n";
  const auto tenants = report::tenant_tables(summaries);
  for (const report::Table& table : tenants) text += report::to_text(table) + "\n";
  for (const report::Table& table : report::tenant_energy_tables(summaries, energy.unit))
    text += report::to_text(table) + "\n";
  for (const report::Table& table : report::energy_tables(summaries, energy.unit))
    text += report::to_text(table) + "\n";
  const auto networks = report::network_tables(summaries);
  for (const report::Table& table : networks) text += report::to_text(table) + "\n";
  text += report::training_legend();
  if (!networks.empty()) text += report::network_legend();
  if (!energy.by_workload.empty()) text += report::energy_legend();
  for (const std::string& note : energy.notes) text += fmt::format("Note: {}.\n", note);
  text += note_on_planned(all_planned_models(setup));
  if (!tenants.empty()) text += report::tenant_legend();
  return text + "\n" + training_recipe(options) + "\n";
}

// Files first, then standard output: a reader that closes the pipe early does not cost the files.
Result<void> publish(const OptionValues& options, const TrainingSetup& setup,
                     const simulate::TrainingSweepConfig& config,
                     const std::vector<simulate::TrainingSweepRun>& runs, const EnergyInput& energy,
                     Recordings& recordings, Console& console) {
  std::vector<report::TrainingSummary> summaries = report::summarise(runs);
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    summaries[i].planned_models =
        planned_models(setup.curves, setup.workloads[simulate::place_of(config, i).workload]);
  }
  const auto text = text_of(options, setup, summaries, energy);
  if (!text) return tl::unexpected(text.error());
  std::vector<OutputFile> files;
  if (options.has("csv")) files.push_back({options.text("csv"), report::training_csv(summaries)});
  if (options.has("report"))
    files.push_back({options.text("report"), report_of(options, setup, runs, recordings)});
  if (recordings.logs) {
    for (OutputFile& log : recordings.logs->take_files()) files.push_back(std::move(log));
  }
  if (auto written = write_files(files); !written) return written;
  console.out << *text;
  if (!options.flag("json")) console.out << truth_text(setup, runs);
  for (const std::string& note : setup.notes) console.err << "note: " << note << "\n";
  for (const OutputFile& file : files) console.err << "wrote " << file.path.string() << "\n";
  return {};
}

}  // namespace

bool asks_for_training(const OptionValues& options) {
  return std::any_of(kOnlyWithJobs.begin(), kOnlyWithJobs.end(),
                     [&](const char* option) { return options.is_given(option); });
}

Result<void> train_simulation_command(const OptionValues& options, Console& console) {
  if (options.flag("as-published")) return published_command(options, console);
  if (auto mistakes = check_training_options(options); !mistakes.empty())
    return bad_input(std::move(mistakes));
  const auto setup = read_training_setup(options);
  if (!setup) return tl::unexpected(setup.error());
  simulate::TrainingSweepConfig config = training_sweep(options);
  if (setup->history) {
    if (!options.is_given("job-speed")) config.speeds.by_row = setup->history->speeds;
    config.tenants = setup->history->tenants;
    config.planned_cost = setup->history->planned_cost;
    config.real_cost = setup->history->measured_cost;
    if (!options.is_given("slot")) config.training.slot = setup->history->header.slot;
    if (!options.is_given("reserve")) {
      config.training.reserve =
          formats::parse_reserve(setup->history->header.reserve).value_or(Reserve{});
    }
    if (!options.is_given("policy")) config.policies = {setup->history->header.policy};
  }
  if (options.has("tenants")) {
    Diagnostics mistakes;
    check_tenants(options, config.policies, mistakes);
    if (!mistakes.empty()) return bad_input(std::move(mistakes));
    auto tenants = formats::read_tenants_yaml(options.text("tenants"), setup->cluster);
    if (!tenants) return tl::unexpected(std::move(tenants.error()));
    config.tenants = std::move(*tenants);
  }
  const auto energy = read_energy(options, setup->curves, setup->workloads);
  if (!energy) return tl::unexpected(energy.error());
  config.energy = energy->by_workload;
  auto networks = read_networks(options, *setup);
  if (!networks) return tl::unexpected(std::move(networks.error()));
  config.networks = std::move(*networks);
  Recordings recordings;
  if (options.has("log"))
    recordings.logs.emplace(*setup, config, options.text("log"),
                            setup->history          ? setup->history->header.curves
                            : options.has("curves") ? options.text("curves")
                                                    : "");
  if (options.has("report")) recordings.first_run.emplace();
  recordings.listen_to(config);
  const auto runs = sweep(*setup, config, console);
  return publish(options, *setup, config, runs, *energy, recordings, console);
}

}  // namespace weir::cli
