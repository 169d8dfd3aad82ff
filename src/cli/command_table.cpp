// SPDX-License-Identifier: Apache-2.0
#include "cli/command_table.h"

#include <algorithm>
#include <string>
#include <vector>

#include "cli/carbon_budgets_command.h"
#include "cli/carbon_power_command.h"
#include "cli/carbon_report_command.h"
#include "cli/carbon_savings_command.h"
#include "cli/client_commands.h"
#include "cli/client_completion.h"
#include "cli/client_context.h"
#include "cli/energy_options.h"
#include "cli/explain_command.h"
#include "cli/help_command.h"
#include "cli/kernels_commands.h"
#include "cli/kernels_pick_command.h"
#include "cli/log_commands.h"
#include "cli/network_options.h"
#include "cli/network_partition_command.h"
#include "cli/network_simulate_command.h"
#include "cli/network_study_commands.h"
#include "cli/observe_command.h"
#include "cli/observed_inputs.h"
#include "cli/plan_command.h"
#include "cli/planning_options.h"
#include "cli/policies_command.h"
#include "cli/predict_command.h"
#include "cli/published_command.h"
#include "cli/run_job_command.h"
#include "cli/serve_command.h"
#include "cli/simulate_command.h"
#include "cli/trace_commands.h"
#include "cli/training_options.h"
#include "cli/what_if_command.h"
#include "schedule/place/policies.h"
#include "schedule/policies/training_policies.h"

