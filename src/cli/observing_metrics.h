// SPDX-License-Identifier: Apache-2.0
//
// What a watched Kubernetes cluster adds to /metrics: how the watches are, how old the picture is, what requests cost.
#pragma once

#include "control/metrics.h"
#include "engine/kubernetes/watched_cluster.h"

namespace weir::cli {

// Brings the figures up to date.
void refresh_metrics(control::Metrics& metrics, const engine::kubernetes::WatchedCluster& cluster,
                     Time now);

}  // namespace weir::cli
