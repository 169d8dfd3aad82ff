// SPDX-License-Identifier: Apache-2.0
#include "cli/run_logs.h"

#include <algorithm>
#include <string>
#include <utility>

#include "cli/version.h"
#include "schedule/admit/size_table.h"

namespace weir::cli {

std::vector<std::filesystem::path> log_paths(const std::filesystem::path& path,
                                             const std::vector<TrainingWorkload>& workloads,
                                             const simulate::TrainingSweepConfig& config) {
  const std::size_t seeds = std::max<std::size_t>(1, config.seeds.size());
  const std::size_t runs = simulate::runs_of(config, workloads.size());
  if (runs == 1) return {path};
  std::vector<std::filesystem::path> paths;
  for (std::size_t run = 0; run < runs; ++run) {
    const simulate::SweepPlace place = simulate::place_of(config, run);
    std::string name = path.stem().string();
    if (workloads.size() > 1) name += "." + workloads[place.workload].name;
    name += "." + config.policies[place.policy];
    if (config.networks.size() > 1) name += "." + config.networks[place.network].placement;
    if (seeds > 1) name += "." + std::to_string(*place.seed);
    paths.push_back(path.parent_path() / (name + path.extension().string()));
  }
  return paths;
}

formats::RecordLogHeader log_header(const TrainingSetup& setup,
                                    const simulate::TrainingSweepConfig& config,
                                    const simulate::SweepPlace& place, const std::string& curves) {
  const auto cost = schedule::rescale_cost_for(setup.cluster.gpu_count());
  const simulate::TrainingRunConfig run = simulate::run_config(config, place);
  formats::RecordLogHeader header;
  header.pools = formats::log_pools(setup.cluster);
  header.rescale_base = cost.base;
  header.rescale_per_doubling = cost.per_doubling;
  header.policy = run.policy;
  header.slot = config.training.slot;
  header.workload = setup.jobs_files[place.workload];
  header.curves = curves;
  const TrainingWorkload& workload = setup.workloads[place.workload];
  const auto speeds = simulate::job_speeds(workload, run.speeds);
  for (std::size_t row = 0; row < speeds.size(); ++row) {
    if (speeds[row] != header.speed.permille)
      header.speed.jobs[workload.jobs[row].spec.name] = speeds[row];
  }
  return header;
}

RunLogs::RunLogs(const TrainingSetup& setup, const simulate::TrainingSweepConfig& config,
                 const std::filesystem::path& path, const std::string& curves)
    : paths_{log_paths(path, setup.workloads, config)} {
  for (std::size_t run = 0; run < paths_.size(); ++run) {
    logs_.push_back(std::make_unique<Log>(kVersion));
    logs_.back()->writer.write(log_header(setup, config, simulate::place_of(config, run), curves));
  }
}

std::vector<OutputFile> RunLogs::take_files() {
  std::vector<OutputFile> files;
  for (std::size_t run = 0; run < paths_.size(); ++run)
    files.push_back({paths_[run], std::move(logs_[run]->text).str()});
  return files;
}

}  // namespace weir::cli
