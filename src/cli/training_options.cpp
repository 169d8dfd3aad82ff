// SPDX-License-Identifier: Apache-2.0
#include "cli/training_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/gpu_file.h"
#include "domain/nearest_name.h"
#include "formats/quantity_text.h"
#include "formats/reserve_text.h"
#include "schedule/policies/training_policies.h"

namespace weir::cli {
namespace {

schedule::Ablation ablation_of(const OptionValues& options) {
  schedule::Ablation ablation;
  if (!options.has("ablate")) return ablation;
  for (const std::string& part : options.texts("ablate")) {
    if (part == "overhead") ablation.plans_overhead = false;
    if (part == "left-overs") ablation.lends_left_overs = false;
    if (part == "marginal-sign") ablation.lends_where_least = true;
    if (part == "suffix") ablation.raises_late = false;
  }
  return ablation;
}

Duration duration_of(const OptionValues& options, const char* option) {
  return formats::parse_duration(options.text(option)).value_or(Duration{0});
}

void check_failures(const OptionValues& options, Diagnostics& mistakes) {
  constexpr std::array kOfFailures = {"node-repair", "checkpoint-every", "failure-seed"};
  constexpr Duration kShortest = from_seconds(1);
  const auto must = [&](const char* option, const char* what) {
    mistakes.add({{}, 0, fmt::format("--{}", option), options.text(option), what});
  };
  const auto mtbf = formats::parse_duration(options.text("node-mtbf"));
  if (!mtbf || (*mtbf != Duration{0} && *mtbf < kShortest))
    must("node-mtbf", "a duration like 30d, or 0s where no node fails");
  const auto repair = formats::parse_duration(options.text("node-repair"));
  if (!repair || *repair < kShortest) must("node-repair", "a duration like 1h, 1s or more");
  if (!formats::parse_duration(options.text("checkpoint-every")))
    must("checkpoint-every", "a duration like 10m, or 0s where nothing is lost");
  if (!mtbf || *mtbf != Duration{0}) return;
  for (const char* option : kOfFailures) {
    if (!options.is_given(option)) continue;
    mistakes.add({{},
                  0,
                  "option",
                  fmt::format("--{}", option),
                  "to be left out without --node-mtbf: no node fails"});
  }
}

}  // namespace

std::vector<OptionSpec> training_input_options() {
  return {
      {.name = "cluster",
       .type = OptionType::text,
       .help = "The cluster for --jobs: nodes x GPUs x model, as in 16x4xT4 or "
               "16x8xA100+4x4xT4, or a cluster file as for --nodes."},
      {.name = "jobs",
       .type = OptionType::file_list,
       .help = "Training jobs, most with a deadline: traces (CSV) or weir training files "
               "(YAML). May be gzip. Each file is simulated on its own."},
      {.name = "curves",
       .type = OptionType::file,
       .help = "How fast the models of --jobs train on 1, 2, 4, ... GPUs: a folder with a table "
               "for each model (CSV), or Gavel's throughputs (JSON). Not needed for models that "
               "are planned (model: {config: FILE, batch: N})."},
      gpu_file_option(
          "Types of GPU of --cluster that weir does not know (YAML), for models that are "
          "planned."),
      {.name = "from-log",
       .type = OptionType::file,
       .help =
           "Play what a live server did, again: a log of `weir trace export`. Jobs, cluster, "
           "speeds and costs are those of the log, instead of --jobs, --cluster and --curves. With "
           "--job-speed 1 jobs run as their curves say, not as they did."}};
}

OptionSpec reserve_option() {
  return {.name = "reserve",
          .type = OptionType::text,
          .unit = "GPUs, or % of each pool",
          .default_text = "0",
          .help =
              "Promise so many GPUs of each pool to nobody, as in 8 or 5%: they are there for "
              "promises when nodes fail or jobs run slow, and are lent meanwhile. Only the "
              "policy weir has a reserve."};
}

std::vector<OptionSpec> training_rule_options() {
  return {{.name = "slot",
           .type = OptionType::text,
           .unit = "duration",
           .default_text = "0s",
           .help = "Decide about training jobs only at multiples of this time; 0s: at once."},
          {.name = "round",
           .type = OptionType::text,
           .unit = "duration",
           .default_text = "0s",
           .help = "How long a round, lease or slice is under policies that decide in such; 0s: "
                   "what suits the policy. Only with --jobs."},
          {.name = "gate",
           .type = OptionType::text,
           .default_text = "on",
           .choices = {"on", "off"},
           .help = "Under overload, refuse a giant job that would take the room of many cheaper "
                   "ones. Only with --jobs."},
          {.name = "counter-offers",
           .type = OptionType::text,
           .default_text = "on",
           .choices = {"on", "off"},
           .help = "Work out the earliest deadline that can be promised for a job that is refused. "
                   "Only with --jobs."},
          {.name = "provisional",
           .type = OptionType::integer,
           .unit = "times the median GPU-time",
           .default_text = "0",
           .least = 0,
           .most = 1'000'000,
           .help = "Plan jobs that need more than this, but promise them only when more of them is "
                   "done; until then they may give way to smaller ones. 0: promise every job when "
                   "it comes. Only with --jobs."},
          {.name = "ablate",
           .type = OptionType::text_list,
           .choices = {"overhead", "left-overs", "marginal-sign", "suffix"},
           .help = "Leave parts of the policy weir out, to see what they are worth. overhead: plan "
                   "as if a change of GPUs were free. left-overs: promised jobs get what their "
                   "plans say and no more. marginal-sign: lend GPUs where they save least. suffix: "
                   "the larger of a plan's two sizes from the start, not as late as possible. "
                   "Only with --jobs."},
          reserve_option(),
          {.name = "job-speed",
           .type = OptionType::number_list,
           .unit = "of what the curve says",
           .default_text = "1",
           .least = 0.01,
           .most = 4,
           .help = "What jobs really do: one figure for all, or the least and the most, between "
                   "which each job's is drawn. Only with --jobs."},
          {.name = "speed-seed",
           .type = OptionType::integer,
           .default_text = "42",
           .least = 0,
           .help = "Decides what is drawn for --job-speed."},
          {.name = "node-mtbf",
           .type = OptionType::text,
           .unit = "duration",
           .default_text = "0s",
           .help = "How long a node is up on average before it fails, as in 30d; 0s: none fails. "
                   "The same nodes fail at the same times under every policy. Only with --jobs."},
          {.name = "node-repair",
           .type = OptionType::text,
           .unit = "duration",
           .default_text = "1h",
           .help = "How long a node that failed is away. Only with --node-mtbf."},
          {.name = "checkpoint-every",
           .type = OptionType::text,
           .unit = "duration",
           .default_text = "0s",
           .help = "How long jobs run between two saves: what a job did since is lost when a node "
                   "fails under it; 0s: nothing is. Only with --node-mtbf."},
          {.name = "failure-seed",
           .type = OptionType::integer,
           .default_text = "42",
           .least = 0,
           .help = "Decides when nodes fail. Only with --node-mtbf."}};
}

void check_training_rules(const OptionValues& options, Diagnostics& mistakes) {
  if (!formats::parse_duration(options.text("slot")))
    mistakes.add({{}, 0, "--slot", options.text("slot"), "a duration like 60s, or 0s for none"});
  if (!formats::parse_duration(options.text("round"))) {
    mistakes.add(
        {{}, 0, "--round", options.text("round"), "a duration like 120s, or 0s for the usual"});
  }
  const std::vector<double>& speeds = options.numbers("job-speed");
  if (speeds.size() > 2 || speeds.front() > speeds.back()) {
    mistakes.add({{},
                  0,
                  "--job-speed",
                  fmt::format("{}", fmt::join(speeds, ",")),
                  "one figure, or two with the smaller first, as in 0.9,1.1"});
  }
  if (!formats::parse_reserve(options.text("reserve"))) {
    mistakes.add({{},
                  0,
                  "--reserve",
                  options.text("reserve"),
                  "a number of GPUs like 8, or up to 90 % of each pool like 5%"});
  }
  check_failures(options, mistakes);
}

void check_seeds(const OptionValues& options, Diagnostics& mistakes) {
  if (!options.is_given("seeds")) return;
  for (const char* seed : {"speed-seed", "failure-seed"}) {
    if (!options.is_given(seed)) continue;
    mistakes.add({{},
                  0,
                  fmt::format("--{}", seed),
                  fmt::format("{}", options.integer(seed)),
                  "to be left out with --seeds, which decide that too"});
  }
}

void check_parts_of_weir(const OptionValues& options, const std::vector<std::string>& policies,
                         Diagnostics& mistakes) {
  if (std::find(policies.begin(), policies.end(), "weir") != policies.end()) return;
  const auto must = [&](const char* option, const char* what) {
    mistakes.add({{},
                  0,
                  fmt::format("--policy (which --{} needs)", option),
                  fmt::format("{}", fmt::join(policies, ",")),
                  what});
  };
  if (options.has("ablate")) must("ablate", "weir among them: only its parts can be left out");
  if (options.is_given("reserve")) must("reserve", "weir among them: only it has a reserve");
}

std::vector<std::string> training_policy_names() {
  std::vector<std::string> names;
  for (const auto& row : schedule::training_policies()) names.emplace_back(row.name);
  return names;
}

void check_training_policies(const OptionValues& options, Diagnostics& mistakes) {
  if (!options.is_given("policy")) return;
  std::vector<std::string> known = training_policy_names();
  known.emplace_back("all");
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

std::vector<std::string> given_training_policies(const OptionValues& options) {
  if (!options.is_given("policy")) return {};
  const std::vector<std::string>& chosen = options.texts("policy");
  const bool has_all = std::find(chosen.begin(), chosen.end(), "all") != chosen.end();
  return has_all ? training_policy_names() : chosen;
}

std::vector<std::uint64_t> given_training_seeds(const OptionValues& options) {
  std::vector<std::uint64_t> seeds;
  if (!options.is_given("seeds")) return seeds;
  for (const std::int64_t seed : options.integers("seeds"))
    seeds.push_back(static_cast<std::uint64_t>(seed));
  return seeds;
}

std::string training_recipe(const OptionValues& options) {
  std::string recipe = options.recipe();
  if (options.is_given("policy") && options.texts("policy") == std::vector<std::string>{"all"})
    recipe += " --policy all";
  if (options.is_given("seeds") && recipe.find(" --seeds ") == std::string::npos)
    recipe += fmt::format(" --seeds {}", fmt::join(options.integers("seeds"), ","));
  return recipe;
}

schedule::TrainingConfig training_rules(const OptionValues& options) {
  schedule::TrainingConfig rules;
  rules.slot = duration_of(options, "slot");
  rules.round = duration_of(options, "round");
  rules.ablation = ablation_of(options);
  rules.has_gate = options.text("gate") == "on";
  rules.makes_counter_offers = options.text("counter-offers") == "on";
  rules.provisional_multiple = options.integer("provisional");
  rules.reserve = formats::parse_reserve(options.text("reserve")).value_or(Reserve{});
  return rules;
}

simulate::JobSpeeds job_speeds(const OptionValues& options) {
  const std::vector<double>& given = options.numbers("job-speed");
  const auto permille = [](double speed) {
    return static_cast<std::int64_t>(std::lround(speed * 1000));
  };
  return {permille(given.front()), permille(given.back()),
          static_cast<std::uint64_t>(options.integer("speed-seed"))};
}

simulate::NodeFailures node_failures(const OptionValues& options) {
  return {duration_of(options, "node-mtbf"), duration_of(options, "node-repair"),
          static_cast<std::uint64_t>(options.integer("failure-seed"))};
}

Duration checkpoint_interval(const OptionValues& options) {
  return duration_of(options, "checkpoint-every");
}

}  // namespace weir::cli
