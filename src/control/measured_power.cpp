// SPDX-License-Identifier: Apache-2.0
#include "control/measured_power.h"

#include <algorithm>
#include <cmath>

namespace weir::control {
namespace {

constexpr double kPowerNoise = 1.0 / 30;

const PowerPoint* find_point(const PowerTable& table, std::int32_t gpus, std::int32_t clock) {
  const auto at = std::find_if(table.begin(), table.end(), [&](const PowerPoint& point) {
    return point.gpus == gpus && point.clock_permille == clock;
  });
  return at == table.end() ? nullptr : &*at;
}

void scale(PowerPoint& point, double factor) {
  point.milliwatts = std::llround(static_cast<double>(point.milliwatts) * factor);
}

}  // namespace

std::optional<PowerTable> table_when_measured(const PowerTable& known, bool is_measured,
                                              std::int32_t gpus, std::int32_t clock_permille,
                                              double milliwatts) {
  const PowerPoint* point = find_point(known, gpus, clock_permille);
  if (point == nullptr || point->milliwatts <= 0 || milliwatts <= 0) return std::nullopt;
  const double factor = milliwatts / static_cast<double>(point->milliwatts);
  if (std::abs(factor - 1) <= kPowerNoise) return std::nullopt;
  PowerTable after = known;
  for (PowerPoint& each : after) {
    if (each.gpus == gpus || !is_measured) scale(each, factor);
  }
  return after;
}

PowerTable as_measured(PowerTable model, const PowerTable& measured) {
  for (PowerPoint& point : model) {
    const PowerPoint* seen = find_point(measured, point.gpus, kFullClock);
    const PowerPoint* full = find_point(model, point.gpus, kFullClock);
    if (seen == nullptr || full == nullptr || full->milliwatts <= 0) continue;
    const double factor =
        static_cast<double>(seen->milliwatts) / static_cast<double>(full->milliwatts);
    if (&point != full) scale(point, factor);
  }
  for (PowerPoint& point : model) {
    const PowerPoint* seen = find_point(measured, point.gpus, kFullClock);
    if (seen != nullptr && point.clock_permille == kFullClock) point.milliwatts = seen->milliwatts;
  }
  return model;
}

}  // namespace weir::control
