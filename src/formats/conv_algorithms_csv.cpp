// SPDX-License-Identifier: Apache-2.0
#include "formats/conv_algorithms_csv.h"

#include <algorithm>
#include <array>
#include <utility>

#include "formats/csv.h"
#include "formats/kernel_cells.h"
#include "formats/kernel_tables_csv.h"

namespace weir::formats {
namespace {

enum AlgorithmColumn : std::size_t {
  kAlgorithmSplit,
  kAlgorithmPass,
  kAlgorithmDtype,
  kAlgorithmLayout,
  kAlgorithmName,
  kAlgorithmLatency,
  kAlgorithmWorkspace,
  kAlgorithmRank,
  kAlgorithmKernels,
  kAlgorithmLaunches,
  kAlgorithmFirstSize
};
constexpr std::array<CsvColumn, kAlgorithmFirstSize + 7> kAlgorithmColumns{{{"split"},
                                                                            {"pass"},
                                                                            {"dtype"},
                                                                            {"layout"},
                                                                            {"algorithm"},
                                                                            {"latency_ms"},
                                                                            {"workspace_bytes"},
                                                                            {"heuristic_rank"},
                                                                            {"kernel_ids"},
                                                                            {"launches"},
                                                                            {"B"},
                                                                            {"Cin"},
                                                                            {"Cout"},
                                                                            {"ksize"},
                                                                            {"insize"},
                                                                            {"stride"},
                                                                            {"pad"}}};
// The launch with the most threads. Requires: not empty.
KernelLaunch largest_launch(const std::vector<ListedLaunch>& launches,
                            const std::vector<std::string>& names) {
  std::int64_t all_threads = 0;
  const ListedLaunch* largest = &launches.front();
  for (const ListedLaunch& one : launches) {
    all_threads += one.all_threads();
    if (one.all_threads() >= largest->all_threads()) largest = &one;
  }
  KernelLaunch launch;
  launch.kernel = names[largest->kernel];
  launch.blocks = largest->blocks;
  launch.threads = largest->threads;
  launch.helper_threads = all_threads - largest->all_threads();
  return launch;
}

}  // namespace

Result<std::vector<TimedAlgorithm>> read_conv_algorithms(InputFile input,
                                                         const std::vector<std::string>& names) {
  CsvTable table{std::move(input), kAlgorithmColumns};
  const std::vector<std::string> digests = kernel_name_digests(names);
  std::vector<TimedAlgorithm> algorithms;
  while (table.next()) {
    TimedAlgorithm one;
    const auto split = table.choice(kAlgorithmSplit, kKernelSplits);
    const auto pass = table.choice(kAlgorithmPass, kConvPasses);
    const auto dtype = table.choice(kAlgorithmDtype, kKernelDtypes);
    const auto layout = table.choice(kAlgorithmLayout, kImageLayouts);
    one.algorithm = std::string{table.cell(kAlgorithmName)};
    KernelCall& call = one.sample.call;
    call.family = KernelFamily::conv;
    call.op = "conv";
    call.dtype = std::string{table.cell(kAlgorithmDtype)};
    call.variant = std::string{table.cell(kAlgorithmPass)} + "/" +
                   std::string{table.cell(kAlgorithmLayout)} + "/" + one.algorithm;
    bool is_right = split && pass && dtype && layout;
    for (std::size_t i = 0; i < 7; ++i) {
      const std::int64_t least = i == conv_size::pad ? 0 : 1;
      const auto size = table.integer(kAlgorithmFirstSize + i, least, 1'000'000);
      is_right = is_right && size;
      call.sizes[i] = size.value_or(0);
    }
    const auto time = kernel_time(table, kAlgorithmLatency);
    // PyTorch's own choices have neither.
    if (!table.cell(kAlgorithmWorkspace).empty())
      one.workspace_bytes =
          table.integer(kAlgorithmWorkspace, 0, std::int64_t{1} << 50).value_or(0);
    if (!table.cell(kAlgorithmRank).empty())
      one.heuristic_rank = table.integer(kAlgorithmRank, 0, 1000).value_or(-1);
    const auto launches = listed_launches(table, kAlgorithmLaunches, names.size());
    if (launches && launches->empty()) table.reject(kAlgorithmLaunches, "at least one launch");
    auto sequence = kernel_sequence(table.cell(kAlgorithmKernels), digests);
    if (!sequence) table.reject(kAlgorithmKernels, "kernel_id of each launch, joined by \"|\"");
    if (!is_right || !time || !launches || launches->empty() || !sequence) continue;
    one.sample.milliseconds = *time;
    one.sample.launch = largest_launch(*launches, names);
    one.sample.launch.algorithm = std::move(*sequence);
    one.sample.launch.kernels =
        1 + std::count(one.sample.launch.algorithm.begin(), one.sample.launch.algorithm.end(), '|');
    one.sample.is_held_out = *split == 1;
    algorithms.push_back(std::move(one));
  }
  if (!table.mistakes().empty()) return table.failure();
  return algorithms;
}

}  // namespace weir::formats
