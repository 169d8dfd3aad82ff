// SPDX-License-Identifier: Apache-2.0
//
// One look at a cluster: what waits and why, what would start it and when it will start, which GPUs lie idle.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "observe/kubernetes/calibration.h"
#include "observe/kubernetes/durations.h"
#include "observe/kubernetes/explanation.h"
#include "observe/kubernetes/predict.h"
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
  std::optional<WaitBand> raw;  // as played, before calibration
  std::string no_prediction;    // why there is none
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

struct ObserveOptions {
  PredictOptions predict;
  // Workloads for which changes are searched, oldest first; the others are explained without. Bounds the time of a look.
  std::size_t most_changes = 200;
};

// Pure: the same objects, knowledge and seed give the same observation. `version` and `sources` are left empty.
Observation observe(const ClusterObjects& objects, const LearnedDurations& learned,
                    const Calibration& calibration, const ObserveOptions& options = {});

// Tells the calibration what was predicted now, by the names of the pods ("namespace/name"). Call it after `observe`,
// and Calibration::started or gone when pods start or vanish.
void note_predictions(const Observation& observation, Calibration& calibration);

}  // namespace weir::observe
