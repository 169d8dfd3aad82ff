// SPDX-License-Identifier: Apache-2.0
//
// What is in a trace: how many tasks of which kind, what they ask for, how long they ran; which
// nodes with which GPUs. For `weir trace describe`.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "domain/cluster.h"
#include "domain/workload.h"
#include "report/table.h"

namespace weir::report {

struct ClusterDescription {
  struct Model {
    std::string name;  // "none" for nodes without GPUs
    std::int64_t nodes = 0;
    std::int64_t gpus = 0;
    MilliCpu cpu;
    Mebibytes memory;
  };

  std::string file;
  Model total;
  std::vector<Model> models;  // most GPUs first
};

struct WorkloadDescription {
  struct Kind {
    std::string name;  // "CPU only", "part of a GPU", "1 GPU", "8 GPUs"
    std::int64_t tasks = 0;
    MilliGpu demand;
  };
  struct PopularShape {
    Shape shape;
    std::string models;  // empty: any
    std::int64_t tasks = 0;
  };
  struct RunTimes {
    Duration p50{}, p90{}, p99{}, longest{};
    Duration span{};  // first to last submission
  };

  std::string file;
  std::string name;
  std::int64_t jobs = 0;
  std::int64_t gangs = 0;  // jobs of several tasks
  std::int64_t tasks = 0;
  std::int64_t constrained = 0;  // tasks that name the GPU models they accept
  MilliGpu demand;
  MilliCpu cpu;
  std::vector<Kind> kinds;            // fewest GPUs first
  std::int64_t shapes = 0;            // distinct, memory apart
  std::vector<PopularShape> popular;  // most frequent first, at most kPopularShapes
  std::optional<RunTimes> run_times;  // when every job has timing

  static constexpr std::size_t kPopularShapes = 10;
};

ClusterDescription describe(std::string file, const Cluster& cluster);
WorkloadDescription describe(std::string file, const Workload& workload, const GpuModels& models);

std::vector<Table> description_tables(const ClusterDescription& description);
std::vector<Table> description_tables(const WorkloadDescription& description);

nlohmann::ordered_json description_json(const ClusterDescription& description);
nlohmann::ordered_json description_json(const WorkloadDescription& description);

// "45 s", "12.5 min", "3.2 h", "1.4 d".
std::string duration_text(Duration duration);

}  // namespace weir::report
