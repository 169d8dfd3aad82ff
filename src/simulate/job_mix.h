// SPDX-License-Identifier: Apache-2.0
//
// Training jobs for studies of the network: when they come, how large they are, how long they run
// without contention, and how much of an iteration they exchange data. Sizes and shares are those of a
// published evaluation (docs/models/network.md); run times come from a trace.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "network/job_traffic.h"

namespace weir::simulate {

enum class JobMix : std::uint8_t {
  published,  // many models, 30 % with all-to-all
  heavy,      // much communication: VGG16 with batch 8, and as many with all-to-all
};

struct MixedJob : network::JobIteration {
  double at = 0;       // s
  double seconds = 0;  // of running without contention
  int hosts = 0;
};

struct JobMixSetup {
  JobMix mix = JobMix::published;
  std::int64_t jobs = 5000;
  double arrival_gap = 241;       // s, mean
  std::vector<double> durations;  // s, drawn from; not empty
  double shortest = 1'000;        // s; durations are clamped to these
  double longest = 100'000;
  int largest = 512;  // hosts
  std::uint64_t seed = 1;
};

std::vector<MixedJob> draw_job_mix(const JobMixSetup& setup);

// Work that comes over what `hosts` can do.
double offered_load(std::span<const MixedJob> jobs, int hosts);

}  // namespace weir::simulate
