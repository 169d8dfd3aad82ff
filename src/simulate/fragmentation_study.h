// SPDX-License-Identifier: Apache-2.0
//
// What contention-free partitions cost in waiting: jobs come to a leaf-spine fabric first in, first
// out, and the first of the queue waits while the fabric has no partition for it, however many GPUs are
// free. Run times do not depend on the network here; simulate/job_mix_study.h has both sides.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "network/partition/logical_clos.h"

namespace weir::simulate {

enum class FabricRule : std::uint8_t {
  gpus_only,        // any free hosts will do
  logical_clos,     // links as they are
  optical_circuits  // links as they are needed, running jobs may be rewired
};
std::string_view name_of(FabricRule rule);

struct SizeWeight {
  int hosts = 0;
  std::int64_t weight = 0;
};

struct FragmentationSetup {
  network::ClosShape shape{.leaves = 16, .hosts_per_leaf = 16, .spines = 16};
  std::vector<SizeWeight> sizes{{1, 15},  {2, 10},  {4, 10}, {8, 30},
                                {16, 15}, {32, 10}, {64, 7}, {128, 3}};
  std::vector<double> loads{0.5, 0.6, 0.7};
  std::vector<std::uint64_t> seeds{1, 2, 3};
  std::int64_t jobs = 4000;
  unsigned threads = 0;
};

// Durations are exponential with mean 1, arrivals Poisson.
struct FragmentationResult {
  FabricRule rule{};
  double load = 0;
  std::uint64_t seed = 0;
  double mean_wait = 0;      // in mean durations
  double blocked_share = 0;  // of the time: the first of the queue would fit but for the network
  double circuits_moved_per_job = 0;
  double jobs_paused_per_job = 0;
};

// By load, rule and seed. Does not depend on the number of threads.
std::vector<FragmentationResult> study_fragmentation(const FragmentationSetup& setup);

struct MeanAndSpread {
  double mean = 0;
  double least = 0;
  double most = 0;
};
// Over seeds.
MeanAndSpread mean_wait(const std::vector<FragmentationResult>& results, FabricRule rule,
                        double load);
MeanAndSpread blocked_share(const std::vector<FragmentationResult>& results, FabricRule rule,
                            double load);

}  // namespace weir::simulate
