// SPDX-License-Identifier: Apache-2.0
//
// Which kernel the library will launch for a shape: what it launched for the nearest shapes that were measured.
// Near means in log2 of the sizes; of equally near ones the first in the order of sizes counts first.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "domain/kernel_model.h"

namespace weir::predict {

std::string dispatch_key(const KernelCall& call);
// The other way, without sizes.
KernelCall call_of_key(const std::string& key);

inline constexpr std::size_t kNeighbours = 4;

struct NearLaunch {
  const DispatchEntry* entry = nullptr;
  double distance = 0;  // squared
};

// Of all measured shapes of an operator, each size by itself.
struct SizeRanges {
  KernelSizes least{};
  KernelSizes most{};
};

struct NearLaunches {
  std::array<NearLaunch, kNeighbours> near{};
  std::size_t count = 0;
  const SizeRanges* ranges = nullptr;  // null where none is there
};

class LaunchDispatch {
 public:
  // Requires: `tables` outlives this.
  explicit LaunchDispatch(const std::map<std::string, std::vector<DispatchEntry>>& tables);

  // Nearest first. With `skip_same`, entries of the very same sizes do not count; with `only`, only entries whose sketch it
  // holds true for.
  NearLaunches nearest(const KernelCall& call, bool skip_same = false,
                       const std::vector<char>* only = nullptr) const;

 private:
  // Weighted log2 of sizes, then how far three of them are aligned.
  using Point = std::array<float, kMostKernelSizes + 3>;
  static Point place_of(KernelFamily family, const KernelSizes& sizes);
  static std::size_t most_different(
      const std::vector<std::pair<Point, const DispatchEntry*>>& placed);
  // Ascending in the number that differs most, so that a search can begin there and stop when that alone is too far.
  struct Table {
    std::size_t along = 0;  // which number
    std::vector<Point> points{};
    std::vector<const DispatchEntry*> entries{};
    SizeRanges ranges{};
  };
  std::map<std::string, Table, std::less<>> tables_;
};

}  // namespace weir::predict
