// SPDX-License-Identifier: Apache-2.0
//
// From a launch to how the kernel cuts its work (the tile is in its name), and back from a sketch and another
// shape to the number of tiles. Kernels that stay on their SMs and fetch one tile after another launch as many
// blocks as there are SMs, so tiles are counted from the shape, not from the grid.
#pragma once

#include <optional>
#include <string_view>

#include "domain/kernel_call.h"
#include "domain/kernel_model.h"
#include "predict/kernels/kernel_work.h"

namespace weir::predict {

struct KernelTile {
  std::int32_t first = 0;
  std::int32_t second = 0;
  std::int32_t depth = 0;  // 0: not in the name
  friend bool operator==(const KernelTile&, const KernelTile&) = default;
};

// "nvjet_sm90_tst_128x256_64x4_1x2_h" is 128 x 256, "..._tilesize64x32x8_stage3..." 64 x 32 x 8.
std::optional<KernelTile> tile_in_name(std::string_view kernel);

// The name as far as kernels of one kind share it: up to and with the tile, with "splitK".
std::string kernel_kind(std::string_view kernel);

// Of a kind: what is before the tile, "nvjet_sm90_tst_".
std::string_view kernel_maker(std::string_view kind);

// Copies of the driver have no blocks, though profilers write down one.
bool has_grid(const LaunchSketch& sketch);
// Numbers that a block works on where every number is one thread's.
inline constexpr double kUsualOutputs = 512;

LaunchSketch sketch_of(const KernelCall& call, const KernelLaunch& launch, double sms);

// Tiles of the whole output times slices of the reduction. Without a tile: blocks, scaled by outputs from the
// shape where they were counted to this one.
double tiles_of(const LaunchSketch& sketch, const KernelWork& work, double blocks,
                double outputs_of_blocks);

double outputs_of(const KernelWork& work);

// What a sketch leaves open: how large the grids are.
struct LaunchSize {
  double tiles = 1;
  double helper_threads = 0;
};
LaunchSize launch_size(const LaunchSketch& sketch, const KernelWork& work,
                       const KernelLaunch& launch);

}  // namespace weir::predict
