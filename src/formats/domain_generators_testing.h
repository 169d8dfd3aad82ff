// SPDX-License-Identifier: Apache-2.0
//
// For property tests: random clusters and workloads as a reader could have made them.
#pragma once

#include <rapidcheck.h>

#include <string>
#include <vector>

#include "domain/cluster.h"
#include "domain/workload.h"
#include "formats/input_ranges.h"

namespace weir::formats {

// Short names, some of them awkward for YAML or CSV.
inline rc::Gen<std::string> any_name(std::string_view alphabet) {
  return rc::gen::oneOf(
      rc::gen::element<std::string>("null", "~", "true", "1e3", "-", "a: b", "#x", "n\xC3\xB8", "'",
                                    "\"q\"", "a,b", "{x}", "&a", "*a", "!t", "%", "@", "` `", "\\n",
                                    "?", ":", "- x"),
      rc::gen::nonEmpty(
          rc::gen::container<std::string>(rc::gen::elementOf(std::string{alphabet}))));
}

struct ClusterOptions {
  bool pools_are_models = false;  // as in an openb list
};

inline Cluster any_cluster(ClusterOptions options) {
  Cluster cluster;
  cluster.name = *any_name("abc.-_ ");
  const auto models = *rc::gen::unique<std::vector<std::string>>(any_name("AT104"));
  const auto count = *rc::gen::inRange<std::size_t>(1, 30);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    // Mostly numbered names, so that runs and gaps occur; unique by construction.
    const int style = *rc::gen::inRange(0, 6);
    std::string name = style == 0   ? *any_name("n-0 19") + "/" + std::to_string(i)
                       : style == 1 ? "pad-" + std::string(i < 10 ? "0" : "") + std::to_string(i)
                                    : "node-" + std::to_string(i);
    Node node;
    node.id = NodeId{i + 1};
    node.name = std::move(name);
    node.cpu = MilliCpu{*rc::gen::element<std::int64_t>(0, 1, 1500, 96000, kMostCpu.value)};
    node.memory = Mebibytes{*rc::gen::element<std::int64_t>(0, 1, 1536, 393216, kMostMemory.value)};
    if (!models.empty() && *rc::gen::inRange(0, 4) > 0) {
      node.gpu_count = *rc::gen::element(1, 2, 8, 16);
      node.model = *cluster.models.intern(*rc::gen::elementOf(models));
    }
    const std::string model_pool = node.gpu_count == 0 ? "cpu" : cluster.models.name(node.model);
    node.pool = cluster.pool_named(
        options.pools_are_models || *rc::gen::arbitrary<bool>() ? model_pool : *any_name("pq"));
    if (!options.pools_are_models && *rc::gen::arbitrary<bool>())
      node.rack = "rack " + *any_name("12");
    cluster.nodes.push_back(std::move(node));
  }
  return cluster;
}

struct WorkloadOptions {
  bool has_gangs = true;
};

inline Shape any_shape(const Cluster& cluster) {
  Shape shape;
  shape.cpu = MilliCpu{*rc::gen::element<std::int64_t>(0, 1, 12000, kMostCpu.value)};
  shape.memory = Mebibytes{*rc::gen::element<std::int64_t>(0, 1, 16384, kMostMemory.value)};
  shape.gpu_count = *rc::gen::element(0, 1, 1, 2, 8, 16);
  shape.gpu_share = shape.gpu_count == 0   ? MilliGpu{0}
                    : shape.gpu_count == 1 ? MilliGpu{*rc::gen::inRange<std::int64_t>(1, 1001)}
                                           : kWholeGpu;
  for (std::uint8_t id = 0; shape.gpu_count > 0 && id < cluster.models.size(); ++id) {
    if (*rc::gen::inRange(0, 3) == 0) shape.models.insert(GpuModelId{id});
  }
  return shape;
}

inline Workload any_workload(const Cluster& cluster, WorkloadOptions options) {
  Workload workload;
  workload.name = *any_name("abc.-_ ");
  const auto count = *rc::gen::inRange<std::size_t>(1, 20);
  for (std::size_t i = 0; i < count; ++i) {
    WorkloadJob job;
    job.spec.name = *any_name("job-[0] 19,");
    job.spec.shape = any_shape(cluster);
    if (options.has_gangs) job.spec.replicas = *rc::gen::element(1, 1, 4, kMostReplicas);
    if (*rc::gen::inRange(0, 3) > 0) {
      const std::int64_t half_century = from_seconds(kMostSeconds).count() / 2;
      job.timing = JobTiming{Duration{*rc::gen::inRange<std::int64_t>(0, half_century)},
                             Duration{*rc::gen::inRange<std::int64_t>(0, half_century)}};
    }
    workload.jobs.push_back(std::move(job));
  }
  return workload;
}

}  // namespace weir::formats
