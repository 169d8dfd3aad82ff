// SPDX-License-Identifier: Apache-2.0
//
// Where decisions fall only on multiples of a slot. A slot of 0 means anywhere.
#pragma once

#include "domain/time.h"

namespace weir::schedule {

constexpr Time slot_before(Time time, Duration slot) {
  if (slot.count() == 0) return time;
  return Time{time.time_since_epoch() / slot * slot};
}

// Never stays never.
constexpr Time slot_after(Time time, Duration slot) {
  const Time before = slot_before(time, slot);
  return before == time || time == Time::max() ? time : before + slot;
}

}  // namespace weir::schedule
