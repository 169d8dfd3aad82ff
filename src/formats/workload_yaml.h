// SPDX-License-Identifier: Apache-2.0
//
// A workload as people write it (`night.yaml`):
//
//   workload: {name: night}              # optional; default: the file's name
//   jobs:
//     - {name: bert, replicas: 4, cpus: 8, memory: 64GiB, gpus: 1, submit: 0s, runs: 2h30m}
//     - {name: notebook, count: 10, gpus: 1, share: 0.5, models: [T4, V100M16]}
//
//   name      `count: 10` makes notebook-1 to notebook-10
//   replicas  tasks that start together, default 1; what follows is of each task
//   cpus      cores, up to three decimals, default 0
//   memory    with unit KiB, MiB, GiB or TiB, default 0
//   gpus      0 to 16, default 0
//   share     of the GPU, 0.001 to 1, default 1; below 1 only with gpus: 1
//   models    GPU models it accepts, which the cluster must have; default any
//   runs      how long it runs; without it the job has no timing
//   submit    when it comes, since the start; default 0s
//
// At most 16 MiB of YAML (yaml_document.h) and a million jobs.
#pragma once

#include <filesystem>
#include <iosfwd>

#include "domain/cluster.h"
#include "domain/result.h"
#include "domain/workload.h"
#include "formats/input_file.h"

namespace weir::formats {

Result<Workload> read_workload_yaml(const std::filesystem::path& path, const Cluster& cluster);
Result<Workload> read_workload_yaml(InputFile input, const Cluster& cluster);

// Reading gives the same workload.
void write_workload_yaml(std::ostream& out, const Workload& workload, const Cluster& cluster);

}  // namespace weir::formats
