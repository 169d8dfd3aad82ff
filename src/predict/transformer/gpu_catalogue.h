// SPDX-License-Identifier: Apache-2.0
//
// The types of GPU that can be planned for: those weir knows (gpu_type.h), and those that somebody describes.
// Clusters call their GPUs by names of their own, "A100", "NVIDIA H100 80GB HBM3", "V100M32"; `match` finds the type
// that is meant.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "predict/transformer/gpu_type.h"

namespace weir::predict {

class GpuCatalogue {
 public:
  // Its name goes before one of weir's own. Copies share what was added.
  void add(std::string name, GpuType type);

  // By its full name, in upper or lower case.
  const GpuType* find(std::string_view name) const;
  // Also by the family's name, with or without the memory. Where the name leaves it open, the type with the least
  // memory: nothing is promised that does not fit. Null: nobody knows it.
  const GpuType* match(std::string_view name) const;
  // "A100-40G, A100-80G, ..."
  std::string names() const;

 private:
  struct Own {
    std::string name;
    GpuType type;  // its name is the one above
  };
  std::vector<std::shared_ptr<const Own>> own_;
};

}  // namespace weir::predict
