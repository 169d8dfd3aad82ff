// SPDX-License-Identifier: Apache-2.0
//
// Between two operators of a stage that lie differently on its GPUs, data has to move: which
// collective does it, forward and backward, and among how many GPUs.
#pragma once

#include <cstdint>
#include <optional>

#include "domain/op_profile.h"
#include "predict/training/op_traits.h"

namespace weir::predict {

struct Resharding {
  std::optional<Collective> forward;  // nothing: a local split, or nothing at all
  std::optional<Collective> backward;
  int gpus = 1;  // 1: the layouts agree
  friend bool operator==(const Resharding&, const Resharding&) = default;
};

struct OpDegrees {
  int tp = 1;
  int dp = 1;
};

// From the output of one operator to the input of the next. Requires: both use the same GPUs.
Resharding resharding(Spread from, OpDegrees before, Spread to, OpDegrees after);

}  // namespace weir::predict
