// SPDX-License-Identifier: Apache-2.0
#include "cli/published_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <ostream>

#include "cli/output_files.h"
#include "cli/progress_display.h"
#include "cli/training_setup.h"
#include "formats/quantity_text.h"
#include "formats/throughput_table.h"
#include "report/published_summary.h"
#include "report/text_table.h"
#include "simulate/parallel_for.h"
#include "simulate/published/published_run.h"

namespace weir::cli {
namespace {

using simulate::published::published_policies;
using simulate::published::PublishedOutcome;
using simulate::published::PublishedSetup;

constexpr Duration kPublishedSlot = from_seconds(60);

std::vector<std::string> known_policies() {
  std::vector<std::string> names;
  for (const auto& row : published_policies()) names.emplace_back(row.name);
  return names;
}

std::vector<std::string> chosen_published_policies(const OptionValues& options) {
  const std::vector<std::string> known = known_policies();
  if (!options.is_given("policy")) return known;
  const std::vector<std::string>& chosen = options.texts("policy");
  return std::find(chosen.begin(), chosen.end(), "all") == chosen.end() ? chosen : known;
}

Duration chosen_slot(const OptionValues& options) {
  if (!options.is_given("slot")) return kPublishedSlot;
  return formats::parse_duration(options.text("slot")).value_or(Duration{0});
}

Diagnostics check_published_options(const OptionValues& options) {
  Diagnostics mistakes;
  const auto must = [&](const char* option, std::string found, std::string what) {
    mistakes.add({{}, 0, fmt::format("--{}", option), std::move(found), std::move(what)});
  };
  if (!options.has("jobs"))
    must("jobs", {}, "the trace to play, a CSV file with a duration column");
  if (!options.has("cluster")) must("cluster", {}, "the published cluster, such as 16x4xT4");
  if (!options.has("curves")) must("curves", {}, "the published throughput tables, a folder");
  for (const char* option : {"nodes",          "tasks",       "protocol",    "load",
                             "queue",          "node-order",  "workload",    "bound",
                             "from-log",       "log",         "report",      "gate",
                             "counter-offers", "provisional", "job-speed",   "speed-seed",
                             "ablate",         "round",       "seeds",       "tenants",
                             "reserve",        "node-mtbf",   "node-repair", "checkpoint-every",
                             "failure-seed",   "supply",      "supply-from", "budget",
                             "energy-price",   "when-spent",  "power-cap",   "forecast",
                             "tenant-budgets", "fabric",      "placement",   "traffic"}) {
    if (options.is_given(option))
      must(option, {}, "to be left out with --as-published, which has rules of its own");
  }
  const std::vector<std::string> known = known_policies();
  for (const std::string& policy : chosen_published_policies(options)) {
    if (std::find(known.begin(), known.end(), policy) == known.end())
      must("policy", policy, fmt::format("with --as-published some of {}", fmt::join(known, ", ")));
  }
  const Duration slot = chosen_slot(options);
  if (slot < from_seconds(1) || slot % from_seconds(1) != Duration{0})
    must("slot", options.text("slot"), "whole seconds, as in 60s or 240s");
  if (options.has("csv"))
    check_output("--csv", options.text("csv"), training_input_paths(options), mistakes);
  return mistakes;
}

// The public simulator knows like nodes of one kind of GPU, T4 or A100.
Result<PublishedSetup> published_setup(const OptionValues& options, const Cluster& cluster) {
  PublishedSetup setup;
  const Node& first = cluster.nodes.front();
  const bool is_alike =
      std::all_of(cluster.nodes.begin(), cluster.nodes.end(), [&](const Node& node) {
        return node.gpu_count == first.gpu_count && node.model == first.model;
      });
  const std::string_view model = cluster.models.name(first.model);
  if (!is_alike || (model != "T4" && model != "A100")) {
    return bad_input(Diagnostic{{},
                                0,
                                "--cluster",
                                options.text("cluster"),
                                "like nodes of T4 or A100, which are what was published: 16x4xT4"});
  }
  setup.nodes = static_cast<std::int32_t>(cluster.nodes.size());
  setup.gpus_per_node = first.gpu_count;
  setup.slot = chosen_slot(options) / from_seconds(1);
  setup.is_t4 = model == "T4";
  return setup;
}

bool has_duration(const TrainingArrival& job) {
  return job.stated_duration >= from_seconds(1);
}

// What the public simulator needs of a trace and others do not.
Diagnostics check_traces(const TrainingSetup& inputs, const PublishedSetup& setup) {
  Diagnostics mistakes;
  for (std::size_t i = 0; i < inputs.workloads.size(); ++i) {
    const std::vector<TrainingArrival>& jobs = inputs.workloads[i].jobs;
    if (std::none_of(jobs.begin(), jobs.end(), has_duration)) {
      mistakes.add({inputs.jobs_files[i],
                    0,
                    "duration",
                    {},
                    "for each job, its seconds on the GPUs asked for: published traces have them"});
      continue;
    }
    for (const TrainingArrival& job : jobs) {
      const auto must = [&](const char* field, std::string found, const char* what) {
        mistakes.add({inputs.jobs_files[i], 0, fmt::format("{} of job {}", field, job.spec.name),
                      std::move(found), what});
      };
      if (job.spec.deadline_kind == DeadlineKind::none) must("deadline", {}, "a deadline");
      if (!has_duration(job)) must("duration", {}, "seconds on the GPUs asked for");
      if (job.spec.asked_gpus > setup.gpus())
        must("num_gpu", fmt::format("{}", job.spec.asked_gpus),
             "no more GPUs than the cluster has");
      if (!simulate::published::is_published_size(job.spec.asked_gpus))
        must("num_gpu", fmt::format("{}", job.spec.asked_gpus), "1, 2, 4, 8, 16, 32 or 64");
    }
  }
  return mistakes;
}

std::vector<report::PublishedSummary> simulate_all(const OptionValues& options,
                                                   const TrainingSetup& inputs,
                                                   const formats::ExactRates& rates,
                                                   const PublishedSetup& setup, Console& console) {
  const std::vector<std::string> policies = chosen_published_policies(options);
  std::vector<report::PublishedSummary> runs(inputs.workloads.size() * policies.size());
  ProgressDisplay progress{console.err, console.err_is_terminal};
  std::atomic<std::uint64_t> done{0};
  simulate::parallel_for(runs.size(), static_cast<unsigned>(options.integer("threads")),
                         [&](std::size_t i) {
                           const TrainingWorkload& workload = inputs.workloads[i / policies.size()];
                           const std::string& policy = policies[i % policies.size()];
                           runs[i] = {workload.name, inputs.jobs_files[i / policies.size()],
                                      run_as_published(policy, workload, rates, setup)};
                           progress.advance("simulating", ++done, runs.size());
                         });
  return runs;
}

}  // namespace

std::vector<OptionSpec> published_options() {
  return {{.name = "as-published",
           .type = OptionType::flag,
           .help = "With --jobs: play the published ElasticFlow comparison under the accounting of "
                   "its public simulator, quirks and all, instead of ours. --slot is 60s unless "
                   "given; the published testbed has 240s."}};
}

Result<void> published_command(const OptionValues& options, Console& console) {
  if (auto mistakes = check_published_options(options); !mistakes.empty())
    return bad_input(std::move(mistakes));
  const auto inputs = read_training_setup(options);
  if (!inputs) return tl::unexpected(inputs.error());
  const auto rates = formats::read_exact_rates(options.text("curves"));
  if (!rates) return tl::unexpected(rates.error());
  const auto setup = published_setup(options, inputs->cluster);
  if (!setup) return tl::unexpected(setup.error());
  if (auto mistakes = check_traces(*inputs, *setup); !mistakes.empty())
    return bad_input(std::move(mistakes));
  const auto runs = simulate_all(options, *inputs, *rates, *setup, console);
  std::vector<OutputFile> files;
  if (options.has("csv")) files.push_back({options.text("csv"), report::published_csv(runs)});
  std::string text;
  if (options.flag("json")) {
    auto json = report::published_json(runs);
    if (!json) return tl::unexpected(std::move(json.error()));
    text = std::move(*json);
  } else {
    for (const report::Table& table : report::published_tables(runs))
      text += report::to_text(table) + "\n";
    text += options.recipe() + "\n";
  }
  if (auto written = write_files(files); !written) return written;
  console.out << text;
  for (const OutputFile& file : files) console.err << "wrote " << file.path.string() << "\n";
  return {};
}

}  // namespace weir::cli
