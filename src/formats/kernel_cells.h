// SPDX-License-Identifier: Apache-2.0
//
// Cells that all tables of timed kernels have: words, times, and the list of a call's launches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "formats/csv.h"

namespace weir::formats {

inline constexpr std::array<std::string_view, 2> kKernelSplits = {"train", "test"};
inline constexpr std::array<std::string_view, 3> kKernelDtypes = {"bf16", "tf32", "fp32"};
inline constexpr std::array<std::string_view, 3> kConvPasses = {"fwd", "dgrad", "wgrad"};
inline constexpr std::array<std::string_view, 2> kImageLayouts = {"nhwc", "nchw"};

inline constexpr std::int64_t kMostGridSize = std::int64_t{1} << 31;
// Far above what is launched; the threads of all launches that fit a row stay below 2^63.
inline constexpr std::int64_t kMostLaunchBlocks = std::int64_t{1} << 36;
inline constexpr std::int64_t kMostBlockThreads = 1024;  // of a block, as CUDA has it

// The three sizes of a grid or of a block, multiplied; nothing when one is below 1 or all are above `most`.
std::optional<std::int64_t> launch_product(const std::array<std::int64_t, 3>& sizes,
                                           std::int64_t most);

// Milliseconds or microseconds. Tells the mistake.
std::optional<double> kernel_time(CsvTable& table, std::size_t column);

struct ListedLaunch {
  std::size_t kernel = 0;  // in the names
  std::int64_t blocks = 0;
  std::int64_t threads = 0;  // of a block
  std::int64_t occupancy = 0;

  std::int64_t all_threads() const { return blocks * threads; }
};

// "kernel:grid:block:smem:regs:occ:cluster" of each launch, joined by ";"; sizes as "8x2x1". Tells the mistake.
std::optional<std::vector<ListedLaunch>> listed_launches(CsvTable& table, std::size_t column,
                                                         std::size_t kernel_names);

}  // namespace weir::formats
