// SPDX-License-Identifier: Apache-2.0
//
// What the cache of a cluster holds, for tests that compare it with the server.
//
//   kube_cache_dump --kubeconfig FILE [--context NAME] [--kinds pods,nodes] [--timeout SECONDS]
//
// Prints `synced in X s, N objects, RSS M MB`, then answers lines of standard input, one line of JSON each:
//   snapshot   {"pods": {"team-a/x": [uid, resourceVersion], ...}, ...}
//   sources    [{"kind", "objects", "state", "detail", ...}, ...]
//   stats      counts, times of events, memory
//   quit
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/kubernetes/cluster_cache.h"
#include "engine/kubernetes/kubeconfig.h"
#include "formats/time_text.h"

namespace {

using namespace weir;
using namespace weir::engine::kubernetes;
using nlohmann::ordered_json;

struct Arguments {
  ServerSearch search;
  std::vector<ResourceKind> kinds;
  std::chrono::seconds timeout{60};
};

std::vector<ResourceKind> kinds_named(std::string list) {
  std::vector<ResourceKind> kinds;
  list += ',';
  for (std::size_t end = list.find(','); end != std::string::npos; end = list.find(',')) {
    const std::string name = list.substr(0, end);
    list.erase(0, end + 1);
    for (const ResourceKindInfo& info : resource_kinds()) {
      if (info.name == name) kinds.push_back(info.kind);
    }
  }
  return kinds;
}

bool read_arguments(int count, char** values, Arguments& arguments) {
  for (int i = 1; i < count; ++i) {
    const std::string option = values[i];
    const std::string value = i + 1 < count ? values[i + 1] : "";
    if (option == "--watch") continue;
    if (option == "--kubeconfig") {
      arguments.search.kubeconfig = value;
    } else if (option == "--context") {
      arguments.search.context = value;
    } else if (option == "--kinds") {
      arguments.kinds = kinds_named(value);
    } else if (option == "--timeout") {
      arguments.timeout = std::chrono::seconds{std::stol(value)};
    } else {
      return false;
    }
    ++i;
  }
  return true;
}

// Of this process, in MB.
double resident_megabytes() {
  std::ifstream file{"/proc/self/statm"};
  std::uint64_t pages = 0;
  file >> pages >> pages;
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

template <class Object>
ordered_json versions_of(const observe::ObjectMap<Object>& objects) {
  ordered_json all = ordered_json::object();
  for (const auto& [key, object] : objects) {
    all[key] = {object->meta.uid, object->meta.version};
  }
  return all;
}

ordered_json snapshot_json(const observe::ClusterObjects& all) {
  return {{"nodes", versions_of(all.nodes)},
          {"pods", versions_of(all.pods)},
          {"jobs", versions_of(all.jobs)},
          {"jobsets", versions_of(all.job_sets)},
          {"podgroups", versions_of(all.pod_groups)},
          {"workloads", versions_of(all.kueue_workloads)},
          {"resourcequotas", versions_of(all.quotas)},
          {"priorityclasses", versions_of(all.priority_classes)},
          {"namespaces", versions_of(all.namespaces)},
          {"persistentvolumeclaims", versions_of(all.volume_claims)},
          {"persistentvolumes", versions_of(all.volumes)},
          {"storageclasses", versions_of(all.storage_classes)}};
}

ordered_json sources_json(const ClusterCache& cache) {
  ordered_json all = ordered_json::array();
  for (const SourceStatus& source : cache.sources()) {
    all.push_back(
        {{"kind", info_of(source.kind).name},
         {"objects", source.objects},
         {"state", to_string(source.state)},
         {"detail", source.detail},
         {"since", formats::format_time(source.since)},
         {"last_event", source.last_event ? ordered_json(formats::format_time(*source.last_event))
                                          : ordered_json()},
         {"relists", source.relists()},
         {"restarts", source.restarts()},
         {"lost", source.lost},
         {"errors", source.errors},
         {"mistakes", source.mistakes},
         {"bytes", source.bytes}});
  }
  return all;
}

double milliseconds(Duration time) {
  return to_seconds(time) * 1e3;
}

ordered_json stats_json(const ClusterCache& cache, std::uint64_t changes) {
  const CacheFigures figures = cache.figures();
  ordered_json events = ordered_json::object();
  for (const ResourceKindInfo& info : resource_kinds()) {
    const auto& counts = figures.events[static_cast<std::size_t>(info.kind)];
    for (std::size_t type = 0; type < counts.size(); ++type) {
      if (counts[type] == 0) continue;
      events[std::string{info.name}][std::string{to_string(static_cast<WatchEventType>(type))}] =
          counts[type];
    }
  }
  ordered_json requests = ordered_json::array();
  for (const auto& [key, times] : figures.requests) {
    requests.push_back({{"verb", key.first},
                        {"code", key.second},
                        {"count", times.count()},
                        {"p50_ms", milliseconds(times.quantile(0.5))},
                        {"p99_ms", milliseconds(times.quantile(0.99))}});
  }
  return {{"changes", changes},
          {"events", events},
          {"apply",
           {{"count", figures.apply.count()},
            {"p50_ms", milliseconds(figures.apply.quantile(0.5))},
            {"p99_ms", milliseconds(figures.apply.quantile(0.99))},
            {"max_ms", milliseconds(figures.apply.most())}}},
          {"requests", requests},
          {"rss_mb", resident_megabytes()}};
}

std::uint64_t count_objects(const ClusterCache& cache) {
  std::uint64_t objects = 0;
  for (const SourceStatus& source : cache.sources()) objects += source.objects;
  return objects;
}

void answer_lines(const ClusterCache& cache, const std::atomic<std::uint64_t>& changes) {
  for (std::string line; std::getline(std::cin, line) && line != "quit";) {
    if (line == "snapshot") {
      std::cout << snapshot_json(cache.snapshot()).dump() << std::endl;
    } else if (line == "sources") {
      std::cout << sources_json(cache).dump() << std::endl;
    } else if (line == "stats") {
      std::cout << stats_json(cache, changes).dump() << std::endl;
    } else if (!line.empty()) {
      std::cout << R"({"error":"write snapshot, sources, stats or quit"})" << std::endl;
    }
  }
}

}  // namespace

int main(int count, char** values) {
  Arguments arguments;
  if (!read_arguments(count, values, arguments)) {
    std::cerr << "usage: kube_cache_dump --kubeconfig FILE [--context NAME] [--kinds a,b] "
                 "[--timeout SECONDS]\n";
    return 2;
  }
  const auto now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  const auto server = find_api_server(arguments.search, now);
  if (!server) {
    std::cerr << to_string(server.error().details);
    return static_cast<int>(exit_code_of(server.error().code));
  }
  ClusterCacheSettings settings;
  settings.kinds = arguments.kinds;
  settings.log = [](const std::string& line) { std::cerr << line << std::endl; };
  std::atomic<std::uint64_t> changes{0};
  ClusterCache cache{*server, std::move(settings)};
  cache.on_change([&](const ObjectChange&) { ++changes; });
  const auto begin = std::chrono::steady_clock::now();
  cache.start();
  const bool is_synced = cache.wait_until_synced(arguments.timeout);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::cout << (is_synced ? "synced in " : "not synced in ") << took.count() << " s, "
            << count_objects(cache) << " objects, RSS " << resident_megabytes() << " MB"
            << std::endl;
  answer_lines(cache, changes);
  cache.stop();
  return is_synced ? 0 : 1;
}
