// SPDX-License-Identifier: Apache-2.0
#include "cli/simulation_inputs.h"

#include <utility>

#include "formats/inputs.h"
#include "simulate/synth.h"

namespace weir::cli {
namespace {

// Without files weir makes a trace of its own, so that a bare clone has something to simulate.
SimulationInputs synthetic_inputs() {
  const simulate::SynthConfig config;
  SimulationInputs inputs{simulate::synth_cluster(config), {}, {""}};
  inputs.workloads.push_back(simulate::synth_workload(config, inputs.cluster));
  return inputs;
}

}  // namespace

std::vector<std::filesystem::path> input_paths(const OptionValues& options) {
  std::vector<std::filesystem::path> paths;
  if (options.has("nodes")) paths.emplace_back(options.text("nodes"));
  if (options.has("tasks")) {
    paths.insert(paths.end(), options.texts("tasks").begin(), options.texts("tasks").end());
  }
  return paths;
}

Result<SimulationInputs> read_inputs(const OptionValues& options) {
  if (!options.has("nodes") && !options.has("tasks")) return synthetic_inputs();
  if (!options.has("nodes")) {
    return bad_input(Diagnostic{{}, 0, "--nodes", {}, "the node list that belongs to --tasks"});
  }
  auto cluster = formats::read_cluster(options.text("nodes"));
  if (!cluster) return tl::unexpected(std::move(cluster.error()));
  SimulationInputs inputs{std::move(*cluster), {}, {}};
  if (!options.has("tasks")) return inputs;
  // The mistakes of all files, not only of the first. The kind of error is that of the first bad
  // file.
  Error error;
  for (const std::string& file : options.texts("tasks")) {
    auto workload = formats::read_workload(file, inputs.cluster);
    if (!workload) {
      if (error.details.empty()) error.code = workload.error().code;
      error.details.append(workload.error().details);
      continue;
    }
    inputs.workloads.push_back(std::move(*workload));
    inputs.tasks_files.push_back(file);
  }
  if (!error.details.empty()) return tl::unexpected(std::move(error));
  return inputs;
}

}  // namespace weir::cli
