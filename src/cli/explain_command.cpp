// SPDX-License-Identifier: Apache-2.0
#include "cli/explain_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "cli/client_explain.h"
#include "cli/log_counterfactuals.h"
#include "cli/training_options.h"
#include "cli/training_setup.h"
#include "domain/nearest_name.h"
#include "formats/quantity_text.h"
#include "formats/record_log.h"
#include "formats/time_text.h"
#include "report/job_story.h"
#include "report/job_story_text.h"
#include "schedule/policies/training_policies.h"
#include "simulate/training_run.h"

namespace weir::cli {
namespace {

constexpr std::array kOfSimulation = {
    "cluster", "jobs",      "curves",         "gpu-file",         "policy",      "slot",
    "round",   "gate",      "counter-offers", "provisional",      "job-speed",   "speed-seed",
    "reserve", "node-mtbf", "node-repair",    "checkpoint-every", "failure-seed"};

// On the clock of the jobs: a date, or a duration since its zero.
std::optional<Time> parse_moment(const std::string& text) {
  if (const auto time = formats::parse_time(text)) return time;
  const auto since = formats::parse_duration(text);
  return since ? std::optional{Time{*since}} : std::nullopt;
}

std::optional<Time> last_moment(const OptionValues& options) {
  return options.has("at") ? parse_moment(options.text("at")) : std::nullopt;
}

bool is_of_server(const OptionValues& options) {
  return options.has("name");
}

bool is_of_log(const OptionValues& options) {
  return options.has("log") || options.has("from-log");
}
// Requires: is_of_log.
const std::string& log_of(const OptionValues& options) {
  return options.text(options.has("log") ? "log" : "from-log");
}

void check_simulation(const OptionValues& options, Diagnostics& mistakes) {
  const auto needs = [&](const char* option, const char* what) {
    if (!options.has(option)) mistakes.add({{}, 0, fmt::format("--{}", option), {}, what});
  };
  needs("cluster", "the cluster for --jobs: 16x4xT4, or a cluster file");
  needs("jobs", "the training jobs, or --log with the log of a run");
  check_need_of_curves(options, mistakes);
  if (options.has("jobs") && options.texts("jobs").size() != 1)
    mistakes.add({{}, 0, "--jobs", "several files", "the one file that has the job"});
  check_training_rules(options, mistakes);
  check_parts_of_weir(options, {options.text("policy")}, mistakes);
}

Diagnostics check_explain_options(const OptionValues& options) {
  Diagnostics mistakes;
  if (options.has("at") && !last_moment(options)) {
    mistakes.add({{},
                  0,
                  "--at",
                  options.text("at"),
                  "a time on the clock of the jobs: 6h30m or 2026-11-15T09:00:00Z"});
  }
  if (!is_of_server(options) && !options.has("job")) {
    mistakes.add({{}, 0, "--job", {}, "the job of a run, or the name of a job of the server"});
  }
  if (options.has("log") && options.has("from-log"))
    mistakes.add({{}, 0, "--from-log", "beside --log", "one of them: both name the log to read"});
  if (!is_of_server(options) && !is_of_log(options)) {
    check_simulation(options, mistakes);
    return mistakes;
  }
  const auto refuse = [&](const char* option) {
    if (!options.is_given(option)) return;
    mistakes.add({{},
                  0,
                  "option",
                  fmt::format("--{}", option),
                  fmt::format("no such option beside {}",
                              is_of_server(options) ? "a job of the server" : "--log")});
  };
  for (const char* option : kOfSimulation) refuse(option);
  if (is_of_server(options)) {
    for (const char* option : {"job", "log", "from-log", "at"}) refuse(option);
  }
  return mistakes;
}

tl::unexpected<Error> no_such_job(const OptionValues& options, const std::string& source,
                                  const std::vector<std::string>& names) {
  const std::string& wanted = options.text("job");
  const std::string when =
      options.has("at") ? fmt::format(" that came by {}", options.text("at")) : "";
  return bad_input(Diagnostic{{},
                              0,
                              "--job",
                              wanted,
                              fmt::format("the name or number of a job of {}{}{}", source, when,
                                          did_you_mean(wanted, names))});
}

std::vector<std::string> names_of(const report::JobStoryCollector& collector) {
  std::vector<std::string> names;
  for (const auto& [id, name] : collector.names()) names.push_back(name);
  return names;
}

using Told = LiveStory;

Result<Told> tell_from_server(const OptionValues& options, Console& console) {
  return story_from_server(options.text("name"), options, console);
}

bool makes_promises(const std::string& policy) {
  const schedule::TrainingPolicy* found = schedule::find_training_policy(policy);
  return found == nullptr || found->makes_promises();
}

Result<Told> tell_from_log(const OptionValues& options) {
  auto log = formats::RecordLogReader::open(log_of(options));
  if (!log) return tl::unexpected(std::move(log.error()));
  const formats::RecordLogHeader& header = log->header();
  report::JobStoryCollector collector{options.text("job"), header.slot};
  const std::optional<Time> until = last_moment(options);
  while (true) {
    auto entry = log->next();
    if (!entry) return tl::unexpected(std::move(entry.error()));
    if (!*entry || (until && (*entry)->record.at > *until)) break;
    collector.hear((*entry)->record);
  }
  auto story = collector.story();
  if (!story) return no_such_job(options, log_of(options), names_of(collector));
  if (until) story->told_until = *until;
  return Told{std::move(*story),
              {header.pools, collector.names(), header.policy, makes_promises(header.policy), {}}};
}

// With --at, what comes later is left out of the workload. The run still goes to its end: that is
// what would become of the job if nobody else came.
Result<Told> tell_from_simulation(const OptionValues& options, Console& console) {
  auto setup = read_training_setup(options);
  if (!setup) return tl::unexpected(std::move(setup.error()));
  const std::optional<Time> until = last_moment(options);
  for (const std::string& note : setup->notes) console.err << "note: " << note << "\n";
  TrainingWorkload workload = std::move(setup->workloads.front());
  std::vector<std::string> names;
  for (const TrainingArrival& job : workload.jobs) names.push_back(job.spec.name);
  if (until) {
    std::erase_if(workload.jobs,
                  [&](const TrainingArrival& job) { return job.submitted > *until; });
  }
  simulate::TrainingRunConfig config;
  config.policy = options.text("policy");
  config.training = training_rules(options);
  config.speeds = job_speeds(options);
  config.failures = node_failures(options);
  config.checkpoint_every = checkpoint_interval(options);
  report::JobStoryCollector so_far{options.text("job"), config.training.slot};
  report::JobStoryCollector whole{options.text("job"), config.training.slot};
  config.on_record = [&](const Record& record) {
    if (!until || record.at <= *until) so_far.hear(record);
    whole.hear(record);
  };
  if (!workload.jobs.empty())
    simulate::run_training(setup->cluster, workload, setup->curves, config);
  auto story = so_far.story();
  if (!story) return no_such_job(options, options.texts("jobs").front(), names);
  report::StoryContext context{formats::log_pools(setup->cluster),
                               so_far.names(),
                               config.policy,
                               makes_promises(config.policy),
                               {}};
  if (until) {
    story->told_until = *until;
    const auto future = whole.story();
    context.forecast = {future->started(), future->is_finished() ? future->ended : std::nullopt};
  }
  return Told{std::move(*story), std::move(context)};
}

// Of a refused job in a log, unless another moment is asked for: when it was told.
Result<ApiJson> what_would_change(const Told& told, const OptionValues& options, Console& console) {
  if (is_of_server(options))
    return counterfactuals_from_server(options.text("name"), options, console);
  if (!is_of_log(options)) return ApiJson::array();
  const report::JobStory& story = told.story;
  const bool is_refused = story.answer == report::JobStory::Answer::refused;
  const Time moment = is_refused && !options.has("at") ? story.answered : story.told_until;
  const auto found = counterfactuals_in_log(log_of(options), story, moment);
  if (!found) return tl::unexpected(found.error());
  return ApiJson::parse(*found).at("would_change");
}

}  // namespace

Result<void> explain_command(const OptionValues& options, Console& console) {
  if (auto mistakes = check_explain_options(options); !mistakes.empty())
    return bad_input(std::move(mistakes));
  const auto told = is_of_server(options) ? tell_from_server(options, console)
                    : is_of_log(options)  ? tell_from_log(options)
                                          : tell_from_simulation(options, console);
  if (!told) return tl::unexpected(told.error());
  const auto would_change = what_would_change(*told, options, console);
  if (!would_change) return tl::unexpected(would_change.error());
  if (!options.flag("json")) {
    console.out << report::story_text(told->story, told->context);
    if (!would_change->empty()) console.out << "\nWhat would change it:\n";
    for (const ApiJson& line : *would_change) console.out << "  " << text_in(line, "text") << "\n";
    return {};
  }
  const auto json = report::story_json(told->story, told->context);
  if (!json) return tl::unexpected(json.error());
  if (!is_of_server(options) && !is_of_log(options)) {
    console.out << *json;
    return {};
  }
  ApiJson whole = ApiJson::parse(*json);
  whole["would_change"] = *would_change;
  return print_json(whole, console);
}

}  // namespace weir::cli
