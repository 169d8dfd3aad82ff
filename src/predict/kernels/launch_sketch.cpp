// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/launch_sketch.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace weir::predict {
namespace {

constexpr std::int32_t kLeastTile = 8;
constexpr std::int32_t kMostTile = 4096;
constexpr double kMostSplit = 256;
constexpr std::int32_t kAttentionRows = 128;  // in a block, where its name does not tell
constexpr std::int32_t kAttentionStep = 64;

bool is_name_digit(char c) {
  return c >= '0' && c <= '9';
}

// The number that ends before `end`, or 0.
std::int32_t number_before(std::string_view text, std::size_t end) {
  std::size_t begin = end;
  while (begin > 0 && is_name_digit(text[begin - 1]) && end - begin < 5) --begin;
  std::int32_t value = 0;
  for (std::size_t i = begin; i < end; ++i) value = value * 10 + (text[i] - '0');
  return value;
}

std::int32_t number_from(std::string_view text, std::size_t begin) {
  std::int32_t value = 0;
  for (std::size_t i = begin; i < text.size() && is_name_digit(text[i]) && i - begin < 5; ++i)
    value = value * 10 + (text[i] - '0');
  return value;
}

bool is_tile_size(std::int32_t size) {
  return size >= kLeastTile && size <= kMostTile;
}

// Where the 'x' of the tile is.
std::optional<std::size_t> tile_place(std::string_view kernel) {
  for (std::size_t i = 1; i + 1 < kernel.size(); ++i) {
    if (kernel[i] != 'x') continue;
    if (is_tile_size(number_before(kernel, i)) && is_tile_size(number_from(kernel, i + 1)))
      return i;
  }
  return std::nullopt;
}

double tile_count(const KernelWork& work, double rows, double columns) {
  return std::ceil(work.rows / rows) * std::ceil(work.columns / columns) * work.batch;
}

// What a block of fused attention has, and how far it goes at a time: queries and keys forward, keys and queries backward.
KernelTile attention_tile(std::string_view kernel, bool is_backward) {
  std::int32_t queries = kAttentionRows;
  std::int32_t keys = kAttentionStep;
  constexpr std::string_view kTraits = "kernel_traits<";
  if (const auto at = kernel.find(kTraits); at != std::string_view::npos) {
    const std::size_t first = kernel.find(", ", at);
    const std::size_t second = kernel.find(", ", first + 2);
    if (second != std::string_view::npos) {
      queries = number_from(kernel, first + 2);
      keys = number_from(kernel, second + 2);
    }
  } else if (kernel.find("fmha_cutlass") != std::string_view::npos) {
    if (const auto tile = tile_in_name(kernel)) {
      queries = tile->first;
      keys = tile->second;
    }
  }
  if (!is_tile_size(queries) || !is_tile_size(keys)) return {kAttentionRows, 0, kAttentionStep};
  return is_backward ? KernelTile{keys, 0, queries} : KernelTile{queries, 0, keys};
}

bool has_split_in_name(std::string_view kernel) {
  return kernel.find("splitK") != std::string_view::npos ||
         kernel.find("split_k") != std::string_view::npos;
}

}  // namespace

std::optional<KernelTile> tile_in_name(std::string_view kernel) {
  const auto at = tile_place(kernel);
  if (!at) return std::nullopt;
  KernelTile tile{number_before(kernel, *at), number_from(kernel, *at + 1), 0};
  std::size_t end = *at + 1;
  while (end < kernel.size() && is_name_digit(kernel[end])) ++end;
  // "64x32x8" or "64x32_8x4".
  if (end + 1 < kernel.size() && (kernel[end] == 'x' || kernel[end] == '_')) {
    const std::int32_t depth = number_from(kernel, end + 1);
    if (is_tile_size(depth)) tile.depth = depth;
  }
  return tile;
}

std::string kernel_kind(std::string_view kernel) {
  const auto at = tile_place(kernel);
  if (!at) return std::string{kernel.substr(0, 48)};
  std::size_t end = *at + 1;
  while (end < kernel.size() && is_name_digit(kernel[end])) ++end;
  std::string kind{kernel.substr(0, end)};
  if (has_split_in_name(kernel)) kind += " splitK";
  if (kernel.find("segment_k_on") != std::string_view::npos) kind += " segmentK";
  return kind;
}

