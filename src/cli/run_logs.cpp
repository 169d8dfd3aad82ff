// SPDX-License-Identifier: Apache-2.0
#include "cli/run_logs.h"

#include <utility>

#include "cli/version.h"
#include "schedule/admit/size_table.h"

namespace weir::cli {

std::vector<std::filesystem::path> log_paths(const std::filesystem::path& path,
                                             const std::vector<TrainingWorkload>& workloads,
                                             const std::vector<std::string>& policies) {
  std::vector<std::filesystem::path> paths;
  for (std::size_t list = 0; list < workloads.size(); ++list) {
    for (const std::string& policy : policies) {
      if (workloads.size() * policies.size() == 1) return {path};
      std::string name = path.stem().string();
      if (workloads.size() > 1) name += "." + workloads[list].name;
      paths.push_back(path.parent_path() / (name + "." + policy + path.extension().string()));
    }
  }
  return paths;
}

formats::RecordLogHeader log_header(const TrainingSetup& setup, std::size_t list,
                                    const std::string& policy,
                                    const simulate::TrainingSweepConfig& config,
                                    const std::string& curves) {
  const auto cost = schedule::rescale_cost_for(setup.cluster.gpu_count());
  formats::RecordLogHeader header;
  header.pools = formats::log_pools(setup.cluster);
  header.rescale_base = cost.base;
  header.rescale_per_doubling = cost.per_doubling;
  header.policy = policy;
  header.slot = config.training.slot;
  header.workload = setup.jobs_files[list];
  header.curves = curves;
  const TrainingWorkload& workload = setup.workloads[list];
  const auto speeds = simulate::job_speeds(workload, config.speeds);
  for (std::size_t row = 0; row < speeds.size(); ++row) {
    if (speeds[row] != header.speed.permille)
      header.speed.jobs[workload.jobs[row].spec.name] = speeds[row];
  }
  return header;
}

RunLogs::RunLogs(const TrainingSetup& setup, const simulate::TrainingSweepConfig& config,
                 const std::filesystem::path& path, const std::string& curves)
    : paths_{log_paths(path, setup.workloads, config.policies)} {
  for (std::size_t run = 0; run < paths_.size(); ++run) {
    const std::string& policy = config.policies[run % config.policies.size()];
    logs_.push_back(std::make_unique<Log>(kVersion));
    logs_.back()->writer.write(
        log_header(setup, run / config.policies.size(), policy, config, curves));
  }
}

std::vector<OutputFile> RunLogs::take_files() {
  std::vector<OutputFile> files;
  for (std::size_t run = 0; run < paths_.size(); ++run)
    files.push_back({paths_[run], std::move(logs_[run]->text).str()});
  return files;
}

}  // namespace weir::cli
