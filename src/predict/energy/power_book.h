// SPDX-License-Identifier: Apache-2.0
//
// What jobs draw and how fast they are at every size and clock, where only their throughput at the
// full clock was measured and nothing of their power. The measured times are split by assumption:
//
// - The least size a job was measured at has no exposed sync, and its times are linear in the batch
//   on each GPU: T = a0 + s b, least squares over the batches of the model. (With one batch, a0 = 0.)
// - At n GPUs a0 + s B/n is computing, at most the measured time; the rest is exposed sync (g = 1).
// - The clock acts on the share c of s b only: Tc(x) = a0 + s b ((1 - c) + c / x).
//
// At the full clock the rates are those of the curves, to the last digit. Sizes are the useful ones
// of a curve. Clocks below the one at which an iteration takes least energy are left out: they are
// slower and waste power too.
#pragma once

#include <cstdint>
#include <vector>

#include "domain/curve.h"
#include "domain/power_table.h"
#include "predict/energy/power_model.h"

namespace weir::predict {

// `levels` clocks evenly from `lowest_permille` to the highest, both included. Requires: levels >= 2
// and 0 < lowest_permille < 1000.
std::vector<std::int32_t> even_clocks(std::int32_t lowest_permille, std::int32_t levels);

// The sources of the numbers, and what is assumed: docs/models/energy.md.
struct PowerAssumptions {
  GpuPower gpu;
  double clock_bound_share = 0.4;  // c; the median of the V100's sweeps, assumed for the A100
  // Permille of the highest, which is always among them; in any order, each from 1 to 1000.
  std::vector<std::int32_t> clocks_permille = even_clocks(500, 8);
  std::int32_t gpus_per_node = 8;
  std::int64_t idle_milliwatts = 55'000;   // of a GPU without a job; assumed
  std::int64_t node_milliwatts = 800'000;  // of a node without its GPUs, awake; assumed
  std::int64_t asleep_milliwatts = 0;      // assumed
  std::int32_t overhead_permille = 1000;   // PUE 1.0: the machines alone; assumed
  // Whether the energy that decides about the lowest clock has the job's share of its node in it
  // (gpus / gpus_per_node): then slower is worth less, and the lowest clock is higher.
  bool counts_node_share = false;
};

PowerBook power_book(const CurveBook& curves, const PowerAssumptions& assumptions);

// How a measured iteration at the full clock is spent.
struct IterationSplit {
  double fixed_seconds = 0;  // a0
  double batch_seconds = 0;  // s b
  double sync_seconds = 0;   // exposed
};
// Of each useful size of the curve, in their order; empty when the book does not have the curve.
std::vector<IterationSplit> split_iterations(const CurveBook& curves, const CurveKey& key);

}  // namespace weir::predict
