// SPDX-License-Identifier: Apache-2.0
#include "cli/serve_observing.h"

#include <fmt/format.h>

#include <chrono>
#include <mutex>
#include <ostream>

#include "cli/live_log_header.h"
#include "cli/observing_metrics.h"
#include "cli/serve_common.h"
#include "cli/serve_doors.h"
#include "cli/version.h"
#include "control/observer.h"
#include "engine/kubernetes/kubeconfig.h"
#include "engine/kubernetes/watched_cluster.h"
#include "formats/quantity_text.h"

namespace weir::cli {
namespace {

// What a server that observes has no use for, or cannot do yet.
Diagnostics mistakes_in(const OptionValues& options) {
  Diagnostics mistakes;
  if (options.has("mode") && options.text("mode") == "schedule") {
    mistakes.add(
        {"", 0, "--mode", "schedule", "observe: with --engine kubernetes weir only reads so far"});
  }
  for (const char* name :
       {"cluster", "policy", "tenants", "energy", "curves", "rescale", "rescale-per-doubling",
        "margin", "reserve", "warm-pool", "starts-at-once", "tenant-user"}) {
    if (!options.is_given(name)) continue;
    mistakes.add({"", 0, fmt::format("--{}", name), "given",
                  "leave it out: the cluster has its own scheduler"});
  }
  return mistakes;
}

// A state folder belongs to one kind of server.
Result<void> claim(control::Store& store) {
  const auto stored = store.setting(kEngineSetting);
  if (stored && *stored == "kubernetes") return {};
  if (stored || store.setting("cluster")) {
    return bad_input(Diagnostic{"", 0, "--state", "a state folder of a server that schedules",
                                "another folder for this one"});
  }
  return store.set_setting(kEngineSetting, "kubernetes");
}

}  // namespace

Result<void> serve_observing(const OptionValues& options, Console& console) {
  Diagnostics mistakes = mistakes_in(options);
  mistakes.append(mistakes_of_doors(options));
  const auto keep = formats::parse_duration(options.text("keep"));
  if (!keep)
    mistakes.add({"", 0, "--keep", options.text("keep"), "a duration like 30m, 12h or 30d"});
  const auto backoff = formats::parse_duration(options.text("pod-backoff"));
  if (!backoff)
    mistakes.add({"", 0, "--pod-backoff", options.text("pod-backoff"), "a duration like 10s"});
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  const auto began = std::chrono::steady_clock::now();
  const StopSignals signals;
  signal(SIGPIPE, SIG_IGN);

  engine::kubernetes::ServerSearch search;
  if (options.has("kubeconfig")) search.kubeconfig = options.text("kubeconfig");
  if (options.has("context")) search.context = options.text("context");
  auto server = engine::kubernetes::find_api_server(search, control::machine_clocks().wall());
  if (!server) return tl::unexpected<Error>(std::move(server.error()));
  auto state = open_state(options);
  if (!state) return tl::unexpected<Error>(std::move(state.error()));
  if (auto claimed = claim(*(*state)->store); !claimed) return claimed;

  std::mutex writing;
  engine::kubernetes::WatchedClusterOptions watch;
  watch.server = *server;
  watch.user_agent = fmt::format("weir/{} (observe)", kVersion);
  watch.observe.predict.longest_backoff = to_seconds(*backoff);
  watch.learned = (*state)->folder / "learned.json";
  watch.log = [&](const std::string& line) {
    const std::lock_guard lock{writing};
    console.err << "weir: " << line << std::endl;
  };
  auto cluster = engine::kubernetes::WatchedCluster::make(std::move(watch));
  if (!cluster) return tl::unexpected<Error>(std::move(cluster.error()));
  auto reader = control::StoreReader::open((*state)->options);
  if (!reader) return tl::unexpected<Error>(std::move(reader.error()));
  control::Metrics metrics;
  control::ObserverConfig config;
  config.keep_history = *keep;
  config.snapshot_every = static_cast<std::uint64_t>(options.integer("snapshot-every"));
  auto observer = control::Observer::start(config, *(*state)->store, **reader, **cluster, metrics);
  if (!observer) return tl::unexpected<Error>(std::move(observer.error()));
  auto served = listen(options, **state, **observer, nullptr, metrics, observed_log_header(), [&] {
    refresh_metrics(metrics, **cluster, control::machine_clocks().wall());
  });
  if (!served) return tl::unexpected<Error>(std::move(served.error()));

  {
    const std::lock_guard lock{writing};
    describe((*observer)->recovery(), console);
    console.err << fmt::format(
        "weir {} listens on {} after {:.2f} s\n  {}, changes nothing there\n  state and token in "
        "{}\n  {}\n",
        kVersion, served->server->url(),
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(),
        (*cluster)->describe(), (*state)->folder.string(), dashboard_line(*served));
    console.err.flush();
  }
  signals.wait();
  {
    const std::lock_guard lock{writing};
    console.err << "weir: stopping; the cluster goes on as before\n";
  }
  served->api->stop();
  served->server->stop();
  (*observer)->stop();
  return {};
}

}  // namespace weir::cli
