// SPDX-License-Identifier: Apache-2.0
//
// One look at a cluster: what waits and why, what would start it and when it will start, which GPUs lie idle.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "observe/kubernetes/explanation.h"
#include "observe/kubernetes/stranded.h"

namespace weir::observe {

struct StartBand {
  Time low;
  Time median;
  Time high;
  std::string basis;  // how it was predicted, one sentence
};

struct PendingObservation {
  PendingWorkload workload;
  Explanation explanation;
  std::optional<StartBand> predicted_start;
  std::string no_prediction;  // why there is none
};

// What the client knows of a kind of objects; filled by the caller.
struct SourceState {
  std::string kind;
  std::size_t objects = 0;
  std::string state;  // listing, watching, retrying, forbidden, absent
  std::string detail;
};

struct Observation {
  Time at;
  std::string version;  // of the API server; filled by the caller
  std::vector<SourceState> sources;
  ClusterSummary cluster;
  std::vector<PendingObservation> pending;
};

}  // namespace weir::observe
