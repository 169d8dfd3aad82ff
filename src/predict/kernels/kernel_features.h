// SPDX-License-Identifier: Apache-2.0
//
// Numbers about a call and its launch that time depends on: columns of work, whose coefficients are seconds, and
// features for the trees that correct the rest.
#pragma once

#include <array>
#include <cstddef>

#include "domain/kernel_call.h"
#include "domain/kernel_model.h"
#include "predict/kernels/kernel_class.h"
#include "predict/kernels/kernel_work.h"
#include "predict/kernels/launch_sketch.h"

namespace weir::predict {

// Columns of work, all >= 0 (domain's KernelGroup::seconds has one coefficient each).
enum WorkColumn : std::size_t {
  kOnce,       // 1: launching
  kWaveDepth,  // multiply-adds of one SM over whole waves: a wave takes its time however full it is
  kTileDepth,  // multiply-adds over the tiles there are, per SM
  kWaveArea,   // outputs of one SM over whole waves: beginning and end of a block
  kTraffic,    // bytes
  kWeights,    // bytes of weights
  kLaunches,   // kernels
  kArithmetic  // floating-point operations, per SM
};

struct KernelFeatures {
  KernelWork work;
  double tiles = 1;
  double blocks =
      1;  // that work at a time or in turns: the tiles, or as many as a copy without a grid amounts to
  double helper_threads = 0;
  double depth = 1;  // of one tile's reduction, in whole steps
  double waves = 1;
  double tail = 1;  // share of the slots of its waves that have a tile, (0, 1]
  double warps_per_sm = 1;
  KernelClass kind = KernelClass::dram_bound;
  std::array<double, kWorkColumns> columns{};
};

// The fitted roofline's arithmetic in that number format. Where none was measured, float32's by the ratio of the GPU's data
// sheet, or just that; 0: none was.
double roofline_flops_of(const KernelModel& model, const std::string& dtype);

// Requires: size.tiles >= 1.
KernelFeatures kernel_features(const KernelCall& call, const LaunchSketch& sketch,
                               const LaunchSize& size, const KernelModel& model);

// What the trees look at. `seconds` is the prediction that they correct.
std::array<float, kTreeFeatures> tree_features(const KernelCall& call, const LaunchSketch& sketch,
                                               const KernelFeatures& features, double seconds,
                                               const KernelModel& model);

}  // namespace weir::predict
