// SPDX-License-Identifier: Apache-2.0
//
// What GPUs were seen to draw, put in the place of what was modelled. One measurement is of one size and
// clock; how power falls with the clock stays the model's.
#pragma once

#include <cstdint>
#include <optional>

#include "domain/power_table.h"

namespace weir::control {

// The table after `milliwatts` were seen at that size and clock: all clocks of the size are as much more,
// or less, and so are all other sizes while none of the table was measured. Nothing when the table is
// right as it is, within a thirtieth, or does not have the size.
std::optional<PowerTable> table_when_measured(const PowerTable& known, bool is_measured,
                                              std::int32_t gpus, std::int32_t clock_permille,
                                              double milliwatts);

// A new model of a kind of which power was measured: each size draws what it was seen to at the full
// clock.
PowerTable as_measured(PowerTable model, const PowerTable& measured);

}  // namespace weir::control
