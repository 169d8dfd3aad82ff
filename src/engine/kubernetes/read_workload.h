// SPDX-License-Identifier: Apache-2.0
//
// What makes pods or holds them together: Jobs, JobSets, two kinds of pod groups, Kueue's Workloads.
#pragma once

#include "engine/kubernetes/json_fields.h"

namespace weir::engine::kubernetes {

observe::Workload read_job(const JsonFields& object);
observe::Workload read_job_set(const JsonFields& object);
// scheduling.x-k8s.io and scheduling.volcano.sh.
observe::Workload read_pod_group(const JsonFields& object);
observe::Workload read_kueue_workload(const JsonFields& object);

}  // namespace weir::engine::kubernetes
