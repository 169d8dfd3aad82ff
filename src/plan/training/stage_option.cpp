// SPDX-License-Identifier: Apache-2.0
#include "plan/training/stage_option.h"

#include <algorithm>

namespace weir::plan {

StageSpan stage_span(const StageBase& base, double recompute, int microbatches,
                     bool hides_transfers) {
  const double busy = base.busy + recompute;
  const double traverse = busy + base.reshard + base.links;
  const double pace =
      hides_transfers ? busy + base.reshard + std::max(0.0, base.links - busy) : traverse;
  return {pace * (microbatches - 1) + base.finish, traverse};
}

}  // namespace weir::plan
