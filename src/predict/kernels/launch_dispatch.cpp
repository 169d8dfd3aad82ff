// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/launch_dispatch.h"

#include <cmath>

namespace weir::predict {
namespace {

constexpr float kAlignmentWeight = 1;
constexpr std::size_t kFirstLook = 4;  // sizes that tell most entries apart

using SizeWeights = std::array<float, kMostKernelSizes>;

// How much a doubling counts. A filter's size, stride and padding choose the algorithm, so does a mask.
SizeWeights size_weights(KernelFamily family) {
  switch (family) {
    case KernelFamily::conv:
      return {
          1, 1, 1, 4, 1, 4, 2,
      };
    case KernelFamily::attention:
      return {1, 1, 1, 1, 1, 3, 8};
    case KernelFamily::image:
      return {1, 1, 1, 4, 4, 4, 0};
    case KernelFamily::gemm:
    case KernelFamily::rows:
      break;
  }
  return {1, 1, 1, 1, 1, 1, 1};
}

// Vector loads need sizes that 2, 4 or 8 divide: up to three doublings.
float alignment_of(std::int64_t size) {
  if (size % 8 == 0) return 3;
  if (size % 4 == 0) return 2;
  return size % 2 == 0 ? 1 : 0;
}

}  // namespace

std::string dispatch_key(const KernelCall& call) {
  std::string key{to_string(call.family)};
  key += '/';
  key += call.op;
  key += '/';
  key += call.dtype;
  key += '/';
  key += call.variant;
  return key;
}

KernelCall call_of_key(const std::string& key) {
  KernelCall call;
  const std::size_t op = key.find('/');
  const std::size_t dtype = key.find('/', op + 1);
  const std::size_t variant = key.find('/', dtype + 1);
  if (variant == std::string::npos) return call;
  const std::string_view family = std::string_view{key}.substr(0, op);
  for (std::size_t i = 0; i < kKernelFamilyNames.size(); ++i)
    if (kKernelFamilyNames[i] == family) call.family = static_cast<KernelFamily>(i);
  call.op = key.substr(op + 1, dtype - op - 1);
  call.dtype = key.substr(dtype + 1, variant - dtype - 1);
  call.variant = key.substr(variant + 1);
  return call;
}

LaunchDispatch::Point LaunchDispatch::place_of(KernelFamily family, const KernelSizes& sizes) {
  const SizeWeights weights = size_weights(family);
  Point place{};
  for (std::size_t i = 0; i < sizes.size(); ++i)
    place[i] = weights[i] *
               static_cast<float>(std::log2(static_cast<double>(sizes[i]) + (i < 6 ? 0.25 : 1)));
  if (family == KernelFamily::gemm || family == KernelFamily::conv) {
    for (std::size_t i = 0; i < 3; ++i)
      place[kMostKernelSizes + i] = kAlignmentWeight * alignment_of(sizes[i + 1]);
  }
  return place;
}

LaunchDispatch::LaunchDispatch(const std::map<std::string, std::vector<DispatchEntry>>& tables) {
  for (const auto& [key, entries] : tables) {
    Table& table = tables_[key];
    table.entries = &entries;
    const KernelFamily kind = call_of_key(key).family;
    table.points.reserve(entries.size());
    for (const DispatchEntry& entry : entries) table.points.push_back(place_of(kind, entry.sizes));
  }
}

NearLaunches LaunchDispatch::nearest(const KernelCall& call, bool skip_same,
                                     const std::vector<char>* only) const {
  NearLaunches found;
  const auto at = tables_.find(dispatch_key(call));
  if (at == tables_.end()) return found;
  const Table& table = at->second;
  const Point place = place_of(call.family, call.sizes);
  float farthest = INFINITY;
  for (std::size_t i = 0; i < table.points.size(); ++i) {
    const Point& point = table.points[i];
    float distance = 0;
    for (std::size_t d = 0; d < kFirstLook; ++d) {
      const float difference = place[d] - point[d];
      distance += difference * difference;
    }
    if (distance >= farthest) continue;
    for (std::size_t d = kFirstLook; d < place.size(); ++d) {
      const float difference = place[d] - point[d];
      distance += difference * difference;
    }
    if (distance >= farthest) continue;
    const DispatchEntry& entry = (*table.entries)[i];
    if (skip_same && entry.sizes == call.sizes) continue;
    if (only != nullptr && (*only)[static_cast<std::size_t>(entry.sketch)] == 0) continue;
    std::size_t rank = found.count < kNeighbours ? found.count++ : kNeighbours - 1;
    while (rank > 0 && found.near[rank - 1].distance > static_cast<double>(distance)) {
      found.near[rank] = found.near[rank - 1];
      --rank;
    }
    found.near[rank] = {&entry, static_cast<double>(distance)};
    if (found.count == kNeighbours)
      farthest = static_cast<float>(found.near[kNeighbours - 1].distance);
  }
  return found;
}

}  // namespace weir::predict
