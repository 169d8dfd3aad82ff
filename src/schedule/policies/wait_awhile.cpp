// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/wait_awhile.h"

#include "schedule/admit/size_table.h"

namespace weir::schedule {

// The cleanest hours, of two alike the earlier, until their time suffices: this one is among them
// when the cleaner ones do not suffice without it.
int WaitAwhilePolicy::wanted_now(std::span<const PlannedSize> sizes,
                                 std::span<const PlannedSlot> slots, double iterations) const {
  double cleaner = 0;  // seconds
  for (const PlannedSlot& slot : slots) {
    if (slot.per_kwh < slots.front().per_kwh) cleaner += slot.seconds;
  }
  const bool runs = cleaner < iterations / sizes.back().rate;
  return runs ? static_cast<int>(sizes.size()) - 1 : kPaused;
}

}  // namespace weir::schedule
