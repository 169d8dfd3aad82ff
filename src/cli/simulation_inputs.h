// SPDX-License-Identifier: Apache-2.0
//
// The cluster and the task lists that the options of a command name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "domain/cluster.h"
#include "domain/options.h"
#include "domain/result.h"
#include "domain/workload.h"

namespace weir::cli {

struct SimulationInputs {
  Cluster cluster;
  std::vector<Workload> workloads;
  std::vector<std::string> tasks_files;  // one for each workload, as the user wrote it; "" for none
};

// Every input file the options name, in the order given.
std::vector<std::filesystem::path> input_paths(const OptionValues& options);

// Without --nodes and --tasks: a synthetic trace. The error lists the mistakes of all files.
Result<SimulationInputs> read_inputs(const OptionValues& options);

}  // namespace weir::cli
