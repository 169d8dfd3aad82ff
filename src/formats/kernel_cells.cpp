// SPDX-License-Identifier: Apache-2.0
#include "formats/kernel_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace weir::formats {
namespace {

constexpr double kLeastKernelTime = 1e-6;
constexpr double kMostKernelTime = 1e6;

std::optional<ListedLaunch> listed_launch(std::string_view text, std::size_t kernel_names) {
  std::array<std::int64_t, 11> numbers{};  // kernel, grid, block, smem, regs, occ, cluster
  std::size_t count = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (count < numbers.size()) {
    const auto [next, error] = std::from_chars(at, end, numbers[count]);
    if (error != std::errc{} || numbers[count] < 0 || numbers[count] > kMostGridSize)
      return std::nullopt;
    ++count;
    at = next;
    if (at == end) break;
    if (*at != ':' && *at != 'x') return std::nullopt;
    ++at;
  }
  if (count != numbers.size() || at != end) return std::nullopt;
  const auto kernel = static_cast<std::size_t>(numbers[0]);
  if (kernel >= kernel_names) return std::nullopt;
  const auto blocks = launch_product({numbers[1], numbers[2], numbers[3]}, kMostLaunchBlocks);
  const auto threads = launch_product({numbers[4], numbers[5], numbers[6]}, kMostBlockThreads);
  if (!blocks || !threads) return std::nullopt;
  return ListedLaunch{kernel, *blocks, *threads, numbers[9]};
}

}  // namespace

std::optional<std::int64_t> launch_product(const std::array<std::int64_t, 3>& sizes,
                                           std::int64_t most) {
  std::int64_t all = 1;
  for (const std::int64_t size : sizes) {
    if (size < 1 || size > most / all) return std::nullopt;
    all *= size;
  }
  return all;
}

std::optional<double> kernel_time(CsvTable& table, std::size_t column) {
  const std::string_view text = table.cell(column);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size() && value >= kLeastKernelTime &&
      value <= kMostKernelTime)
    return value;
  table.reject(column,
               fmt::format("a number from {} to {:.0f}", kLeastKernelTime, kMostKernelTime));
  return std::nullopt;
}

std::optional<std::vector<ListedLaunch>> listed_launches(CsvTable& table, std::size_t column,
                                                         std::size_t kernel_names) {
  std::vector<ListedLaunch> launches;
  std::string_view rest = table.cell(column);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    const auto one = listed_launch(rest.substr(0, end), kernel_names);
    if (!one) {
      table.reject(column,
                   "kernel:grid:block:smem:regs:occ:cluster of each launch, joined by \";\"");
      return std::nullopt;
    }
    launches.push_back(*one);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return launches;
}

}  // namespace weir::formats
