// SPDX-License-Identifier: Apache-2.0
//
// Which NVIDIA GPUs this machine has. The driver's own library (NVML) is looked for when the program
// runs, so weir needs nothing of it to be built and works the same where there is none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "domain/result.h"

namespace weir::engine {

struct GpuDevice {
  std::string model;  // "NVIDIA A100-SXM4-80GB"
  std::string uuid;   // "GPU-8f6e..."; the same after a restart, as a number is not
  std::int64_t memory_bytes = 0;
  friend bool operator==(const GpuDevice&, const GpuDevice&) = default;
};

// In the driver's order. Empty when there is no driver; an error when there is one that does not
// answer, because running on with fewer GPUs than there are would go unnoticed.
Result<std::vector<GpuDevice>> find_gpus(const std::string& library = "libnvidia-ml.so.1");

}  // namespace weir::engine
