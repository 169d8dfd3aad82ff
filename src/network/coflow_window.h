// SPDX-License-Identifier: Apache-2.0
//
// How long iterations take while some jobs share links and nobody comes or goes: a few iterations of
// each are played, every job as one co-flow (all flows of a phase at the rate of its slowest), rates
// max-min fair between jobs.
//
// Limits: flows that are not a job's slowest leave slack which nobody gets here, so jobs that share many
// links come out too slow: by 3.7 % in the mean and 9.5 % at worst where groups of four hosts lie
// anywhere, against flow_window.h (docs/models/network.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "network/job_traffic.h"

namespace weir::network {

// Seconds of an iteration, by job; the mean over `iterations` at least. `seed` says where in its
// iteration each job is at first; or `starts`, by job, the seconds until its first iteration begins.
std::vector<double> play_window(std::span<const JobTraffic* const> jobs, int iterations,
                                std::uint64_t seed, std::span<const double> starts = {});

}  // namespace weir::network
