// SPDX-License-Identifier: Apache-2.0
#include "cli/serve_command.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <ostream>
#include <sstream>
#include <thread>

#include "cli/curve_planner.h"
#include "cli/gpu_file.h"
#include "cli/live_log_header.h"
#include "cli/serve_common.h"
#include "cli/serve_doors.h"
#include "cli/serve_energy.h"
#include "cli/serve_observing.h"
#include "cli/serve_tenants.h"
#include "cli/tenant_users.h"
#include "cli/training_options.h"
#include "cli/training_setup.h"
#include "cli/version.h"
#include "control/controller.h"
#include "control/store.h"
#include "engine/local/gpu_inventory.h"
#include "engine/local/local_engine.h"
#include "engine/local/nvml_gpus.h"
#include "formats/cluster_shorthand.h"
#include "formats/cluster_yaml.h"
#include "formats/quantity_text.h"
#include "formats/reserve_text.h"
#include "schedule/policies/training_policies.h"

namespace weir::cli {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kClusterSetting = "cluster";
constexpr std::string_view kPolicySetting = "policy";
constexpr std::string_view kReserveSetting = "reserve";

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const schedule::TrainingPolicyRow& row : schedule::training_policies())
    names.emplace_back(row.name);
  return names;
}

std::string cluster_text(const Cluster& cluster) {
  std::ostringstream out;
  formats::write_cluster_yaml(out, cluster);
  return out.str();
}

// Racks decide nothing: a cluster file may name them later, or others.
std::string text_without_racks(Cluster cluster) {
  for (Node& node : cluster.nodes) node.rack.clear();
  return cluster_text(cluster);
}

Result<Cluster> read_stored(const std::string& stored) {
  auto text = formats::InputFile::from_memory("store", stored);
  if (!text) return tl::unexpected<Error>(std::move(text.error()));
  return formats::read_cluster_yaml(std::move(*text));
}

// "NVIDIA A100-SXM4-80GB" -> "A100-SXM4-80GB"
std::string short_model(std::string_view model) {
  constexpr std::string_view kMaker = "NVIDIA ";
  if (model.starts_with(kMaker)) model.remove_prefix(kMaker.size());
  std::string name;
  for (const char c : model.substr(0, 32))
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '-';
  return name;
}

// The GPUs of this machine; without any, a slot for each CPU.
Result<Cluster> this_machine(const std::vector<engine::GpuDevice>& gpus) {
  const auto cpus = std::clamp(std::thread::hardware_concurrency(), 1U, 16U);
  return formats::parse_cluster_shorthand(
      gpus.empty() ? fmt::format("1x{}xCPU", cpus)
                   : fmt::format("1x{}x{}", gpus.size(), short_model(gpus.front().model)));
}

// The cluster the store was made for, or the one asked for when it is new.
Result<Cluster> choose_cluster(const OptionValues& options, control::Store& store,
                               const std::vector<engine::GpuDevice>& gpus) {
  const auto stored = store.setting(kClusterSetting);
  if (!options.is_given("cluster") && stored) return read_stored(*stored);
  auto cluster = options.is_given("cluster")
                     ? formats::read_cluster_or_shorthand(options.text("cluster"))
                     : this_machine(gpus);
  if (!cluster) return cluster;
  if (cluster->gpu_count() == 0) {
    return bad_input(Diagnostic{"", 0, "--cluster", options.text("cluster"),
                                "a cluster with at least one GPU or slot"});
  }
  const std::string text = cluster_text(*cluster);
  bool is_same = true;
  if (stored && *stored != text) {
    const auto before = read_stored(*stored);
    is_same = before && text_without_racks(*before) == text_without_racks(*cluster);
  }
  if (!is_same) {
    return bad_input(
        Diagnostic{"", 0, "--cluster", options.text("cluster"),
                   "the cluster this state folder was made for (leave the option out), "
                   "or another --state"});
  }
  if (stored != text) {
    if (auto set = store.set_setting(kClusterSetting, text); !set)
      return tl::unexpected<Error>(std::move(set.error()));
  }
  return cluster;
}

