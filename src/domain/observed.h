// SPDX-License-Identifier: Apache-2.0
//
// A cluster that another scheduler runs, as far as the core counts it. Who observes it gives nodes their ids.
#pragma once

#include <cstdint>
#include <string>

#include "domain/gpu_model.h"
#include "domain/ids.h"
#include "domain/units.h"

namespace weir {

struct ObservedNode {
  NodeId id;
  std::string name;
  std::string pool;
  std::string rack;   // or zone: what fails together; may be empty
  std::string model;  // of its GPUs, for people
  MilliCpu cpu;
  Mebibytes memory;
  std::int32_t gpu_count = 0;         // 0..kMaxGpusPerNode
  GpuModelId model_id = kNoGpuModel;  // kNoGpuModel exactly when gpu_count is 0
  bool is_up = true;                  // it takes new work
  friend bool operator==(const ObservedNode&, const ObservedNode&) = default;
};

}  // namespace weir
