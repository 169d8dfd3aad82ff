// SPDX-License-Identifier: Apache-2.0
#include "cli/compare_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/curve_planner.h"
#include "cli/gpu_file.h"
#include "cli/output_files.h"
#include "cli/progress_display.h"
#include "cli/training_options.h"
#include "cli/training_setup.h"
#include "cli/version.h"
#include "formats/comparison_yaml.h"
#include "formats/models_of_jobs.h"
#include "report/comparison.h"
#include "report/comparison_report.h"
#include "report/text_table.h"
#include "report/training_output.h"
#include "simulate/allocation_history.h"
#include "simulate/comparison.h"

namespace weir::cli {
namespace {

namespace fs = std::filesystem;
using simulate::TraceToCompare;
using simulate::TrainingSweepConfig;

constexpr std::array kInTheFile = {"jobs", "cluster", "curves"};
constexpr std::array kNotHere = {"from-log", "log",   "tenants",    "nodes",    "tasks", "protocol",
                                 "load",     "queue", "node-order", "workload", "bound"};

std::vector<std::string> compared_policies(const OptionValues& options,
                                           const formats::Comparison& comparison) {
  if (options.is_given("policy")) return given_training_policies(options);
  return comparison.policies.empty() ? training_policy_names() : comparison.policies;
}

Diagnostics check_compare_options(const OptionValues& options) {
  Diagnostics mistakes;
  for (const char* option : kInTheFile) {
    if (!options.is_given(option)) continue;
    mistakes.add({{}, 0, fmt::format("--{}", option), {}, "to stand in the file of --compare"});
  }
  for (const char* option : kNotHere) {
    if (!options.is_given(option)) continue;
    mistakes.add(
        {{}, 0, "option", fmt::format("--{}", option), "an option that goes with --compare"});
  }
  check_training_rules(options, mistakes);
  check_training_policies(options, mistakes);
  check_seeds(options, mistakes);
  return mistakes;
}

// Every file that is read: none of them is to be written.
std::vector<fs::path> compared_paths(const OptionValues& options,
                                     const formats::Comparison& comparison) {
  std::vector<fs::path> paths = {options.text("compare")};
  if (options.has("gpu-file")) paths.emplace_back(options.text("gpu-file"));
  paths.push_back(comparison.gpu_file);
  for (const formats::ComparedTrace& trace : comparison.traces)
    paths.insert(paths.end(), {trace.jobs, trace.curves, fs::path{trace.cluster}});
  std::erase(paths, fs::path{});
  return paths;
}

Diagnostics check_with_file(const OptionValues& options, const formats::Comparison& comparison) {
  Diagnostics mistakes;
  check_parts_of_weir(options, compared_policies(options, comparison), mistakes);
  const auto inputs = compared_paths(options, comparison);
  check_outputs(options, {"csv", "report"}, inputs, mistakes);
  return mistakes;
}

// What could not be read, in a line of the comparison where it names no file itself; and the files
// of the trace that are not there, which nobody has come to.
Error with_absent_files(const Error& error, const formats::ComparedTrace& trace,
                        const std::string& comparison_file) {
  Error all{error.code, {}};
  std::set<std::string> named;
  for (Diagnostic mistake : error.details.list()) {
    named.insert(mistake.file);
    if (mistake.file.empty()) {
      mistake.file = comparison_file;
      mistake.line = trace.line;
    }
    all.details.add(std::move(mistake));
  }
  for (const std::filesystem::path& path : {trace.curves, trace.jobs}) {
    std::error_code ignored;
    if (path.empty() || std::filesystem::exists(path, ignored) || named.contains(path.string()))
      continue;
    all.details.add({path.string(), 0, "file", {}, "the path of an existing file or folder"});
  }
  return all;
}

// A trace without curves has models to plan.
Result<void> check_models(const formats::ComparedTrace& trace) {
  if (!trace.curves.empty()) return {};
  const auto models = formats::models_of_jobs(trace.jobs);
  if (!models) return tl::unexpected(models.error());
  if (*models == formats::ModelsOfJobs::planned) return {};
  return bad_input(Diagnostic{
      {}, 0, "curves", {}, "the path of a folder of throughput tables, or of a JSON file"});
}

Result<TraceToCompare> read_trace(const formats::ComparedTrace& trace, const OptionValues& options,
                                  Duration slot, const predict::GpuCatalogue& gpus,
                                  std::set<std::string>& notes) {
  if (auto checked = check_models(trace); !checked) return tl::unexpected(checked.error());
  auto cluster = read_training_cluster(trace.cluster);
  if (!cluster) return tl::unexpected(std::move(cluster.error()));
  auto curves = read_pool_curves(trace.curves.string(), *cluster);
  if (!curves) return tl::unexpected(std::move(curves.error()));
  const std::vector<CurveBook> tables = *curves;
  auto workload =
      read_training_jobs(trace.jobs.string(), tables, plan_into(*cluster, *curves, gpus, notes));
  if (!workload) return tl::unexpected(std::move(workload.error()));
  return TraceToCompare{std::move(*cluster), std::move(*curves), std::move(*workload),
                        trace.jobs.string(),
                        options.is_given("slot") ? slot : trace.slot.value_or(slot)};
}

// The command line wins.
Result<GpuFile> read_compared_gpus(const OptionValues& options,
                                   const formats::Comparison& comparison) {
  if (options.has("gpu-file") || comparison.gpu_file.empty()) return read_gpu_file(options);
  return read_gpu_file(comparison.gpu_file);
}

// The mistakes of all files, not only of the first. The kind of error is that of the first.
Result<std::vector<TraceToCompare>> read_traces(const OptionValues& options,
                                                const formats::Comparison& comparison,
                                                Duration slot, std::set<std::string>& notes) {
  const auto gpus = read_compared_gpus(options, comparison);
  if (!gpus) return tl::unexpected(gpus.error());
  std::vector<TraceToCompare> traces;
  Error error;
  for (const formats::ComparedTrace& named : comparison.traces) {
    auto trace = read_trace(named, options, slot, gpus->catalogue, notes);
    if (trace) {
      traces.push_back(std::move(*trace));
      continue;
    }
    if (error.details.empty()) error.code = trace.error().code;
    error.details.append(with_absent_files(trace.error(), named, options.text("compare")).details);
  }
  if (!error.details.empty()) return tl::unexpected(std::move(error));
  return traces;
}

TrainingSweepConfig compared_sweep(const OptionValues& options,
                                   const formats::Comparison& comparison) {
  TrainingSweepConfig config;
  config.policies = compared_policies(options, comparison);
  config.seeds = options.is_given("seeds") ? given_training_seeds(options) : comparison.seeds;
  config.training = training_rules(options);
  config.speeds = job_speeds(options);
  config.failures = node_failures(options);
  config.checkpoint_every = checkpoint_interval(options);
  config.threads = static_cast<unsigned>(options.integer("threads"));
  config.timing = options.flag("timing");
  return config;
}

std::vector<report::ComparedRun> play(const std::vector<TraceToCompare>& traces,
                                      const TrainingSweepConfig& config, report::Detail detail,
                                      Console& console) {
  std::vector<report::ComparedRun> runs(simulate::count_runs(traces, config));
  ProgressDisplay progress{console.err, console.err_is_terminal};
  simulate::compare(
      traces, config, progress, [&](std::size_t run, const simulate::TrainingSweepRun& outcome) {
        const std::size_t trace = simulate::place_of(config, run).workload;
        runs[run] = report::compared_run(trace, outcome, traces[trace].workload, detail);
        runs[run].summary.cluster = traces[trace].cluster.name;
        runs[run].summary.planned_models =
            planned_models(traces[trace].curves, traces[trace].workload);
      });
  return runs;
}

// Played once more: which policy is the best other one is known only now.
report::NamedRun play_for_chart(const std::vector<TraceToCompare>& traces,
                                const TrainingSweepConfig& config, std::size_t run) {
  const simulate::SweepPlace place = simulate::place_of(config, run);
  const TraceToCompare& trace = traces[place.workload];
  simulate::AllocationRecorder recorder;
  simulate::TrainingRunConfig chosen = simulate::run_config(traces, config, run);
  chosen.on_record = [&](const Record& record) { recorder.hear(record); };
  simulate::run_training(trace.cluster, trace.workload, trace.curves, chosen);
  return {fmt::format("{}, {}", chosen.policy, trace.workload.name),
          trace.cluster.gpu_count(),
          {run, recorder.take(), formats::log_pools(trace.cluster)}};
}

// The first trace, under weir and under the best of the others.
std::vector<report::NamedRun> charts(const std::vector<TraceToCompare>& traces,
                                     const TrainingSweepConfig& config,
                                     const std::vector<report::ComparedRun>& runs) {
  const report::TraceVerdict first = report::trace_verdicts(runs).front();
  std::vector<report::NamedRun> shown;
  for (const auto& policy : {first.weir, first.best_other}) {
    if (!policy) continue;
    const auto run = static_cast<std::size_t>(policy->data() - runs.data());
    shown.push_back(play_for_chart(traces, config, run));
  }
  return shown;
}

std::vector<std::string> all_planned_models(const std::vector<report::ComparedRun>& runs) {
  std::set<std::string> models;
  for (const report::ComparedRun& run : runs)
    models.insert(run.summary.planned_models.begin(), run.summary.planned_models.end());
  return {models.begin(), models.end()};
}

std::string report_of(const OptionValues& options, const std::vector<TraceToCompare>& traces,
                      const TrainingSweepConfig& config,
                      const std::vector<report::ComparedRun>& runs) {
  report::ReportHeader header{training_recipe(options), std::string{kVersion}, {}};
  const auto fact = [&](const char* name, auto value) {
    header.facts.emplace_back(name, fmt::format("{}", value));
  };
  fact("traces", traces.size());
  fact("policies", config.policies.size());
  fact("seeds", std::max<std::size_t>(1, config.seeds.size()));
  fact("runs", runs.size());
  if (const auto planned = all_planned_models(runs); !planned.empty())
    fact("planned, not measured", fmt::format("{}", fmt::join(planned, ", ")));
  return report::comparison_report(header, runs, charts(traces, config, runs));
}

std::vector<report::TrainingSummary> summaries_of(const std::vector<report::ComparedRun>& runs) {
  std::vector<report::TrainingSummary> summaries;
  for (const report::ComparedRun& run : runs) summaries.push_back(run.summary);
  return summaries;
}

Result<std::string> text_of(const OptionValues& options,
                            const std::vector<report::ComparedRun>& runs) {
  const std::string recipe = training_recipe(options);
  if (options.flag("json")) return report::comparison_json(kVersion, recipe, summaries_of(runs));
  std::string text = report::to_text(report::comparison_table(runs)) + "\n";
  if (const auto table = report::rivalry_table(runs)) text += report::to_text(*table) + "\n";
  return text + std::string{report::comparison_legend()} +
         note_on_planned(all_planned_models(runs)) + "\n" + recipe + "\n";
}

}  // namespace

Result<void> compare_command(const OptionValues& options, Console& console) {
  if (auto mistakes = check_compare_options(options); !mistakes.empty())
    return bad_input(std::move(mistakes));
  const auto comparison =
      formats::read_comparison(fs::path{options.text("compare")}, training_policy_names());
  if (!comparison) return tl::unexpected(comparison.error());
  if (auto mistakes = check_with_file(options, *comparison); !mistakes.empty())
    return bad_input(std::move(mistakes));
  const TrainingSweepConfig config = compared_sweep(options, *comparison);
  std::set<std::string> notes;
  const auto traces = read_traces(options, *comparison, config.training.slot, notes);
  if (!traces) return tl::unexpected(traces.error());
  const bool has_report = options.has("report");
  const auto runs =
      play(*traces, config, has_report ? report::Detail::with_plots : report::Detail::figures_only,
           console);
  const auto text = text_of(options, runs);
  if (!text) return tl::unexpected(text.error());
  // Files first, then standard output: a reader that closes the pipe early does not cost the files.
  std::vector<OutputFile> files;
  if (options.has("csv"))
    files.push_back({options.text("csv"), report::training_csv(summaries_of(runs))});
  if (has_report)
    files.push_back({options.text("report"), report_of(options, *traces, config, runs)});
  if (auto written = write_files(files); !written) return written;
  console.out << *text;
  for (const std::string& note : notes) console.err << "note: " << note << "\n";
  for (const OutputFile& file : files) console.err << "wrote " << file.path.string() << "\n";
  return {};
}

}  // namespace weir::cli
