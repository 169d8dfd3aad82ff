// SPDX-License-Identifier: Apache-2.0
#include "schedule/energy/carbon_plan.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <queue>

#include "schedule/admit/size_table.h"

namespace weir::schedule {
namespace {

constexpr Duration kPlanHour = std::chrono::hours{1};

struct PlanStep {
  double work_per_unit = 0;
  std::size_t slot = 0;
  std::size_t size = 0;

  // Of two alike the earlier slot's comes first.
  friend bool operator<(const PlanStep& a, const PlanStep& b) {
    if (a.work_per_unit != b.work_per_unit) return a.work_per_unit < b.work_per_unit;
    return a.slot > b.slot;
  }
};

// What a size has more than the one before it.
PlannedSize added_by(std::span<const PlannedSize> sizes, std::size_t at) {
  if (at == 0) return sizes[0];
  return {sizes[at].rate - sizes[at - 1].rate, sizes[at].watts - sizes[at - 1].watts};
}

PlanStep plan_step(std::span<const PlannedSize> sizes, std::span<const PlannedSlot> slots,
                   std::size_t slot, std::size_t size) {
  const PlannedSize more = added_by(sizes, size);
  const double cost = more.watts * slots[slot].per_kwh;
  return {cost > 0 ? more.rate / cost : std::numeric_limits<double>::infinity(), slot, size};
}

}  // namespace

std::vector<PlannedSlot> hourly_slots(const SupplySeries& supply, Time from, Time to) {
  std::vector<PlannedSlot> slots;
  Time hour = supply.begin() + (from - supply.begin()) / kPlanHour * kPlanHour;
  if (hour > from) hour -= kPlanHour;
  while (from < to) {
    hour += kPlanHour;
    const Time end = std::min(hour, to);
    slots.push_back({to_seconds(end - from), supply.mean(from, end)});
    from = end;
  }
  return slots;
}

std::vector<int> carbon_plan(std::span<const PlannedSize> sizes, std::span<const PlannedSlot> slots,
                             double iterations) {
  std::vector<int> plan(slots.size(), kPaused);
  if (sizes.empty()) return plan;
  std::priority_queue<PlanStep> steps;
  for (std::size_t slot = 0; slot < slots.size(); ++slot)
    steps.push(plan_step(sizes, slots, slot, 0));
  double planned = 0;
  while (planned < iterations && !steps.empty()) {
    const PlanStep step = steps.top();
    steps.pop();
    plan[step.slot] = static_cast<int>(step.size);
    planned += added_by(sizes, step.size).rate * slots[step.slot].seconds;
    if (step.size + 1 < sizes.size()) steps.push(plan_step(sizes, slots, step.slot, step.size + 1));
  }
  return plan;
}

}  // namespace weir::schedule
