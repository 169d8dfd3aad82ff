// SPDX-License-Identifier: Apache-2.0
#include "formats/conv_algorithms_csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "formats/csv.h"
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
constexpr std::array<std::string_view, 2> kAlgorithmSplits = {"train", "test"};
constexpr double kLongestAlgorithm = 1e6;

// The launch with the most threads: "kernel:grid:block:...", joined by ";".
std::optional<KernelLaunch> largest_launch(std::string_view text,
                                           const std::vector<std::string>& names) {
  KernelLaunch largest;
  std::int64_t all_threads = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    std::array<std::int64_t, 7> numbers{};  // kernel, grid, block
    const char* at = text.data();
    const char* const stop = at + end;
    for (std::int64_t& number : numbers) {
      const auto [next, error] = std::from_chars(at, stop, number);
      if (error != std::errc{} || number < 0 || number > 65'535'000) return std::nullopt;
      at = next == stop ? next : next + 1;
    }
    const double blocks = static_cast<double>(numbers[1]) * static_cast<double>(numbers[2]) *
                          static_cast<double>(numbers[3]);
    const double threads = static_cast<double>(numbers[4]) * static_cast<double>(numbers[5]) *
                           static_cast<double>(numbers[6]);
    if (static_cast<std::size_t>(numbers[0]) >= names.size() || blocks > 1e12 || threads > 4096)
      return std::nullopt;
    const auto count = static_cast<std::int64_t>(blocks * threads);
    all_threads += count;
    if (count >= largest.blocks * largest.threads) {
      largest.kernel = names[static_cast<std::size_t>(numbers[0])];
      largest.blocks = static_cast<std::int64_t>(blocks);
      largest.threads = static_cast<std::int64_t>(threads);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (largest.blocks == 0) return std::nullopt;
  largest.helper_threads = all_threads - largest.blocks * largest.threads;
  return largest;
}

}  // namespace

Result<std::vector<TimedAlgorithm>> read_conv_algorithms(InputFile input,
                                                         const std::vector<std::string>& names) {
  CsvTable table{std::move(input), kAlgorithmColumns};
  const std::vector<std::string> digests = kernel_name_digests(names);
  std::vector<TimedAlgorithm> algorithms;
  while (table.next()) {
    TimedAlgorithm one;
    const auto split = table.choice(kAlgorithmSplit, kAlgorithmSplits);
    one.algorithm = std::string{table.cell(kAlgorithmName)};
    KernelCall& call = one.sample.call;
    call.family = KernelFamily::conv;
    call.op = "conv";
    call.dtype = std::string{table.cell(kAlgorithmDtype)};
    call.variant = std::string{table.cell(kAlgorithmPass)} + "/" +
                   std::string{table.cell(kAlgorithmLayout)} + "/" + one.algorithm;
    bool is_right = split.has_value();
    for (std::size_t i = 0; i < 7; ++i) {
      const std::int64_t least = i == conv_size::pad ? 0 : 1;
      const auto size = table.integer(kAlgorithmFirstSize + i, least, 1'000'000);
      is_right = is_right && size;
      call.sizes[i] = size.value_or(0);
    }
    const std::string_view time = table.cell(kAlgorithmLatency);
    const auto [end, error] =
        std::from_chars(time.data(), time.data() + time.size(), one.sample.milliseconds);
    if (error != std::errc{} || end != time.data() + time.size() ||
        !(one.sample.milliseconds > 0) || one.sample.milliseconds > kLongestAlgorithm) {
      table.reject(kAlgorithmLatency, "a number above 0");
      is_right = false;
    }
    // PyTorch's own choices have neither.
    if (!table.cell(kAlgorithmWorkspace).empty())
      one.workspace_bytes =
          table.integer(kAlgorithmWorkspace, 0, std::int64_t{1} << 50).value_or(0);
    if (!table.cell(kAlgorithmRank).empty())
      one.heuristic_rank = table.integer(kAlgorithmRank, 0, 1000).value_or(-1);
    auto launch = largest_launch(table.cell(kAlgorithmLaunches), names);
    if (!launch)
      table.reject(kAlgorithmLaunches, "kernel:grid:block:... of each launch, joined by \";\"");
    auto sequence = kernel_sequence(table.cell(kAlgorithmKernels), digests);
    if (!sequence) table.reject(kAlgorithmKernels, "kernel_id of each launch, joined by \"|\"");
    if (!is_right || !launch || !sequence) continue;
    one.sample.launch = *launch;
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
