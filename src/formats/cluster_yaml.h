// SPDX-License-Identifier: Apache-2.0
//
// A cluster as people write it (`lab.yaml`):
//
//   cluster: {name: lab}                 # optional; default: the file's name
//   nodes:
//     - {name: "gpu-[01-16]", cpus: 96, memory: 384GiB, gpus: 8, model: A100, pool: a100}
//     - {name: login, count: 2, cpus: 16, memory: 64GiB}
//
//   name    one node, or many: a range in brackets, or `count: 2` for login-1 and login-2
//   cpus    cores, up to three decimals
//   memory  with unit KiB, MiB, GiB or TiB; a whole number of MiB
//   gpus    0 to 16, default 0; `model` is required with GPUs and refused without
//   pool    default: the model's name, or "cpu"
//   rack    what fails together, for `weir what-if --lose`; default: none. Never the name of a node
//
// (Brackets inside { } need the quotes: that is YAML's rule, not weir's.)
// At most 16 MiB of YAML (yaml_document.h) and a million nodes. Node ids count from 1.
#pragma once

#include <filesystem>
#include <iosfwd>

#include "domain/cluster.h"
#include "domain/result.h"
#include "formats/input_file.h"

namespace weir::formats {

Result<Cluster> read_cluster_yaml(const std::filesystem::path& path);
Result<Cluster> read_cluster_yaml(InputFile input);

// Nodes that differ only in their number share a line. Reading gives the same cluster, provided
// that models and pools are numbered in order of first use, as every reader does.
void write_cluster_yaml(std::ostream& out, const Cluster& cluster);

}  // namespace weir::formats
