// SPDX-License-Identifier: Apache-2.0
//
// What benchmarks run on: the openb trace where it is found, the synthetic one otherwise.
#pragma once

#include <string>
#include <vector>

#include "domain/cluster.h"
#include "domain/workload.h"

namespace weir::bench {

struct Inputs {
  std::string source;  // "openb default" or "synthetic"
  Cluster cluster;
  std::vector<Workload> workloads;
};

// The `default` list.
Inputs default_inputs();
// The 17 lists of the published experiments; synthetic: one.
Inputs published_inputs();

// The same nodes and jobs, `times` times.
Cluster replicated(const Cluster& cluster, int times);
Workload replicated(const Workload& workload, int times);

// Largest memory this process has used so far, in MB.
double peak_memory_mb();

// Ends the program with a message: a benchmark that did not do its work must not print figures.
void require(bool condition, const char* what);

}  // namespace weir::bench
