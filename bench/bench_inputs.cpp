// SPDX-License-Identifier: Apache-2.0
#include "bench_inputs.h"

#include <sys/resource.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "formats/data_dir.h"
#include "formats/openb.h"
#include "simulate/synth.h"

namespace weir::bench {
namespace {

constexpr std::array kPublishedLists{
    "default",    "cpu050",     "cpu100",      "cpu200",     "cpu250",     "gpushare40",
    "gpushare60", "gpushare80", "gpushare100", "gpuspec10",  "gpuspec20",  "gpuspec25",
    "gpuspec33",  "multigpu20", "multigpu30",  "multigpu40", "multigpu50",
};

template <class T>
T value_of(Result<T> result) {
  if (result) return std::move(*result);
  std::fputs(to_string(result.error().details).c_str(), stderr);
  std::exit(2);
}

template <class Lists>
Inputs inputs_for(const Lists& lists, const char* openb_name) {
  Inputs inputs;
  const auto data = formats::data_dir();
  if (!data) {
    inputs.source = "synthetic trace (openb not found)";
    inputs.cluster = simulate::synth_cluster({});
    inputs.workloads.push_back(simulate::synth_workload({}, inputs.cluster));
    return inputs;
  }
  inputs.source = openb_name;
  inputs.cluster =
      value_of(formats::read_openb_nodes(*data / "openb" / "openb_node_list_gpu_node.csv.gz"));
  for (const std::string list : lists) {
    inputs.workloads.push_back(value_of(formats::read_openb_tasks(
        *data / "openb" / ("openb_pod_list_" + list + ".csv.gz"), inputs.cluster)));
  }
  return inputs;
}

}  // namespace

Inputs default_inputs() {
  return inputs_for(std::array{"default"}, "openb, list default");
}

Inputs published_inputs() {
  return inputs_for(kPublishedLists, "openb, 17 lists");
}

Cluster replicated(const Cluster& cluster, int times) {
  Cluster copy = cluster;
  for (int round = 1; round < times; ++round) {
    for (const Node& node : cluster.nodes) {
      copy.nodes.push_back(node);
      copy.nodes.back().id = NodeId{copy.nodes.size()};
      copy.nodes.back().name += "/" + std::to_string(round);
    }
  }
  return copy;
}

Workload replicated(const Workload& workload, int times) {
  Workload copy = workload;
  copy.jobs.reserve(workload.jobs.size() * static_cast<std::size_t>(times));
  for (int round = 1; round < times; ++round) {
    copy.jobs.insert(copy.jobs.end(), workload.jobs.begin(), workload.jobs.end());
  }
  return copy;
}

double peak_memory_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "bench: %s\n", what);
  std::exit(1);
}

}  // namespace weir::bench
