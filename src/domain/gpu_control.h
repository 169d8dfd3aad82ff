// SPDX-License-Identifier: Apache-2.0
//
// The port to what GPUs can be asked beside running jobs: how fast they may clock, and what they have
// used. Both may be refused; nothing depends on them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "domain/engine.h"

namespace weir {

class GpuControl {
 public:
  virtual ~GpuControl() = default;

  // Permille of the GPU's highest clock; 1000: no limit. Empty when it is so now; otherwise why not.
  virtual std::string set_clock(const GpuAddress& gpu, std::int32_t permille) = 0;

  // What the GPU has used since its driver was started; none: it has no counter, or does not tell.
  virtual std::optional<double> joules(const GpuAddress& gpu) = 0;
};

}  // namespace weir
