// SPDX-License-Identifier: Apache-2.0
//
// Clocks and energy counters of this machine's NVIDIA GPUs, through the driver's library (NVML). A clock
// is an upper limit (locked clocks), which most drivers let only root set; counters are there from
// Volta on.
#pragma once

#include <memory>
#include <string>

#include "domain/gpu_control.h"

namespace weir::engine {

// GPU numbers are those of find_gpus(), on whatever node. Where there is no driver, or it is too old,
// everything is refused, with the reason.
std::unique_ptr<GpuControl> nvml_gpus(const std::string& library = "libnvidia-ml.so.1");

}  // namespace weir::engine
