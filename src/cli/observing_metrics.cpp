// SPDX-License-Identifier: Apache-2.0
#include "cli/observing_metrics.h"

#include <algorithm>
#include <string>

namespace weir::cli {
namespace {

using engine::kubernetes::CacheFigures;
using engine::kubernetes::info_of;
using engine::kubernetes::resource_kinds;
using engine::kubernetes::SourceState;
using engine::kubernetes::SourceStatus;
using engine::kubernetes::WatchEventType;

void count_up_to(control::Counter& counter, std::uint64_t value) {
  if (value > counter.value()) counter.add(value - counter.value());
}

void refresh_source(control::Metrics& metrics, const SourceStatus& source, Time now) {
  const control::Labels kind{{"kind", std::string{info_of(source.kind).name}}};
  metrics.gauge("weir_kube_objects", "Objects of a kind in the cache.", kind)
      .set(static_cast<double>(source.objects));
  const bool is_live = source.state == SourceState::watching || source.state == SourceState::absent;
  metrics
      .gauge("weir_kube_watching", "1 when the kind is watched, or the server has no such kind.",
             kind)
      .set(is_live ? 1 : 0);
  metrics
      .gauge("weir_kube_stale_seconds", "For how long the kind has not been watched; 0: it is.",
             kind)
      .set(is_live ? 0 : std::max(0.0, to_seconds(now - source.since)));
  count_up_to(metrics.counter("weir_kube_relists_total", "Lists after the first.", kind),
              source.relists());
  count_up_to(metrics.counter("weir_kube_watch_restarts_total", "Watches after the first.", kind),
              source.restarts());
  count_up_to(metrics.counter("weir_kube_gone_total",
                              "Times the server no longer had the history (410).", kind),
              source.lost);
  count_up_to(
      metrics.counter("weir_kube_errors_total", "Failed requests and broken streams.", kind),
      source.errors);
  count_up_to(
      metrics.counter("weir_kube_unreadable_total", "Objects that could not be read.", kind),
      source.mistakes);
  count_up_to(metrics.counter("weir_kube_bytes_total", "Bytes of answers.", kind), source.bytes);
}

}  // namespace

void refresh_metrics(control::Metrics& metrics, const engine::kubernetes::WatchedCluster& cluster,
                     Time now) {
  for (const SourceStatus& source : cluster.sources()) refresh_source(metrics, source, now);
  const CacheFigures figures = cluster.figures();
  for (const auto& info : resource_kinds()) {
    const auto& counts = figures.events[static_cast<std::size_t>(info.kind)];
    for (std::size_t type = 0; type < counts.size(); ++type) {
      if (counts[type] == 0) continue;
      count_up_to(
          metrics.counter("weir_kube_events_total", "Events of watches.",
                          {{"kind", std::string{info.name}},
                           {"type", std::string{to_string(static_cast<WatchEventType>(type))}}}),
          counts[type]);
    }
  }
  const auto quantile = [&](const char* name, const char* help, control::Labels labels,
                            const auto& times) {
    for (const auto& [text, q] : {std::pair{"0.5", 0.5}, {"0.99", 0.99}}) {
      control::Labels all = labels;
      all.emplace_back("quantile", text);
      metrics.gauge(name, help, std::move(all)).set(to_seconds(times.quantile(q)));
    }
  };
  quantile("weir_kube_apply_seconds", "From an event's last byte until the cache has it.", {},
           figures.apply);
  for (const auto& [key, times] : figures.requests) {
    const control::Labels labels{{"verb", key.first}, {"code", std::to_string(key.second)}};
    count_up_to(metrics.counter("weir_kube_requests_total", "Requests by verb and status.", labels),
                times.count());
    if (key.first != "watch")
      quantile("weir_kube_request_seconds", "How long the API server took.", labels, times);
  }
}

}  // namespace weir::cli
