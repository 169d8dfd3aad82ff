// SPDX-License-Identifier: Apache-2.0
//
// Which part of a cross-validation a shape is in: by its sizes alone, so it is in the same part on every device, in
// every number format and pass.
#pragma once

#include <cstdint>

#include "domain/kernel_call.h"

namespace weir::predict {

inline int shape_fold(const KernelCall& call, int folds) {
  std::uint64_t hash = 1469598103934665603ULL + static_cast<std::uint64_t>(call.family);
  for (const std::int64_t size : call.sizes) {
    hash = (hash ^ static_cast<std::uint64_t>(size)) * 1099511628211ULL;
    hash ^= hash >> 29;
  }
  hash *= 0x9e3779b97f4a7c15ULL;
  return static_cast<int>((hash >> 33) % static_cast<std::uint64_t>(folds));
}

}  // namespace weir::predict
