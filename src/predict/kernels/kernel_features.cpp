// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/kernel_features.h"

#include <algorithm>
#include <cmath>

#include "predict/kernels/launch_sketch.h"

namespace weir::predict {
namespace {

double log2_of(double value) {
  return std::log2(std::max(value, 1.0));
}

// How often 2 divides it, up to 8 times: what vector loads and tiles are aligned to.
float size_alignment(std::int64_t size) {
  if (size <= 0) return 8;
  int times = 0;
  while (times < 8 && size % 2 == 0) {
    size /= 2;
    ++times;
  }
  return static_cast<float>(times);
}

// Share of the last tile that holds outputs.
float last_tile(double outputs, std::int32_t tile) {
  if (tile <= 0) return 1;
  return static_cast<float>(outputs / (std::ceil(outputs / tile) * tile));
}

// A number for a name, the same everywhere: trees only cut it into ranges.
float name_number(const std::string& name) {
  std::uint32_t hash = 2166136261U;
  for (const char c : name) hash = (hash ^ static_cast<std::uint8_t>(c)) * 16777619U;
  return static_cast<float>(hash % 4096U);
}

double ridge_of(const KernelModel& model, const std::string& dtype) {
  const double flops = roofline_flops_of(model, dtype);
  if (flops <= 0 || !(model.roofline_bytes_per_second > 0)) return 1;
  return flops / model.roofline_bytes_per_second;
}

}  // namespace

double roofline_flops_of(const KernelModel& model, const std::string& dtype) {
  const auto fitted = model.roofline_flops.find(dtype);
  if (fitted != model.roofline_flops.end()) return fitted->second;
  const auto plain = model.roofline_flops.find("fp32");
  if (plain == model.roofline_flops.end()) return 0;
  const auto sheet = model.device.flops.find(dtype);
  const auto plain_sheet = model.device.flops.find("fp32");
  const bool is_told = sheet != model.device.flops.end() &&
                       plain_sheet != model.device.flops.end() && plain_sheet->second > 0;
  return is_told ? plain->second * sheet->second / plain_sheet->second : plain->second;
}

KernelFeatures kernel_features(const KernelCall& call, const LaunchSketch& sketch,
                               const LaunchSize& size, const KernelModel& model) {
  KernelFeatures features;
  features.work = kernel_work(call);
  const double tiles = size.tiles;
  features.tiles = tiles;
  features.helper_threads = size.helper_threads;
  const double occupancy = std::max(1, sketch.occupancy);
  const double slots = model.device.sms * occupancy;
  const double waves = std::ceil(tiles / slots);
  features.waves = waves;
  features.tail = tiles / slots / waves;
  const double warps = std::max(1.0, std::ceil(sketch.threads / 32.0));
  // Where nobody told how many blocks an SM holds, as many as its warps allow.
  const double held = sketch.occupancy > 0 ? occupancy : model.device.max_warps_per_sm / warps;
  features.warps_per_sm = std::min(std::min(held, std::ceil(tiles / model.device.sms)) * warps,
                                   model.device.max_warps_per_sm);
  const KernelWork& work = features.work;
  features.blocks = has_grid(sketch) ? tiles : std::ceil(outputs_of(work) / kUsualOutputs);
  features.kind = kernel_class(
      features.blocks, model.device.sms, has_grid(sketch) ? features.warps_per_sm : kFewestWarps,
      work.flops / std::max(1.0, limiting_bytes(call, work)), ridge_of(model, call.dtype));
  const bool has_tile = sketch.tile_rows > 0 && sketch.tile_columns > 0;
  const double area = has_tile ? double{1} * sketch.tile_rows * sketch.tile_columns
                               : std::max(1.0, outputs_of(work) * sketch.split / tiles);
  const double step = std::max(1, sketch.tile_depth);
  const double depth =
      std::ceil(work.taps * std::ceil(work.depth / work.taps / step) * step / sketch.split);
  features.depth = depth;
  // Blocks that share an SM take turns; less than a wave of them have it to themselves.
  const double shared = std::min(occupancy, std::ceil(tiles / model.device.sms));
  const double per_sm_waves = waves * shared;
  const double per_pair =
      call.family == KernelFamily::attention
          ? work.flops / std::max(1.0, outputs_of(work) * work.depth * work.filled)
          : 1;
  // Tiles of causal attention are of all lengths up to the whole depth: SMs end at nearly the same time, but not before the
  // longest tile does.
  const double per_sm = tiles / model.device.sms;
  const double longest_way =
      work.filled < 1 ? std::max(per_sm, 1.0) * work.filled + 1 - work.filled : per_sm_waves;
  features.columns[kOnce] = 1;
  features.columns[kWaveDepth] = longest_way * area * depth * per_pair;
  features.columns[kTileDepth] = per_sm * area * depth * per_pair * work.filled;
  features.columns[kWaveArea] = per_sm_waves * area;
  features.columns[kTraffic] = work.bytes;
  features.columns[kWeights] = work.weight_bytes;
  features.columns[kArithmetic] = work.flops / model.device.sms;
  features.columns[kLaunches] = std::max(1, sketch.kernels);
  if (call.family == KernelFamily::rows || call.family == KernelFamily::image) {
    features.columns[kWaveDepth] = per_sm_waves;
    features.columns[kTileDepth] = work.rows;
  }
  return features;
}

std::array<float, kTreeFeatures> tree_features(const KernelCall& call, const LaunchSketch& sketch,
                                               const KernelFeatures& features, double seconds,
                                               const KernelModel& model) {
  const KernelWork& work = features.work;
  std::array<float, kTreeFeatures> values{};
  std::size_t at = 0;
  const auto add = [&](double value) { values[at++] = static_cast<float>(value); };
  add(log2_of(work.flops));
  add(log2_of(work.all_bytes()));
  add(std::log2(std::max(work.flops, 1.0) / std::max(work.all_bytes(), 1.0) /
                ridge_of(model, call.dtype)));
  add(features.tail);
  add(log2_of(features.waves));
  add(std::log2(features.tiles / model.device.sms));
  add(log2_of(features.depth));
  add(work.depth / sketch.split / features.depth);
  add(sketch.occupancy);
  add(log2_of(sketch.tile_rows));
  add(log2_of(sketch.tile_columns));
  add(sketch.kernels);
  add(sketch.threads);
  add(log2_of(sketch.split));
  add(last_tile(work.rows, sketch.tile_rows));
  add(last_tile(work.columns, sketch.tile_columns));
  add(std::log2(std::max(seconds, 1e-9)));
  for (const std::int64_t size : call.sizes) add(std::log2(static_cast<double>(size) + 1));
  add(size_alignment(call.sizes[1]));
  add(size_alignment(call.sizes[2]));
  add(size_alignment(call.sizes[3]));
  add(name_number(call.op) + 0.1 * element_bytes(call.dtype));
  add(name_number(call.variant));
  add(name_number(sketch.kernel));
  add(work.columns / std::max(1.0, work.rows));
  add(std::log2(features.helper_threads + 1));
  return values;
}

}  // namespace weir::predict
