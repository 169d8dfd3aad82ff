// SPDX-License-Identifier: Apache-2.0
//
// The same as network/coflow_window.h, flow by flow: every flow of a phase has its own max-min fair rate, and a
// phase ends with its last flow. Exact under the fluid model, and slow: it tells how far co-flows are
// off.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "network/job_traffic.h"

namespace weir::simulate {

// Seconds of an iteration, by job; the mean over `iterations` at least. `links`: of the fabric.
std::vector<double> play_flow_window(std::span<const network::JobTraffic* const> jobs, int links,
                                     int iterations, std::uint64_t seed);

}  // namespace weir::simulate