Result<std::string> choose_policy(const OptionValues& options, control::Store& store) {
  const auto stored = store.setting(kPolicySetting);
  if (!options.is_given("policy") && stored) return *stored;
  const std::string& policy = options.text("policy");
  if (stored && *stored != policy) {
    return bad_input(Diagnostic{"", 0, "--policy", policy,
                                fmt::format("{}, with which this state folder was made, or another "
                                            "--state; `weir simulate --from-log` compares policies",
                                            *stored)});
  }
  if (!stored) {
    if (auto set = store.set_setting(kPolicySetting, policy); !set)
      return tl::unexpected<Error>(std::move(set.error()));
  }
  return policy;
}

// As its operator wrote it. What was promised was promised with the first.
Result<std::string> choose_reserve(const OptionValues& options, control::Store& store,
                                   const std::string& policy) {
  const auto stored = store.setting(kReserveSetting);
  if (!options.is_given("reserve") && stored) return *stored;
  const std::string& reserve = options.text("reserve");
  Diagnostics mistakes;
  const auto must = [&](std::string what) {
    mistakes.add({"", 0, "--reserve", reserve, std::move(what)});
  };
  if (!formats::parse_reserve(reserve))
    must("a number of GPUs like 8, or up to 90 % of each pool like 5%");
  if (policy != "weir" && options.is_given("reserve"))
    must("to be left out: only the policy weir has a reserve");
  if (stored && *stored != reserve)
    must(fmt::format("{}, with which this state folder was made, or another --state", *stored));
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  if (!stored) {
    if (auto set = store.set_setting(kReserveSetting, reserve); !set)
      return tl::unexpected<Error>(std::move(set.error()));
  }
  return reserve;
}

struct Durations {
  Duration rescale{0};
  Duration rescale_per_doubling{0};
  Duration keep{0};
};

Result<Durations> read_durations(const OptionValues& options) {
  Durations read;
  Diagnostics mistakes;
  const auto take = [&](const char* name, Duration& into) {
    if (const auto parsed = formats::parse_duration(options.text(name))) {
      into = *parsed;
    } else {
      mistakes.add({"", 0, fmt::format("--{}", name), options.text(name),
                    "a duration like 0.5s, 2s, 30m, 12h or 30d"});
    }
  };
  take("rescale", read.rescale);
  take("rescale-per-doubling", read.rescale_per_doubling);
  take("keep", read.keep);
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  return read;
}

// Nobody should believe that a server only observes when it schedules.
Diagnostics kubernetes_options_in(const OptionValues& options) {
  Diagnostics mistakes;
  if (options.has("mode") && options.text("mode") == "observe")
    mistakes.add({"", 0, "--mode", "observe", "--engine kubernetes beside it, or schedule"});
  for (const char* name : {"kubeconfig", "context", "pod-backoff"}) {
    if (options.is_given(name))
      mistakes.add(
          {"", 0, fmt::format("--{}", name), options.text(name), "--engine kubernetes beside it"});
  }
  return mistakes;
}

}  // namespace

