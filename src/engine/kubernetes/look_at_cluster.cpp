// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/look_at_cluster.h"

#include <mutex>
#include <nlohmann/json.hpp>

#include "observe/kubernetes/explain.h"
#include "observe/kubernetes/observation_json.h"
#include "observe/kubernetes/pending.h"

namespace weir::engine::kubernetes {

class ClusterLooker::Impl {
 public:
  std::mutex mutex;
};

ClusterLooker::ClusterLooker() : impl_{std::make_unique<Impl>()} {}
ClusterLooker::~ClusterLooker() = default;
ClusterLooker::ClusterLooker(ClusterLooker&&) noexcept = default;

void ClusterLooker::learn(const observe::Pod*, const std::shared_ptr<const observe::Pod>&) {}

ClusterLook ClusterLooker::look(const observe::ClusterObjects& objects,
                                const std::vector<SourceStatus>& sources,
                                const std::string& version) {
  ClusterLook look;
  look.observation.at = objects.at;
  observe::Explainer explainer{objects};
  for (observe::PendingWorkload& workload : observe::pending_workloads(objects)) {
    observe::PendingObservation pending;
    pending.explanation = explainer.explain(workload);
    pending.workload = std::move(workload);
    look.observation.pending.push_back(std::move(pending));
  }
  look.observation.version = version;
  for (const SourceStatus& source : sources) {
    look.observation.sources.push_back({std::string{info_of(source.kind).name}, source.objects,
                                        std::string{to_string(source.state)}, source.detail});
  }
  look.insight.json = to_json(look.observation);
  look.insight.gpus_fragmented = look.observation.cluster.gpus_fragmented;
  const auto json = nlohmann::ordered_json::parse(look.insight.json);
  for (std::size_t i = 0; i < look.observation.pending.size(); ++i) {
    const observe::PendingObservation& pending = look.observation.pending[i];
    const std::string waits = json["pending"][i].dump();
    for (const auto& pod : pending.workload.pods) {
      TaskInsight task{pod->meta.uid, waits, std::nullopt};
      if (pending.predicted_start) task.expected_start = pending.predicted_start->median;
      look.insight.tasks.push_back(std::move(task));
    }
  }
  return look;
}

Result<void> ClusterLooker::load(const std::filesystem::path&) {
  return {};
}
Result<void> ClusterLooker::save(const std::filesystem::path&) const {
  return {};
}

}  // namespace weir::engine::kubernetes
