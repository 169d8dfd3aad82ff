// SPDX-License-Identifier: Apache-2.0
//
// A look at a cluster for people.
#pragma once

#include <string>

#include "observe/kubernetes/observation.h"

namespace weir::cli {

struct ObserveTextOptions {
  std::size_t most_workloads = 20;  // told in full; the others are counted by their reason
  std::size_t most_changes = 3;     // of each workload
};

std::string observation_text(const observe::Observation& observation, const std::string& title,
                             const std::string& trouble, const ObserveTextOptions& options);

}  // namespace weir::cli
