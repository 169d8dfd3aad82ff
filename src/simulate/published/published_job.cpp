// SPDX-License-Identifier: Apache-2.0
#include "simulate/published/published_job.h"

#include <bit>

namespace weir::simulate::published {

Seconds OverheadRule::of(std::int32_t gpus, bool restarts, bool is_cached) const {
  const bool is_large = cluster_gpus >= 256;
  Seconds overhead = is_large ? 7 : 2;
  if (is_cached) return overhead;
  if (restarts) overhead += is_large ? 47 : 27;
  return overhead + 2 * std::bit_width(static_cast<std::uint32_t>(gpus));
}

}  // namespace weir::simulate::published
