// SPDX-License-Identifier: Apache-2.0
//
// The node and pod lists of Alibaba's GPU-sharing trace ("openb", 2023), as published, gzip
// included.
//
//   nodes: sn,cpu_milli,memory_mib,gpu,model
//   tasks:
//   name,cpu_milli,memory_mib,num_gpu,gpu_milli[,gpu_spec][,creation_time,deletion_time[,scheduled_time]]
//
// Columns may stand in any order; others (qos, pod_phase) are ignored. Each GPU model is a pool of
// that name; nodes without GPUs are the pool "cpu". A node's id is its row, from 1.
//
// A task asks for num_gpu GPUs of gpu_milli each: 1..1000 of one GPU, 1000 of each of several, or
// 0 of none. gpu_spec lists the models it accepts, joined by |; empty means any.
//
// Times are seconds since the start of the trace. A task was submitted at creation_time and ran
// from scheduled_time (creation_time where that is empty: the pod never left the queue) to
// deletion_time. With both creation_time and deletion_time empty, or without the columns, it has no
// timing.
#pragma once

#include <filesystem>
#include <iosfwd>

#include "domain/cluster.h"
#include "domain/result.h"
#include "domain/workload.h"
#include "formats/input_file.h"

namespace weir::formats {

Result<Cluster> read_openb_nodes(const std::filesystem::path& path);
Result<Cluster> read_openb_nodes(InputFile input);

// Models in gpu_spec must be known to the cluster.
Result<Workload> read_openb_tasks(const std::filesystem::path& path, const Cluster& cluster);
Result<Workload> read_openb_tasks(InputFile input, const Cluster& cluster);

// Pools other than those of the models are not kept: the format has no word for them.
void write_openb_nodes(std::ostream& out, const Cluster& cluster);

// The error names the jobs that the format cannot hold (gangs). Time columns are written when at
// least one job has timing.
Result<void> write_openb_tasks(std::ostream& out, const Workload& workload, const Cluster& cluster);

}  // namespace weir::formats
