// SPDX-License-Identifier: Apache-2.0
//
// The resources weir hands out. All are integers, because they decide comparisons.
#pragma once

#include <cstdint>

#include "domain/quantity.h"

namespace weir {

using MilliCpu = Quantity<struct MilliCpuTag, std::int64_t>;    // 1000 = one core
using Mebibytes = Quantity<struct MebibytesTag, std::int64_t>;  // main memory
using MilliGpu = Quantity<struct MilliGpuTag, std::int64_t>;    // 1000 = one whole GPU

inline constexpr MilliGpu kWholeGpu{1000};
inline constexpr std::int64_t kMicroPerMilli = 1000;

}  // namespace weir
