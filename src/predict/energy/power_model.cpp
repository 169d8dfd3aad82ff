// SPDX-License-Identifier: Apache-2.0
#include "predict/energy/power_model.h"

#include <algorithm>
#include <cmath>

namespace weir::predict {

double TimeModel::compute_seconds(double local_batch, double clock) const {
  return per_iteration + local_batch * (per_sample + per_sample_at_full_clock / clock);
}

double TimeModel::sync_seconds(std::int32_t gpus, std::int32_t nodes) const {
  if (gpus <= 1) return 0;
  const double volume = 2.0 * (gpus - 1) / gpus;
  if (nodes <= 1) return sync_inside_node + sync_volume_inside_node * volume;
  return sync_across_nodes + sync_volume_across_nodes * volume + sync_per_node * nodes;
}

// The larger of the two is taken out of the power, so that nothing over- or underflows.
double TimeModel::iteration_seconds(double compute_seconds, double sync_seconds) const {
  const double longer = std::max(compute_seconds, sync_seconds);
  const double shorter = std::min(compute_seconds, sync_seconds);
  if (shorter <= 0) return longer;
  if (overlap == 1) return longer + shorter;
  return longer * std::pow(1 + std::pow(shorter / longer, overlap), 1 / overlap);
}

double GpuPower::computing_watts(double clock) const {
  return full_watts * (static_share + (1 - static_share) * clock * clock * clock);
}

double GpuPower::waiting_watts(double clock) const {
  return full_watts * (static_share + (1 - static_share) * waiting_share * clock * clock * clock);
}

double GpuPower::joules(double clock, double compute_seconds, double iteration_seconds) const {
  return computing_watts(clock) * compute_seconds +
         waiting_watts(clock) * (iteration_seconds - compute_seconds);
}

}  // namespace weir::predict
