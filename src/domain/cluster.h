// SPDX-License-Identifier: Apache-2.0
//
// The machines weir schedules on, as they are when nothing runs. A pool is a group of nodes with
// like GPUs in one link domain.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "domain/gpu_model.h"
#include "domain/ids.h"
#include "domain/units.h"

namespace weir {

struct Node {
  NodeId id;
  std::string name;
  PoolIndex pool;
  MilliCpu cpu;
  Mebibytes memory;
  std::int32_t gpu_count = 0;      // 0..kMaxGpusPerNode
  GpuModelId model = kNoGpuModel;  // kNoGpuModel exactly when gpu_count is 0
  std::string rack{};              // what fails together; empty: not known

  friend bool operator==(const Node&, const Node&) = default;
};

struct Pool {
  std::string name;
  friend bool operator==(const Pool&, const Pool&) = default;
};

struct Cluster {
  GpuModels models;
  std::vector<Pool> pools;
  std::vector<Node> nodes;
  std::string name{};  // for reports; may be empty

  // The pool of that name, made if there is none.
  PoolIndex pool_named(const std::string& pool);
  std::int64_t gpu_count() const;
  MilliGpu gpu_capacity() const;

  friend bool operator==(const Cluster&, const Cluster&) = default;
};

}  // namespace weir
