// SPDX-License-Identifier: Apache-2.0
#include "schedule/energy/capped_options.h"

namespace weir::schedule {

std::vector<int> capped_options(const PricedOptions& options, const EnergyCaps& caps) {
  std::vector<int> allowed;
  for (std::size_t k = 0; k < options.size(); ++k) {
    const bool is_new_size =
        allowed.empty() ||
        options[static_cast<std::size_t>(allowed.back())].gpus != options[k].gpus;
    if (is_new_size && !allowed.empty() && caps.gpus > 0 && options[k].gpus > caps.gpus) break;
    if (is_new_size) {
      allowed.push_back(static_cast<int>(k));
    } else if (options[k].clock_permille <= caps.clock_permille) {
      allowed.back() = static_cast<int>(k);
    }
  }
  return allowed;
}

}  // namespace weir::schedule
