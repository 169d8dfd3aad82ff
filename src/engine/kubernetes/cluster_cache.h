// SPDX-License-Identifier: Apache-2.0
//
// All watched objects of a cluster, kept equal to the server's by one thread per kind. Thread-safe.
//
//   ClusterCache cache{server, settings};
//   cache.on_change([](const ObjectChange& change) { ... });
//   cache.start();
//   if (!cache.wait_until_synced(20s)) ... cache.sources() says which kinds are missing and why
//   const observe::ClusterObjects now = cache.snapshot();
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/kubernetes/api_client.h"
#include "engine/kubernetes/latency_histogram.h"
#include "engine/kubernetes/reflector.h"
#include "engine/kubernetes/source_status.h"
#include "observe/kubernetes/objects.h"

namespace weir::engine::kubernetes {

// `before` none: it is new. `after` none: it is gone. An object that was replaced by another of the same name (another
// uid) goes first and then comes.
struct ObjectChange {
  ResourceKind kind = ResourceKind::nodes;
  std::string key;
  AnyObject before;
  AnyObject after;
};

struct ClusterCacheSettings {
  ApiClientSettings client;
  ReflectorSettings reflector;
  std::uint64_t seed = 0;           // of the random waits
  std::vector<ResourceKind> kinds;  // empty: all
  bool watches = true;              // false: every kind is listed once, for a look at this moment
  std::function<void(const std::string& line)> log;
};

// What was counted since the start.
struct CacheFigures {
  // Events of watches by kind, then by WatchEventType.
  std::array<std::array<std::uint64_t, 5>, kResourceKinds> events{};
  // From the whole line of an event to the last callback's return.
  LatencyHistogram apply;
  // By verb ("get", "watch") and status; status 0: no answer. Watches last as long as they are open.
  std::map<std::pair<std::string, int>, LatencyHistogram> requests;
};

class ClusterCache {
 public:
  ClusterCache(ApiServer server, ClusterCacheSettings settings);
  ~ClusterCache();  // stops
  ClusterCache(const ClusterCache&) = delete;
  ClusterCache& operator=(const ClusterCache&) = delete;

  // Called for every change, one at a time and in the order of the changes, when the cache has it already, on a
  // thread that watches: it must be quick. It may ask the cache. Requires: not started.
  void on_change(std::function<void(const ObjectChange&)> callback);

  void start();
  // May take a second. Nothing is called afterwards.
  void stop();

  // Every kind has been listed, or is known to be absent or forbidden.
  bool wait_until_synced(std::chrono::milliseconds at_most) const;

  // Every kind as of one moment. Copies pointers: about a millisecond for 10,000 objects.
  observe::ClusterObjects snapshot() const;
  // In the order of ResourceKind.
  std::vector<SourceStatus> sources() const;
  CacheFigures figures() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::engine::kubernetes
