// SPDX-License-Identifier: Apache-2.0
//
// Where a search or an explanation begins: GPUs doubled from the first stage on until all are used, operators split evenly by their number,
// as much tensor parallelism as there are GPUs, the smallest microbatch.
#pragma once

#include <optional>
#include <vector>

#include "plan/training/plan_draft.h"

namespace weir::plan {

// Nothing when doubling does not end at the number of GPUs, or a stage would lie on two nodes.
std::optional<std::vector<int>> doubled_gpus(const DraftBook& book, int stages);

// On these GPUs, at the smallest microbatch at which every stage has an option.
std::optional<Draft> naive_draft(const DraftBook& book, const std::vector<int>& gpus);

}  // namespace weir::plan
