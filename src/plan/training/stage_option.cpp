// SPDX-License-Identifier: Apache-2.0
#include "plan/training/stage_option.h"

#include <algorithm>

namespace weir::plan {

StageSpan stage_span(const StageBase& base, double recompute, int microbatches,
                     predict::CostModel model) {
  const double busy = base.busy + recompute;
  const double traverse = busy + base.reshard + base.links;
  const double pace = model == predict::CostModel::published
                          ? traverse
                          : busy + base.reshard + std::max(0.0, base.links - busy);
  return {pace * (microbatches - 1) + base.finish, traverse};
}

}  // namespace weir::plan
