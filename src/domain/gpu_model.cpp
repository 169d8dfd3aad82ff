// SPDX-License-Identifier: Apache-2.0
#include "domain/gpu_model.h"

#include <algorithm>

namespace weir {

std::optional<GpuModelId> GpuModels::find(std::string_view name) const {
  const auto at = std::find(names_.begin(), names_.end(), name);
  if (at == names_.end()) return std::nullopt;
  return GpuModelId{static_cast<std::uint8_t>(at - names_.begin())};
}

std::optional<GpuModelId> GpuModels::intern(std::string_view name) {
  if (const auto known = find(name)) return known;
  if (names_.size() == kMaxGpuModels) return std::nullopt;
  names_.emplace_back(name);
  return GpuModelId{static_cast<std::uint8_t>(names_.size() - 1)};
}

std::string GpuModels::to_string(GpuModelSet set) const {
  std::vector<std::string> members;
  for (std::size_t id = 0; id < names_.size(); ++id) {
    if (set.contains(GpuModelId{static_cast<std::uint8_t>(id)})) members.push_back(names_[id]);
  }
  std::sort(members.begin(), members.end());
  std::string joined;
  for (const std::string& member : members) joined += (joined.empty() ? "" : "|") + member;
  return joined;
}

}  // namespace weir
