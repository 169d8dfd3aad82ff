// SPDX-License-Identifier: Apache-2.0
//
// The published comparison of ElasticFlow, under its own accounting: what the public simulator does
// is repeated here, with its quirks, so that its figures can be compared with ours and everybody
// sees what is algorithm and what is bookkeeping. Nothing here is used by the scheduler. The rules
// are listed in README.md beside this file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "domain/training.h"
#include "simulate/published/published_job.h"

namespace weir::simulate::published {

struct PublishedSetup {
  std::int32_t nodes = 0;
  std::int32_t gpus_per_node = 0;
  Seconds slot = 60;
  // The public code limits the sizes of ElasticFlow's jobs by a table per model, and has one table
  // for T4 and one for A100.
  bool is_t4 = false;

  std::int32_t gpus() const { return nodes * gpus_per_node; }
};

struct PublishedOutcome {
  std::string policy;
  std::int64_t jobs = 0;
  std::int64_t met = 0;
  std::int64_t refused = 0;
  std::int64_t completed = 0;
  double mean_jct_s = 0;                        // of completed jobs
  std::vector<std::optional<Seconds>> ended{};  // by row of the workload, as its deadline is tested
};

struct PublishedPolicyRow {
  std::string_view name;
  std::string_view summary;
};
std::span<const PublishedPolicyRow> published_policies();

// Whether the public simulator has node sets for jobs that ask for so many GPUs.
bool is_published_size(std::int32_t gpus);

// Requires: the policy is one of them; every job has a deadline, a duration and rates.
PublishedOutcome run_as_published(std::string_view policy, const TrainingWorkload& workload,
                                  const RateBook& rates, const PublishedSetup& setup);

}  // namespace weir::simulate::published
