// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/launch_dispatch.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

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

// The number by which an entry has the fewest others near it.
std::size_t LaunchDispatch::most_different(
    const std::vector<std::pair<Point, const DispatchEntry*>>& placed) {
  constexpr float kNear = 0.5F;
  std::size_t along = 0;
  std::size_t fewest = placed.size() * placed.size() + 1;
  std::vector<float> values(placed.size());
  for (std::size_t d = 0; d < Point{}.size(); ++d) {
    std::transform(placed.begin(), placed.end(), values.begin(),
                   [&](const auto& one) { return one.first[d]; });
    std::sort(values.begin(), values.end());
    std::size_t near = 0;
    for (std::size_t first = 0, last = 0; last < values.size(); ++last) {
      while (values[last] - values[first] > kNear) ++first;
      near += last - first;
    }
    if (near >= fewest) continue;
    fewest = near;
    along = d;
  }
  return along;
}

LaunchDispatch::LaunchDispatch(const std::map<std::string, std::vector<DispatchEntry>>& tables) {
  for (const auto& [key, entries] : tables) {
    const KernelFamily family = call_of_key(key).family;
    std::vector<std::pair<Point, const DispatchEntry*>> placed;
    placed.reserve(entries.size());
    for (const DispatchEntry& entry : entries)
      placed.emplace_back(place_of(family, entry.sizes), &entry);
    Table& table = tables_[key];
    table.along = most_different(placed);
    std::stable_sort(placed.begin(), placed.end(), [&](const auto& a, const auto& b) {
      return a.first[table.along] < b.first[table.along];
    });
    if (!entries.empty()) table.ranges = {entries.front().sizes, entries.front().sizes};
    for (const auto& [point, entry] : placed) {
      for (std::size_t i = 0; i < entry->sizes.size(); ++i) {
        table.ranges.least[i] = std::min(table.ranges.least[i], entry->sizes[i]);
        table.ranges.most[i] = std::max(table.ranges.most[i], entry->sizes[i]);
      }
      table.points.push_back(point);
      table.entries.push_back(entry);
    }
  }
}

namespace {

// Keeps the nearest, nearest first; of equally near ones that which stands first in the table.
class NearestLaunches {
 public:
  bool may_take(float distance) const {
    return found_.count < kNeighbours || distance <= farthest_;
  }

  void take(const DispatchEntry* entry, float distance) {
    const NearLaunch one{entry, static_cast<double>(distance)};
    if (found_.count == kNeighbours && !is_nearer(one, found_.near[kNeighbours - 1])) return;
    std::size_t rank = found_.count < kNeighbours ? found_.count++ : kNeighbours - 1;
    for (; rank > 0 && is_nearer(one, found_.near[rank - 1]); --rank)
      found_.near[rank] = found_.near[rank - 1];
    found_.near[rank] = one;
    farthest_ = static_cast<float>(found_.near[found_.count - 1].distance);
  }

  NearLaunches found(const SizeRanges* ranges = nullptr) const {
    NearLaunches found = found_;
    found.ranges = ranges;
    return found;
  }

 private:
  static bool is_nearer(const NearLaunch& a, const NearLaunch& b) {
    return a.distance < b.distance || (a.distance == b.distance && std::less<>{}(a.entry, b.entry));
  }

  NearLaunches found_;
  float farthest_ = 0;
};

}  // namespace

NearLaunches LaunchDispatch::nearest(const KernelCall& call, bool skip_same,
                                     const std::vector<char>* only) const {
  NearestLaunches nearest;
  const auto at = tables_.find(dispatch_key(call));
  if (at == tables_.end()) return nearest.found();
  const Table& table = at->second;
  const Point place = place_of(call.family, call.sizes);
  const auto look_at = [&](std::size_t i) {
    const Point& point = table.points[i];
    float distance = 0;
    for (std::size_t d = 0; d < kFirstLook; ++d)
      distance += (place[d] - point[d]) * (place[d] - point[d]);
    if (!nearest.may_take(distance)) return;
    for (std::size_t d = kFirstLook; d < place.size(); ++d)
      distance += (place[d] - point[d]) * (place[d] - point[d]);
    const DispatchEntry* const entry = table.entries[i];
    if (!nearest.may_take(distance) || (skip_same && entry->sizes == call.sizes)) return;
    if (only != nullptr && (*only)[static_cast<std::size_t>(entry->sketch)] == 0) return;
    nearest.take(entry, distance);
  };
  // From the call's own place outwards, the nearer side first.
  const std::size_t along = table.along;
  const float here = place[along];
  std::size_t right = static_cast<std::size_t>(
      std::lower_bound(table.points.begin(), table.points.end(), here,
                       [&](const Point& point, float value) { return point[along] < value; }) -
      table.points.begin());
  std::size_t left = right;
  while (left > 0 || right < table.points.size()) {
    const float below = left > 0 ? here - table.points[left - 1][along] : INFINITY;
    const float above = right < table.points.size() ? table.points[right][along] - here : INFINITY;
    const float step = std::min(below, above);
    if (!nearest.may_take(step * step)) break;
    look_at(below <= above ? --left : right++);
  }
  return nearest.found(&table.ranges);
}

}  // namespace weir::predict
