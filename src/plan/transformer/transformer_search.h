// SPDX-License-Identifier: Apache-2.0
//
// The fastest plan for a transformer, exactly: every plan of the space is looked at or ruled out. A structure is ruled out
// when it does not fit even with everything sharded as finely as possible, or when what does not depend on shards already
// takes longer than the plans that were found. Equal requests give equal answers.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/transformer/transformer_space.h"

namespace weir::plan {

struct TransformerChoice {
  predict::TransformerPlan plan;
  predict::TransformerTime time;
  predict::TransformerMemory memory;
};

struct TransformerAnswer {
  std::vector<TransformerChoice>
      best;  // fastest first, of each structure at most one; empty when nothing fits
  std::uint64_t structures = 0;  // in the space
  std::uint64_t looked_at = 0;   // plans whose time was computed
  double least_memory = 0;       // of any plan, in bytes; 0 when the space is empty
};

// The `count` best. Ties go to the plan that needs less memory, then to fewer stages, then to the smaller split, then to fewer shards.
TransformerAnswer search_transformer(const TransformerRequest& request, std::size_t count = 1);

}  // namespace weir::plan
