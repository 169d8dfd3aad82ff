// SPDX-License-Identifier: Apache-2.0
#include "report/block_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::report {

std::string block_text(std::span<const formats::RecordLogHeader::Pool> pools, PoolIndex pool,
                       GpuBlock block) {
  if (block.is_none()) return "-";
  if (pool.value >= pools.size()) return fmt::format("GPUs {}-{}", block.first, block.end() - 1);
  const formats::RecordLogHeader::Pool& where = pools[pool.value];
  const auto stride = static_cast<std::uint32_t>(std::max(where.stride, 1));
  const std::uint32_t first = block.first / stride;
  const std::uint32_t last = (block.end() - 1) / stride;
  if (first != last) return fmt::format("{} nodes {}-{}", where.name, first + 1, last + 1);
  const std::string node = fmt::format("{} node {}", where.name, first + 1);
  if (block.size >= stride) return node;
  const std::uint32_t gpu = block.first % stride;
  if (block.size == 1) return fmt::format("{}, GPU {}", node, gpu);
  return fmt::format("{}, GPUs {}-{}", node, gpu, gpu + block.size - 1);
}

}  // namespace weir::report
