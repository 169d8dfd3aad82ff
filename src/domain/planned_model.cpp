// SPDX-License-Identifier: Apache-2.0
#include "domain/planned_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include "domain/whole_characters.h"

namespace weir {
namespace {

constexpr std::size_t kLongestModelTitle = 200;

// "124M", "6.74B"
std::string parameters_text(double parameters) {
  constexpr std::array<std::string_view, 5> kUnits{"", "K", "M", "B", "T"};
  std::size_t unit = 0;
  for (; parameters >= 999.5 && unit + 1 < kUnits.size(); ++unit) parameters /= 1000;
  return fmt::format("{:.3g}{}", parameters, kUnits[unit]);
}

}  // namespace

std::string planned_model_name(std::string_view title, const TransformerModel& model,
                               std::int64_t sequence) {
  std::string name{whole_characters(title, kLongestModelTitle)};
  std::replace(name.begin(), name.end(), ' ', '-');
  return fmt::format("{}-{}-s{}", name, parameters_text(static_cast<double>(model.elements())),
                     sequence);
}

std::vector<PoolGpus> pools_with_gpus(const Cluster& cluster) {
  std::vector<PoolGpus> pools;
  for (std::uint32_t i = 0; i < cluster.pools.size(); ++i) {
    PoolGpus pool{PoolIndex{i}, cluster.pools[i].name, "", 0, 0};
    std::uint64_t gpus = 0;
    for (const Node& node : cluster.nodes) {
      if (node.pool.value != i || node.gpu_count == 0) continue;
      if (gpus == 0) {
        pool.gpu = cluster.models.name(node.model);
        pool.gpus_per_node = node.gpu_count;
      }
      gpus += static_cast<std::uint64_t>(node.gpu_count);
    }
    if (gpus == 0) continue;
    constexpr std::uint64_t kMost = 1 << 16;
    pool.largest = static_cast<std::int32_t>(std::bit_floor(std::min(gpus, kMost)));
    pools.push_back(std::move(pool));
  }
  return pools;
}

}  // namespace weir
