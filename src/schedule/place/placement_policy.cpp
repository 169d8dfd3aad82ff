// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/placement_policy.h"

namespace weir::schedule {

MilliGpu GpuSupply::on(GpuModelSet models) const {
  if (models.accepts_any()) return total;
  MilliGpu supply;
  for (std::size_t model = 0; model < by_model.size(); ++model) {
    if (models.contains(GpuModelId{static_cast<std::uint8_t>(model)})) supply += by_model[model];
  }
  return supply;
}

}  // namespace weir::schedule