CommandSpec serve_spec() {
  return {
      .name = "serve",
      .summary = "Run the control plane on this machine.",
      .about =
          "Accepts jobs over HTTP on loopback, or over HTTPS on a network, promises deadlines, "
          "starts, resizes and stops real "
          "processes. Everything it decides is durable before it is told, so it may be killed at "
          "any "
          "moment: jobs go on running, and the next start takes them over.",
      .options =
          {{.name = "state",
            .type = OptionType::file,
            .help = "The folder for the store, logs and the token. Default: $WEIR_STATE, or "
                    "~/.local/state/weir."},
           {.name = "engine",
            .type = OptionType::text,
            .default_text = "local",
            .choices = {"local", "kubernetes"},
            .help = "Where jobs run: processes of this machine, or the pods of a Kubernetes "
                    "cluster."},
           {.name = "mode",
            .type = OptionType::text,
            .choices = {"schedule", "observe"},
            .help = "schedule: weir decides. observe: another scheduler does; weir only reads, "
                    "explains and predicts. So far local schedules and kubernetes observes."},
           {.name = "kubeconfig",
            .type = OptionType::file,
            .help = "Where the Kubernetes cluster is. Default: $KUBECONFIG, ~/.kube/config, or the "
                    "service account of the pod weir runs in."},
           {.name = "context",
            .type = OptionType::text,
            .help = "The context of the kubeconfig to use, instead of its current one."},
           {.name = "pod-backoff",
            .type = OptionType::text,
            .unit = "duration",
            .default_text = "10s",
            .help = "podMaxBackoffSeconds of the kube-scheduler that is observed, if its "
                    "configuration changes it: predicted starts count with it."},
           {.name = "cluster",
            .type = OptionType::text,
            .help = "What may be used: nodes x GPUs x model, as in 1x8xA100, or a cluster file. "
                    "Default: the GPUs of this machine; without any, a slot for each CPU. Needed "
                    "only at the first start."},
           {.name = "port",
            .type = OptionType::integer,
            .default_text = "7070",
            .least = 0,
            .most = 65535,
            .help = "The port to listen on; 0: any free one."},
           {.name = "listen",
            .type = OptionType::text,
            .unit = "address",
            .default_text = "127.0.0.1",
            .help = "The address to listen on. Others than loopback need TLS; 0.0.0.0 and :: are "
                    "all of this machine."},
           {.name = "tls",
            .type = OptionType::text,
            .choices = {"generated"},
            .help = "generated: HTTPS with a certificate that weir makes in the state folder. Its "
                    "fingerprint is printed."},
           {.name = "tls-cert",
            .type = OptionType::file,
            .help = "HTTPS with this certificate (PEM), with those that signed it behind it."},
           {.name = "tls-key", .type = OptionType::file, .help = "Its private key (PEM)."},
           {.name = "rate-per-tenant",
            .type = OptionType::integer,
            .unit = "requests per second",
            .least = 1,
            .most = 1'000'000,
            .help = "For each tenant, and each viewer without one; twice as many at once. "
                    "Operators have no limit. Default: none on loopback, otherwise 100."},
           {.name = "rate-per-address",
            .type = OptionType::integer,
            .unit = "requests per second",
            .least = 1,
            .most = 1'000'000,
            .help = "For each address of clients; twice as many at once. Default: none on "
                    "loopback, otherwise 200."},
           {.name = "connections-per-address",
            .type = OptionType::integer,
            .unit = "connections",
            .least = 1,
            .most = 1024,
            .help = "For each address of clients. Default: any number on loopback, otherwise 64."},
           {.name = "policy",
            .type = OptionType::text,
            .default_text = "weir",
            .choices = policy_names(),
            .help = "How jobs are admitted and who gets GPUs; `weir policies` explains."},
           {.name = "tenants",
            .type = OptionType::file,
            .help = "Who shares the cluster: groups with guaranteed GPUs, maxima and weights "
                    "(YAML). Read at the start, and again on SIGHUP. Without it the tenants stay "
                    "as they were. With the policy weir."},
           {.name = "energy",
            .type = OptionType::file,
            .help = "What a kilowatt-hour costs here, what machines draw, and a budget, price or "
                    "power cap (YAML). Read at the start, and again on SIGHUP. Budgets, prices and "
                    "caps need the policy green; without one energy is counted. Without the option "
                    "nobody asks."},
           {.name = "curves",
            .type = OptionType::file,
            .help =
                "How fast known models train on 1, 2, 4, ... GPUs, for jobs that do not say: as "
                "for `weir simulate`."},
           gpu_file_option("Types of GPU that weir does not know (YAML), for jobs whose model is "
                           "planned."),
           {.name = "rescale",
            .type = OptionType::text,
            .unit = "duration",
            .default_text = "1s",
            .help = "What a start or a change of GPUs costs a job, in a new state folder; promises "
                    "count it. Later it is what changes were seen to take."},
           {.name = "rescale-per-doubling",
            .type = OptionType::text,
            .unit = "duration",
            .default_text = "0s",
            .help = "And for each doubling of the GPUs beside that."},
           {.name = "margin",
            .type = OptionType::integer,
            .unit = "percent",
            .default_text = "5",
            .least = 0,
            .most = 90,
            .help = "Training jobs are planned to be done with so much of the time until their "
                    "deadline to spare, for what nobody foresees."},
           reserve_option(),
           {.name = "warm-pool",
            .type = OptionType::integer,
            .unit = "processes",
            .default_text = "2",
            .least = 0,
            .most = 64,
            .help = "Interpreters that wait with their imports done, for jobs with `warm_start`."},
           {.name = "starts-at-once",
            .type = OptionType::integer,
            .unit = "jobs",
            .least = 1,
            .most = 10'000,
            .help = "Jobs that may be starting at the same time; others wait for their first step. "
                    "Default: two for each core."},
           {.name = "tenant-user",
            .type = OptionType::text_list,
            .unit = "TENANT=USER",
            .help = "The user of this machine as whom the jobs of a tenant run; others run as the "
                    "server's. Needs root. May be repeated."},
           {.name = "keep",
            .type = OptionType::text,
            .unit = "duration",
            .default_text = "30d",
            .help = "How long the history and the logs of jobs that are over are kept."},
           {.name = "snapshot-every",
            .type = OptionType::integer,
            .unit = "records",
            .default_text = "20000",
            .least = 10,
            .most = 10'000'000,
            .help = "How often the state is saved whole; a restart reads the records since then."},
           {.name = "accept-damage",
            .type = OptionType::flag,
            .help = "Start although part of the history is lost, if what is promised is still "
                    "certain."}},
      .examples = {{"weir serve --cluster 1x4xCPU", "Try it without a GPU."},
                   {"weir serve --state /srv/weir --port 8080", "Its own folder and port."},
                   {"weir serve --listen 0.0.0.0 --tls generated", "Open it to the network."},
                   {"weir serve --engine kubernetes --mode observe",
                    "Watch the cluster of the current kubectl context."}}};
}

