// SPDX-License-Identifier: Apache-2.0
#include "cli/observe_command.h"

#include <fmt/format.h>

#include <chrono>
#include <limits>
#include <map>
#include <mutex>
#include <ostream>

#include "cli/observe_text.h"
#include "cli/version.h"
#include "control/live_clock.h"
#include "engine/kubernetes/kubeconfig.h"
#include "engine/kubernetes/look_at_cluster.h"
#include "engine/kubernetes/watched_cluster.h"
#include "formats/quantity_text.h"

namespace weir::cli {
namespace {

using engine::kubernetes::ClusterCache;
using engine::kubernetes::SourceState;
using engine::kubernetes::SourceStatus;

// Waits for the first look at every kind, and shows that it goes on.
bool wait_for(const ClusterCache& cache, Duration at_most, Console& console) {
  const auto end = std::chrono::steady_clock::now() + at_most;
  bool is_shown = false;
  while (!cache.wait_until_synced(std::chrono::milliseconds{500})) {
    if (std::chrono::steady_clock::now() >= end) break;
    std::uint64_t objects = 0;
    for (const SourceStatus& source : cache.sources()) objects += source.objects;
    if (console.err_is_terminal) {
      console.err << fmt::format("\rreading the cluster: {} objects", objects) << std::flush;
      is_shown = true;
    }
  }
  if (is_shown) console.err << "\r\x1b[K" << std::flush;
  return cache.wait_until_synced(std::chrono::milliseconds{0});
}

// Says why, a line for each reason.
tl::unexpected<Error> cannot_read(const std::vector<SourceStatus>& sources, Duration waited,
                                  Console& console) {
  std::map<std::string, std::string> kinds_by_reason;
  for (const SourceStatus& source : sources) {
    if (source.is_known) continue;
    std::string& kinds = kinds_by_reason[source.detail];
    kinds += (kinds.empty() ? "" : ", ") + std::string{info_of(source.kind).name};
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(waited).count();
  for (const auto& [reason, kinds] : kinds_by_reason) {
    console.err << fmt::format("{}\n  in {} s; --timeout waits longer; not read: {}\n",
                               reason.empty() ? "the API server does not answer" : reason, seconds,
                               kinds);
  }
  return tl::unexpected<Error>(Error{ErrorCode::unavailable, {}});
}

}  // namespace

CommandSpec observe_spec() {
  return {
      .name = "observe",
      .summary = "Look at a Kubernetes cluster: what waits, why, and what would start it.",
      .about =
          "Reads the cluster once and tells, for each workload that waits: which constraint holds "
          "it, "
          "on how many nodes, the smallest change that would start it, and when it will probably "
          "start. Works beside any scheduler, needs only a role that may get, list and watch, and "
          "changes nothing. `weir serve --engine kubernetes --mode observe` does the same all the "
          "time, with a page.",
      .options = {{.name = "kubeconfig",
                   .type = OptionType::file,
                   .help =
                       "Where the cluster is. Default: $KUBECONFIG, ~/.kube/config, or the service "
                       "account of the pod weir runs in."},
                  {.name = "context",
                   .type = OptionType::text,
                   .help = "The context of the kubeconfig to use, instead of its current one."},
                  {.name = "learned",
                   .type = OptionType::file,
                   .help =
                       "What is learnt of how long pods run is kept in this file, from one look to "
                       "the next. Without it only pods that are still listed teach anything."},
                  {.name = "pod-backoff",
                   .type = OptionType::text,
                   .unit = "duration",
                   .default_text = "10s",
                   .help = "podMaxBackoffSeconds of the cluster's kube-scheduler, if its "
                           "configuration changes it: predicted starts count with it."},
                  {.name = "timeout",
                   .type = OptionType::text,
                   .unit = "duration",
                   .default_text = "20s",
                   .help = "How long to wait for the API server."},
                  {.name = "all",
                   .type = OptionType::flag,
                   .help = "Tell of every workload that waits, not only of the first 20."},
                  {.name = "json",
                   .type = OptionType::flag,
                   .help = "Print JSON for programs instead of text for people."}},
      .examples = {{"weir observe", "The cluster of the current kubectl context."},
                   {"weir observe --kubeconfig lab.yaml --json", "For a program."}}};
}

Result<void> observe_command(const OptionValues& options, Console& console) {
  const auto timeout = formats::parse_duration(options.text("timeout"));
  const auto backoff = formats::parse_duration(options.text("pod-backoff"));
  if (!backoff) {
    return bad_input(
        Diagnostic{"", 0, "--pod-backoff", options.text("pod-backoff"), "a duration like 10s"});
  }
  if (!timeout) {
    return bad_input(
        Diagnostic{"", 0, "--timeout", options.text("timeout"), "a duration like 30s or 2m"});
  }
  engine::kubernetes::ServerSearch search;
  if (options.has("kubeconfig")) search.kubeconfig = options.text("kubeconfig");
  if (options.has("context")) search.context = options.text("context");
  auto server = engine::kubernetes::find_api_server(search, control::machine_clocks().wall());
  if (!server) return tl::unexpected<Error>(std::move(server.error()));
  observe::ObserveOptions observing;
  observing.predict.longest_backoff = to_seconds(*backoff);
  engine::kubernetes::ClusterLooker looker{observing};
  if (options.has("learned")) {
    if (auto loaded = looker.load(options.text("learned")); !loaded)
      return tl::unexpected<Error>(std::move(loaded.error()));
  }

  engine::kubernetes::ClusterCacheSettings settings;
  settings.client.user_agent = fmt::format("weir/{} (observe)", kVersion);
  settings.watches = false;
  ClusterCache cache{*server, std::move(settings)};
  cache.on_change([&](const engine::kubernetes::ObjectChange& change) {
    const auto* before = std::get_if<std::shared_ptr<const observe::Pod>>(&change.before);
    const auto* after = std::get_if<std::shared_ptr<const observe::Pod>>(&change.after);
    if (before != nullptr || after != nullptr)
      looker.learn(before == nullptr ? nullptr : *before, after == nullptr ? nullptr : *after);
  });
  cache.start();
  if (!wait_for(cache, *timeout, console)) return cannot_read(cache.sources(), *timeout, console);
  observe::ClusterObjects objects = cache.snapshot();
  objects.at = control::machine_clocks().wall();
  const auto sources = cache.sources();
  cache.stop();
  const std::string version =
      engine::kubernetes::server_version(*server, fmt::format("weir/{} (observe)", kVersion));
  const auto look = looker.look(objects, sources, version);
  if (options.has("learned")) {
    if (auto saved = looker.save(options.text("learned")); !saved) return saved;
  }
  if (options.flag("json")) {
    console.out << look.insight.json << "\n";
    return {};
  }
  ObserveTextOptions text;
  if (options.flag("all")) text.most_workloads = std::numeric_limits<std::size_t>::max();
  console.out << observation_text(look.observation,
                                  fmt::format("Kubernetes {} at {}", version, server->url),
                                  engine::kubernetes::trouble_of(sources), text);
  return {};
}

}  // namespace weir::cli
