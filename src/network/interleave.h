// SPDX-License-Identifier: Apache-2.0
//
// When the iterations of a job should begin so that it meets few others on the links they share. Each
// job is a circle, once around per iteration, with arcs where it uses a link; turning one circle against
// the others moves its arcs away from theirs. Circles of unequal length turn on one whose length is a
// multiple of all. What is kept small is the time, over all links, for which jobs ask for more than a
// link can carry, times how much more.
// After Cassini (NSDI '24); there all jobs are turned at once along a tree, here one that starts.
#pragma once

#include <span>

#include "network/job_traffic.h"

namespace weir::network {

struct TurningJob {
  const JobTraffic* traffic = nullptr;
  double shift = 0;  // s: its iterations begin so much later than at time 0
};

// What is asked for beyond the capacity of links, as seconds of a whole link in one turn of the common
// circle, over the length of that turn. All at line rate, nobody held back.
double excess_demand(const TurningJob& job, std::span<const TurningJob> others);

// The shift, in 0..(an iteration of the job), with the least excess; the first of equals.
double best_shift(const JobTraffic& job, std::span<const TurningJob> others);

}  // namespace weir::network
