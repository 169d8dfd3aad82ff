// SPDX-License-Identifier: Apache-2.0
//
// How long an iteration of a data-parallel training job takes and what it draws, over the number of
// GPUs n, the samples b on each of them and their clock x (1 = the highest).
//
//   compute     Tc(b, x) = a0 + b (a1 + a2 / x)                       only a2 gains from the clock
//   sync        Ts = 0 on one GPU; s0 + s1 2(n-1)/n inside a node;
//               r0 + r1 2(n-1)/n + r2 nodes across nodes              the shape of a ring all-reduce
//   iteration   T = (Tc^g + Ts^g)^(1/g)                               g = 1: nothing overlaps
//   power       of one GPU: Pc = p0 + p1 x^3 computing, Ps = p0 + p2 x^3 waiting
//   energy      n (Pc Tc + Ps (T - Tc)) per iteration
//
// Times in seconds, power in watts. Sources, and what of this is our own: docs/models/energy.md.
// Limits: memory clocks stand still; a GPU's voltage is taken to follow its clock down to the
// lowest, which real ones do only to a floor; what a node draws beside its GPUs is not in here.
#pragma once

#include <cstdint>

namespace weir::predict {

// All coefficients are at least 0, in seconds.
struct TimeModel {
  double per_iteration = 0;             // a0
  double per_sample = 0;                // a1
  double per_sample_at_full_clock = 0;  // a2
  double sync_inside_node = 0;          // s0
  double sync_volume_inside_node = 0;   // s1
  double sync_across_nodes = 0;         // r0
  double sync_volume_across_nodes = 0;  // r1
  double sync_per_node = 0;             // r2
  double overlap = 1;                   // g, 1 to 10
  friend bool operator==(const TimeModel&, const TimeModel&) = default;

  double compute_seconds(double local_batch, double clock) const;
  double sync_seconds(std::int32_t gpus, std::int32_t nodes) const;
  double iteration_seconds(double compute_seconds, double sync_seconds) const;
};

// Of one GPU that runs one kind of job. p0 is full_watts static_share, p1 the rest of full_watts,
// p2 = waiting_share p1. The defaults are assumed for the A100: no table of its power over clocks
// is public.
struct GpuPower {
  double full_watts = 400;     // computing at the highest clock; the A100's limit
  double static_share = 0.35;  // p0 / Pmax: what does not fall with the clock; assumed
  double waiting_share = 0.3;  // p2 / p1; assumed
  friend bool operator==(const GpuPower&, const GpuPower&) = default;

  double computing_watts(double clock) const;
  double waiting_watts(double clock) const;
  // Of one GPU over one iteration. Requires: compute_seconds <= iteration_seconds.
  double joules(double clock, double compute_seconds, double iteration_seconds) const;
};

}  // namespace weir::predict
