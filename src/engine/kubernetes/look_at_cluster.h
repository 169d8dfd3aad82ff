// SPDX-License-Identifier: Apache-2.0
//
// A look at a cluster with all that was learnt of it so far: why things wait, when they will start. Keeps what pods
// teach: how long they run, and what came true of the predictions. learn() may be called on any thread and is quick;
// the rest is for one thread.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "domain/observation_source.h"
#include "domain/result.h"
#include "engine/kubernetes/source_status.h"
#include "observe/kubernetes/objects.h"
#include "observe/kubernetes/observation.h"

namespace weir::engine::kubernetes {

struct ClusterLook {
  observe::Observation observation;
  ClusterInsight insight;
};

class ClusterLooker {
 public:
  explicit ClusterLooker(observe::ObserveOptions options = {});
  ~ClusterLooker();
  ClusterLooker(ClusterLooker&&) noexcept;

  using PodPointer = std::shared_ptr<const observe::Pod>;
  // A pod came, changed or went. `before` null: it is new; `after` null: it is gone. Counts from the next look on.
  void learn(PodPointer before, PodPointer after);
  ClusterLook look(const observe::ClusterObjects& objects, const std::vector<SourceStatus>& sources,
                   const std::string& version);

  // What was learnt, in a file. Loading a file that is not there teaches nothing.
  Result<void> load(const std::filesystem::path& file);
  Result<void> save(const std::filesystem::path& file) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::engine::kubernetes