Result<void> serve_command(const OptionValues& options, Console& console) {
  if (options.text("engine") == "kubernetes") return serve_observing(options, console);
  auto mistakes = kubernetes_options_in(options);
  mistakes.append(mistakes_of_doors(options));
  mistakes.append(mistakes_of_tenants(options));
  auto users = read_tenant_users(options, geteuid() == 0);
  if (!users) mistakes.append(users.error().details);
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  const auto durations = read_durations(options);
  if (!durations) return tl::unexpected<Error>(durations.error());
  const auto began = std::chrono::steady_clock::now();
  const StopSignals signals{options.has("tenants") || options.has("energy")};
  signal(SIGPIPE, SIG_IGN);
  auto state = open_state(options);
  if (!state) return tl::unexpected<Error>(std::move(state.error()));
  if (auto checked = check_users_can_enter(*users, (*state)->folder); !checked) return checked;
  control::Store& store = *(*state)->store;
  if (store.setting(kEngineSetting)) {
    return bad_input(Diagnostic{"", 0, "--state", "a state folder of a server that observes",
                                "another folder for this one, or --engine kubernetes"});
  }

  const auto gpus = engine::find_gpus();
  if (!gpus) return tl::unexpected<Error>(gpus.error());
  control::ControllerConfig config;
  auto cluster = choose_cluster(options, store, *gpus);
  if (!cluster) return tl::unexpected<Error>(std::move(cluster.error()));
  config.cluster = std::move(*cluster);
  auto policy = choose_policy(options, store);
  if (!policy) return tl::unexpected<Error>(std::move(policy.error()));
  config.policy = std::move(*policy);
  const auto tenants = read_tenants(options, config.cluster, config.policy);
  if (!tenants) return tl::unexpected<Error>(tenants.error());
  const auto energy = read_energy_file(options, config.cluster, config.policy);
  if (!energy) return tl::unexpected<Error>(energy.error());
  const auto reserve = choose_reserve(options, store, config.policy);
  if (!reserve) return tl::unexpected<Error>(reserve.error());
  config.training.reserve = formats::parse_reserve(*reserve).value_or(Reserve{});
  if (options.has("curves")) {
    auto curves = read_pool_curves(options.text("curves"), config.cluster);
    if (!curves) return tl::unexpected<Error>(std::move(curves.error()));
    config.curves = std::move(*curves);
  }
  auto gpu_types = read_gpu_file(options);
  if (!gpu_types) return tl::unexpected<Error>(std::move(gpu_types.error()));
  for (const PoolGpus& pool : pools_with_gpus(config.cluster)) {
    if (const auto note = note_on_choice(pool.gpu, gpu_types->catalogue))
      console.err << "note: for models that are planned, " << *note << "\n";
  }
  config.planner = curve_planner(std::move(gpu_types->catalogue));
  config.tenant_users = std::move(*users);
  config.rescale_cost = {durations->rescale, durations->rescale_per_doubling};
  config.margin_permille = static_cast<std::int32_t>(options.integer("margin")) * 10;
  config.keep_history = durations->keep;
  config.snapshot_every = static_cast<std::uint64_t>(options.integer("snapshot-every"));

  engine::LocalEngineOptions engine_options;
  engine_options.folder = (*state)->folder / "engine";
  for (const engine::GpuDevice& gpu : *gpus) engine_options.gpu_uuids.push_back(gpu.uuid);
  engine_options.most_spares = static_cast<std::size_t>(options.integer("warm-pool"));
  if (options.has("starts-at-once"))
    engine_options.most_starting = static_cast<std::size_t>(options.integer("starts-at-once"));
  auto engine = engine::make_local_engine(std::move(engine_options));
  if (!engine) return tl::unexpected<Error>(std::move(engine.error()));

  const auto gpu_control = engine::nvml_gpus();
  const bool is_one_node = config.cluster.nodes.size() == 1;
  if (options.has("energy") && is_one_node) config.gpus = gpu_control.get();
  auto reader = control::StoreReader::open((*state)->options);
  if (!reader) return tl::unexpected<Error>(std::move(reader.error()));
  control::Metrics metrics;
  auto controller =
      control::Controller::start(std::move(config), store, **reader, **engine, metrics);
  if (!controller) return tl::unexpected<Error>(std::move(controller.error()));

  if (*tenants) {
    if (auto told = tell_tenants(**controller, **tenants); !told)
      return tl::unexpected<Error>(std::move(told.error()));
  }

  ServedEnergy served_energy{**controller};
  if (auto told = served_energy.adopt(*energy, options.has("energy") ? options.text("energy") : "",
                                      console);
      !told)
    return tl::unexpected<Error>(std::move(told.error()));

  auto served =
      listen(options, **state, **controller, engine->get(), metrics,
             live_log_header((*controller)->config(),
                             options.has("curves") ? options.text("curves") : "", *reserve));
  if (!served) return tl::unexpected<Error>(std::move(served.error()));

  describe((*controller)->recovery(), console);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  const Cluster& used = (*controller)->config().cluster;
  console.err << fmt::format(
      "weir {} listens on {} after {:.2f} s\n  {} GPUs on {} node{}, policy {}, {}\n  state and "
      "token in {}\n  {}\n",
      kVersion, served->server->url(), seconds, used.gpu_count(), used.nodes.size(),
      used.nodes.size() == 1 ? "" : "s", (*controller)->config().policy, (*engine)->describe(),
      (*state)->folder.string(), dashboard_line(*served));
  console.err.flush();

  while (signals.wait() == SIGHUP) {
    if (options.has("tenants")) reload_tenants(options, **controller, console);
    if (options.has("energy")) reload_energy(options, **controller, served_energy, console);
  }
  console.err << "weir: stopping; jobs go on running, and the next `weir serve` takes them over\n";
  served->api->stop();
  served->server->stop();
  (*controller)->stop();
  return {};
}

}  // namespace weir::cli