namespace weir::cli {
namespace {

std::vector<std::string> policy_choices() {
  std::vector<std::string> names;
  for (const schedule::PolicyRow& row : schedule::placement_policies()) {
    names.emplace_back(row.name);
  }
  for (const schedule::TrainingPolicyRow& row : schedule::training_policies()) {
    names.emplace_back(row.name);
  }
  names.emplace_back("all");
  return names;
}

OptionSpec json_option() {
  return {.name = "json",
          .type = OptionType::flag,
          .help = "Print JSON for programs instead of text for people.",
          .in_recipe = false};
}

OptionSpec node_file_option() {
  return {
      .name = "nodes",
      .type = OptionType::file,
      .help = "The cluster: an openb node list (CSV) or a weir cluster file (YAML). May be gzip."};
}

CommandSpec simulate_spec() {
  CommandSpec spec = {
      .name = "simulate",
      .summary = "Compare placement policies on a trace.",
      .about =
          "Plays a list of tasks against a cluster, once for each policy and seed, and tells how "
          "much "
          "of the GPU capacity each policy could allocate. The inflation protocol submits tasks "
          "until "
          "demand is 130 % of capacity and lets none leave. The churn protocol lets tasks come, "
          "wait, "
          "run and leave, at a load of your choice. Without --nodes and --tasks, weir plays a "
          "synthetic "
          "trace of its own. With --jobs it plays training jobs with deadlines instead, and tells "
          "how many each policy finishes in time.",
      .options =
          {node_file_option(),
           {.name = "tasks",
            .type = OptionType::file_list,
            .help = "The tasks: openb pod lists (CSV) or weir workload files (YAML). May be gzip. "
                    "Each list is simulated on its own."},
           {.name = "from",
            .type = OptionType::text,
            .choices = {"kubernetes"},
            .help =
                "Instead of files: the cluster and the tasks that `weir serve --engine "
                "kubernetes` has observed, from its state folder. Played as they came (replay)."},
           {.name = "state",
            .type = OptionType::file,
            .help = "With --from: the state folder. Default: $WEIR_STATE, or ~/.local/state/weir."},
           {.name = "add-nodes",
            .type = OptionType::integer,
            .unit = "nodes",
            .least = 1,
            .most = 100'000,
            .help = "With --from: so many more nodes like the largest."},
           {.name = "lose",
            .type = OptionType::text_list,
            .help = "With --from: without these nodes, racks or pools."},
           {.name = "policy",
            .type = OptionType::text_list,
            .default_text = "all",
            .choices = policy_choices(),
            .may_be_blended = true,
            .help = "Policies to compare; `weir policies` explains them. Placement policies may be "
                    "blended by weights: fgd:0.9+pwr:0.1. With --jobs those for "
                    "training jobs, by default weir; with --compare those of the file, by default "
                    "all for training jobs; otherwise placement policies."},
           {.name = "compare",
            .type = OptionType::file,
            .help = "Policies for training jobs beside each other on many traces, each with its "
                    "own cluster and curves: a YAML file that names them, such as "
                    "examples/compare/night.yaml. --policy, --seeds and --slot on the command line "
                    "replace what the file says."},
           {.name = "tenants",
            .type = OptionType::file,
            .help = "With --jobs and the policy weir: who shares the cluster, groups with "
                    "guaranteed GPUs, maxima and weights (YAML), as for `weir serve`. What each "
                    "tenant got is told too."},
           {.name = "seeds",
            .type = OptionType::integer_list,
            .default_text = "42..46",
            .least = 0,
            .help = "One run for each seed. It decides the order of tasks and of nodes; with "
                    "--jobs what is drawn for --job-speed, for --node-mtbf and by policies, and "
                    "without --seeds "
                    "there is one run."},
           {.name = "protocol",
            .type = OptionType::text,
            .default_text = "inflation",
            .choices = {"inflation", "churn", "replay"},
            .help = "inflation: tasks come and none leaves. churn: tasks come, wait, run and "
                    "leave, over "
                    "and over at --load. replay: each comes once, when it came, and runs as long "
                    "as it ran."},
           {.name = "load",
            .type = OptionType::number_list,
            .unit = "offered GPU load, 1 = all GPUs busy",
            .default_text = "0.9,1,1.1",
            .least = 0.01,
            .most = 10,
            .help = "Loads to try; churn only."},
           {.name = "queue",
            .type = OptionType::text_list,
            .default_text = "fifo,backfill",
            .choices = {"fifo", "backfill"},
            .help =
                "fifo: the first in the queue holds back all others. backfill: whoever fits may "
                "start. Churn and replay only."},
           {.name = "node-order",
            .type = OptionType::text,
            .default_text = "permuted",
            .choices = {"permuted", "as-listed", "cpu-per-gpu"},
            .help = "Which node wins when scores are equal: by the seed, as in the file, or fewest "
                    "CPUs per GPU first. Inflation only."},
           {.name = "workload",
            .type = OptionType::text,
            .default_text = "oracle",
            .choices = {"oracle", "learned"},
            .help = "What policies know of the tasks to come: the whole list, or what they saw so "
                    "far."},
           {.name = "bound",
            .type = OptionType::flag,
            .help = "Also tell how much GPU any policy could allocate of this mix of tasks (a "
                    "relaxation: fractions of nodes, all demand known). Inflation only."},
           {.name = "threads",
            .type = OptionType::integer,
            .unit = "threads",
            .default_text = "0",
            .least = 0,
            .most = 1024,
            .help = "Runs at a time; 0 = one for each core. Does not change the result.",
            .in_recipe = false},
           {.name = "timing",
            .type = OptionType::flag,
            .help =
                "Measure the mean wall time of a decision, without the set-up before the first; "
                "with --jobs, the seconds of each simulation. "
                "The result then differs from run to run.",
            .in_recipe = false},
           json_option(),
           {.name = "csv",
            .type = OptionType::file,
            .help = "Write every run as a row of this CSV file.",
            .in_recipe = false},
           {.name = "report",
            .type = OptionType::file,
            .help = "Write a page with plots to this HTML file. It opens without a network.",
            .in_recipe = false},
           {.name = "log",
            .type = OptionType::file,
            .help = "Write every decision about training jobs to this file, a JSON object on each "
                    "line; `weir explain` reads it. With several runs each gets a file of its own, "
                    "with the trace and the policy in its name.",
            .in_recipe = false},
           {.name = "config",
            .type = OptionType::file,
            .help = "Read options from this YAML file (`option: value`). The command line wins.",
            .in_recipe = false}},
      .examples = {
          {"weir simulate", "Compare all policies on a synthetic trace."},
          {"weir simulate --nodes nodes.csv --tasks tasks.csv",
           "Compare all policies on your own trace."},
          {"weir simulate --nodes nodes.csv --tasks tasks.csv --policy fgd,best-fit --seeds 42..51 "
           "--report report.html",
           "Two policies, ten seeds, and a page with plots."},
          {"weir simulate --nodes nodes.csv --tasks tasks.csv --protocol churn --load 0.9,1.1 "
           "--queue "
           "backfill",
           "How long would jobs wait?"},
          {"weir simulate --from kubernetes --policy fgd,best-fit --add-nodes 4",
           "What would another policy, or four more nodes, have done last week?"},
          {"weir simulate --config run.yaml --json",
           "Options from a file, the result for a program."},
          {"weir simulate --cluster 4x4xT4 --jobs jobs.yaml --curves curves --report report.html",
           "Which training jobs would meet their deadlines?"},
          {"weir simulate --compare examples/compare/night.yaml --report report.html",
           "Which policy meets more deadlines, on which trace?"},
      }};
  const std::vector<OptionSpec> inputs = training_input_options();
  const std::vector<OptionSpec> rules = training_rule_options();
  const auto at = [&](std::string_view name) {
    return std::find_if(spec.options.begin(), spec.options.end(),
                        [&](const OptionSpec& option) { return option.name == name; });
  };
  spec.options.insert(at("policy"), inputs.begin(), inputs.end());
  spec.options.insert(at("threads"), rules.begin(), rules.end());
  const std::vector<OptionSpec> energy = energy_options();
  spec.options.insert(at("threads"), energy.begin(), energy.end());
  const std::vector<OptionSpec> network = network_options();
  spec.options.insert(at("threads"), network.begin(), network.end());
  const std::vector<OptionSpec> published = published_options();
  spec.options.insert(at("threads"), published.begin(), published.end());
  return spec;
}

CommandSpec explain_spec() {
  std::vector<std::string> policies;
  for (const schedule::TrainingPolicyRow& row : schedule::training_policies()) {
    policies.emplace_back(row.name);
  }
  CommandSpec spec = {
      .name = "explain",
      .summary = "Tell what became of a job, and why.",
      .about =
          "Tells what the job asked for, what weir answered and why, the plan it made, which GPUs "
          "the job really had and why they changed, and the end. For a refused job it names the "
          "earliest deadline that can be promised. It asks the server, or it reads the log of a "
          "run (`weir simulate --log`), or it plays the jobs itself.",
      .options =
          {{.name = "name",
            .type = OptionType::text,
            .help = "A job of the server: its name (the latest of that name) or its id.",
            .positional = true},
           {.name = "job",
            .type = OptionType::text,
            .help = "A job of a run: its name, or its number in the order of arrival."},
           {.name = "log",
            .type = OptionType::file,
            .help = "The log of the run to read: of `weir simulate --log`, or of a server "
                    "(`weir trace export`). Without it, weir plays --jobs."},
           {.name = "from-log",
            .type = OptionType::file,
            .help = "The same as --log, which other commands call so."},
           {.name = "policy",
            .type = OptionType::text,
            .default_text = "weir",
            .choices = policies,
            .help = "The policy to play --jobs with."},
           {.name = "at",
            .type = OptionType::text,
            .unit = "time",
            .help = "Stop there, on the clock of the jobs: 6h30m, or 2026-11-15T09:00:00Z where "
                    "they have dates. For a job that waits weir then also says what would become "
                    "of it if no other came (not with --log)."},
           json_option()},
      .examples = {
          {"weir explain bert", "Why does it wait?"},
          {"weir explain --log run.jsonl --job bert-night", "Why did it wait in the simulation?"},
          {"weir explain --cluster 4x4xT4 --jobs jobs.yaml --curves curves --job 7 --at 2h",
           "How does job 7 stand two hours into the trace?"},
      }};
  std::vector<OptionSpec> inputs = training_input_options();
  std::erase_if(inputs, [](const OptionSpec& option) { return option.name == "from-log"; });
  const std::vector<OptionSpec> rules = training_rule_options();
  inputs.insert(inputs.end(), rules.begin(), rules.end());
  spec.options.insert(spec.options.begin() + 4, inputs.begin(), inputs.end());
  const std::vector<OptionSpec> server = server_options();
  spec.options.insert(spec.options.end(), server.begin(), server.end());
  return spec;
}

CommandSpec trace_describe_spec() {
  return {
      .name = "trace describe",
      .summary = "Tell what is in a trace.",
      .about =
          "Counts the nodes by GPU model and the tasks by kind, and shows what tasks ask for "
          "and how long they ran. Tasks that name GPU models need the node list beside them.",
      .options = {{.name = "file",
                   .type = OptionType::file_list,
                   .help = "Node lists and task lists, in any order.",
                   .required = true,
                   .positional = true},
                  json_option()},
      .examples = {{"weir trace describe nodes.csv tasks.csv.gz", "Look before you simulate."}}};
}

CommandSpec trace_convert_spec() {
  OptionSpec nodes = node_file_option();
  nodes.required = true;
  return {
      .name = "trace convert",
      .summary = "Rewrite a trace in another format.",
      .about =
          "Reads a cluster and its tasks and writes both into a folder, as the public openb "
          "CSV lists or as weir's own YAML files.",
      .options = {nodes,
                  {.name = "tasks",
                   .type = OptionType::file_list,
                   .help = "Task lists to convert."},
                  {.name = "to",
                   .type = OptionType::text,
                   .choices = {"openb", "yaml"},
                   .help = "The format to write.",
                   .required = true},
                  {.name = "out",
                   .type = OptionType::file,
                   .help = "The folder to write into; made when it does not exist.",
                   .required = true},
                  json_option()},
      .examples = {{"weir trace convert --nodes nodes.csv --tasks tasks.csv --to yaml --out lab",
                    "Turn a CSV trace into files you can edit by hand."}}};
}

CommandSpec trace_synth_spec() {
  return {.name = "trace synth",
          .summary = "Make a synthetic trace.",
          .about =
              "Makes a cluster and tasks that follow the published statistics of the openb trace: "
              "the mix of nodes, of task kinds and shapes, and the spread of run times. The same "
              "seed gives the same trace.",
          .options = {{.name = "out",
                       .type = OptionType::file,
                       .help = "The folder to write into; made when it does not exist.",
                       .required = true},
                      {.name = "to",
                       .type = OptionType::text,
                       .default_text = "openb",
                       .choices = {"openb", "yaml"},
                       .help = "The format to write."},
                      {.name = "seed",
                       .type = OptionType::integer,
                       .default_text = "1",
                       .least = 0,
                       .help = "Another seed gives another trace of the same kind."},
                      {.name = "node-count",
                       .type = OptionType::integer,
                       .default_text = "1213",
                       .least = 1,
                       .most = 1'000'000,
                       .help = "How many nodes."},
                      {.name = "job-count",
                       .type = OptionType::integer,
                       .default_text = "8152",
                       .least = 1,
                       .most = 10'000'000,
                       .help = "How many jobs."},
                      {.name = "constrained-percent",
                       .type = OptionType::integer,
                       .unit = "% of GPU jobs",
                       .default_text = "0",
                       .least = 0,
                       .most = 100,
                       .help = "Jobs that name the GPU models they accept."},
                      {.name = "gang-percent",
                       .type = OptionType::integer,
                       .unit = "% of whole-GPU jobs",
                       .default_text = "0",
                       .least = 0,
                       .most = 100,
                       .help = "Jobs of 2, 4 or 8 tasks that start together; yaml only."},
                      json_option()},
          .examples = {{"weir trace synth --out trace --seed 7", "A trace to play with."},
                       {"weir simulate --nodes trace/nodes.csv --tasks trace/tasks.csv",
                        "Then compare policies on it."}}};
}

CommandSpec policies_spec() {
  return {
      .name = "policies",
      .summary = "List the policies.",
      .about =
          "Names each policy, what it does in one line, and where it is described: those that "
          "place tasks, then those for training jobs with deadlines. Adding one is one file and "
          "one row in src/schedule/place/policies.cpp or "
          "src/schedule/policies/training_policies.cpp.",
      .options = {json_option()},
      .examples = {{"weir policies", "What can I compare?"}}};
}

CommandSpec reference_spec() {
  return {
      .name = "reference",
      .summary = "Print the reference of all commands as Markdown.",
      .about = "docs/reference/cli.md is this text.",
      .options = {},
      .examples = {{"weir reference > docs/reference/cli.md", "Renew the page after a change."}}};
}

CommandSpec carbon_savings_spec() {
  return {
      .name = "carbon savings",
      .summary = "Tell what jobs save by waiting for cleaner hours.",
      .about =
          "For jobs of some hours that may run at any time within a longer window: what they emit "
          "less (or cost less, with a price series) than when they run at once, with perfect "
          "knowledge, by forecast, and by forecast in one piece. Without options, all regions of "
          "the public data that have forecasts, and four shapes of jobs. The data is the average "
          "intensity of the grid with lifecycle factors, not the marginal one.",
      .options =
          {{.name = "region",
            .type = OptionType::text_list,
            .help = "Regions of the public data (under WEIR_DATA), such as ciso,de. Those without "
                    "forecasts show what perfect knowledge would save."},
           {.name = "file",
            .type = OptionType::file,
            .help = "Instead of regions: a series of your own, utc_time and carbon_g_per_kwh or "
                    "price_eur_per_kwh (CSV; may be gzip). The unit is in the column's name."},
           {.name = "forecast",
            .type = OptionType::file,
            .help = "With --file: forecasts of it, with issue_utc_time before each utc_time, or as "
                    "the public files have them."},
           {.name = "factors",
            .type = OptionType::text,
            .choices = {"lifecycle", "direct"},
            .help = "Which emissions count, where a file has both: of a power station's whole life "
                    "(the default) or of its fuel alone. Forecasts of the public data have "
                    "lifecycle factors."},
           {.name = "hours",
            .type = OptionType::integer,
            .unit = "hours",
            .least = 1,
            .most = 8760,
            .help = "How long the job runs, at constant power. With --within, instead of the four "
                    "usual shapes."},
           {.name = "within",
            .type = OptionType::integer,
            .unit = "hours",
            .least = 1,
            .most = 8760,
            .help = "How long after its submission the job has to be done."},
           {.name = "report",
            .type = OptionType::file,
            .help = "Write a page with plots to this HTML file. It opens without a network.",
            .in_recipe = false},
           json_option()},
      .examples = {
          {"weir carbon savings", "Where does waiting pay?"},
          {"weir carbon savings --region ciso,pl --hours 8 --within 24",
           "A job of eight hours that has a day."},
          {"weir carbon savings --file prices.csv --json", "What would it save in money?"}}};
}

CommandSpec help_spec() {
  return {.name = "help",
          .summary = "Explain weir or one of its commands.",
          .about = "Same as --help.",
          .options = {{.name = "command",
                       .type = OptionType::text_list,
                       .help = "The command to explain.",
                       .positional = true}},
          .examples = {{"weir help trace convert", "What does it need?"}}};
}

std::vector<Command> all_commands() {
  std::vector<Command> table = {
      {serve_spec(), serve_command},
      {observe_spec(), observe_command},
      {run_job_spec(), run_job_command},
      {simulate_spec(), simulate_command},
      {plan_spec(), plan_command},
      {predict_spec(), predict_command},
      {kernels_fit_spec(), kernels_fit_command},
      {kernels_check_spec(), kernels_check_command},
      {kernels_pick_spec(), kernels_pick_command},
      {explain_spec(), explain_command},
      {what_if_spec(), what_if_command},
      {trace_describe_spec(), trace_describe_command},
      {trace_convert_spec(), trace_convert_command},
      {trace_observed_spec(), trace_observed_command},
      {trace_synth_spec(), trace_synth_command},
      {network_simulate_spec(), network_simulate_command},
      {carbon_budgets_spec(), carbon_budgets_command},
      {carbon_power_spec(), carbon_power_command},
      {carbon_report_spec(), carbon_report_command},
      {carbon_savings_spec(), carbon_savings_command},
      {network_partition_spec(), network_partition_command},
      {network_study_spec(), network_study_command},
      {network_waits_spec(), network_waits_command},
      {policies_spec(), policies_command},
      {reference_spec(), reference_command},
      {completion_spec(), completion_command},
      {help_spec(), help_command},
  };
  std::vector<Command> clients = client_commands();
  for (Command& command : log_commands()) clients.push_back(std::move(command));
  const auto simulate = std::find_if(table.begin(), table.end(), [](const Command& command) {
    return command.spec.name == "simulate";
  });
  table.insert(simulate, clients.begin(), clients.end());
  return table;
}

}  // namespace

std::span<const Command> commands() {
  static const std::vector<Command> table = all_commands();
  return table;
}

const Command* find_command(std::string_view name) {
  const auto table = commands();
  const auto at = std::find_if(table.begin(), table.end(),
                               [&](const Command& command) { return command.spec.name == name; });
  return at == table.end() ? nullptr : &*at;
}

}  // namespace weir::cli