std::string_view kernel_maker(std::string_view kind) {
  const auto at = tile_place(kind);
  if (!at) return kind;
  std::size_t begin = *at;
  while (begin > 0 && is_name_digit(kind[begin - 1])) --begin;
  return kind.substr(0, begin);
}

double outputs_of(const KernelWork& work) {
  return work.rows * work.columns * work.batch;
}

bool has_grid(const LaunchSketch& sketch) {
  return !sketch.kernel.starts_with("(mem");
}

LaunchSketch sketch_of(const KernelCall& call, const KernelLaunch& launch, double sms) {
  LaunchSketch sketch;
  sketch.algorithm = launch.algorithm;
  sketch.kernel = kernel_kind(launch.kernel);
  sketch.occupancy = static_cast<std::int32_t>(std::max<std::int64_t>(0, launch.occupancy));
  sketch.threads = static_cast<std::int32_t>(launch.threads);
  sketch.kernels = static_cast<std::int32_t>(launch.kernels);
  if (call.family == KernelFamily::attention) {
    const KernelTile tile = attention_tile(launch.kernel, pass_of(call) == "bwd");
    sketch.tile_rows = tile.first;
    sketch.tile_columns =
        static_cast<std::int32_t>(std::min<std::int64_t>(call.sizes[attention_size::d], kMostTile));
    sketch.tile_depth = tile.depth;
    const double tiles = tile_count(kernel_work(call), sketch.tile_rows, sketch.tile_columns);
    const double split = std::floor(static_cast<double>(launch.blocks) / tiles + 0.25);
    if (split >= 2 && !call.variant.ends_with("/math"))
      sketch.split = static_cast<std::int32_t>(std::min(split, kMostSplit));
    return sketch;
  }
  const auto tile = tile_in_name(launch.kernel);
  if (!tile || call.family == KernelFamily::rows || call.family == KernelFamily::image)
    return sketch;
  const KernelWork work = kernel_work(call);
  const auto grid = static_cast<double>(launch.blocks);
  // Libraries count in columns first, so the tile's first number lies along the output's columns, unless the
  // grid says otherwise.
  const double along = tile_count(work, tile->second, tile->first);
  const double across = tile_count(work, tile->first, tile->second);
  const bool is_persistent = grid <= sms && along > grid && across > grid;
  const bool counts_rows_first = launch.kernel.find("xmma") != std::string::npos ||
                                 launch.kernel.find("cutlass__5x_cudnn") != std::string::npos;
  const bool is_across =
      is_persistent || counts_rows_first
          ? counts_rows_first
          : std::abs(std::log(grid / across)) + 1e-9 < std::abs(std::log(grid / along));
  sketch.tile_rows = is_across ? tile->first : tile->second;
  sketch.tile_columns = is_across ? tile->second : tile->first;
  sketch.tile_depth = tile->depth;
  const double tiles = is_across ? across : along;
  const double split = std::floor(grid / tiles + 0.25);
  if (split >= 2) sketch.split = static_cast<std::int32_t>(std::min(split, kMostSplit));
  return sketch;
}

double tiles_of(const LaunchSketch& sketch, const KernelWork& work, double blocks,
                double outputs_of_blocks) {
  if (sketch.tile_rows > 0 && sketch.tile_columns > 0)
    return tile_count(work, sketch.tile_rows, sketch.tile_columns) * sketch.split;
  if (outputs_of_blocks <= 0 || !has_grid(sketch)) return std::max(1.0, blocks);
  return std::max(1.0, std::ceil(blocks * outputs_of(work) / outputs_of_blocks - 1e-9));
}

LaunchSize launch_size(const LaunchSketch& sketch, const KernelWork& work,
                       const KernelLaunch& launch) {
  return {tiles_of(sketch, work, static_cast<double>(launch.blocks), 0),
          static_cast<double>(launch.helper_threads)};
}

}  // namespace weir::predict
