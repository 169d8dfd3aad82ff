// SPDX-License-Identifier: Apache-2.0
//
// A Kubernetes cluster as a source of observations: the cache, what is learnt from it, and every few seconds a look at
// what waits and why. It only reads.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "domain/observation_source.h"
#include "domain/result.h"
#include "engine/kubernetes/cluster_cache.h"
#include "observe/kubernetes/observation.h"

namespace weir::engine::kubernetes {

struct WatchedClusterOptions {
  ApiServer server;
  std::string user_agent;
  std::filesystem::path learned;  // what was learnt is kept in that file; empty: not kept
  Duration look_every =
      std::chrono::seconds{3};  // at the soonest, and never more than a fifth of the time
  observe::ObserveOptions observe;
  std::function<void(const std::string& line)> log;
};

class WatchedCluster : public ObservationSource {
 public:
  static Result<std::unique_ptr<WatchedCluster>> make(WatchedClusterOptions options);

  // Of the cache, for metrics.
  virtual CacheFigures figures() const = 0;
  virtual std::vector<SourceStatus> sources() const = 0;
};

// What is wrong with the sources, one sentence; empty: nothing.
std::string trouble_of(const std::vector<SourceStatus>& sources);

// "v1.36.4"; empty when the server does not say.
std::string server_version(ApiServer server, const std::string& user_agent);

}  // namespace weir::engine::kubernetes
