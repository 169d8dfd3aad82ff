// SPDX-License-Identifier: Apache-2.0
//
// How long data takes between GPUs, from measured speeds: looked up in steps as the Aceso artifact
// does, or interpolated.
#pragma once

#include <optional>
#include <span>

#include "domain/op_profile.h"

namespace weir::predict {

// In steps. An 8 MiB message is charged at the speed of 4 MiB, and below 1 MiB the artifact's index
// turns negative and counts from the end of its table; both are kept for parity.
double stepped_transfer_us(std::span<const LinkSpeed> link, double mib);
// Linear in time between the measured sizes, at the first or last speed outside of them.
double transfer_time_us(std::span<const LinkSpeed> link, double mib);

// Exactly the whole MiB (or one less); a miss costs 100 s, which forbids the plan.
double looked_up_collective_us(const CollectiveTimes* times, double mib);
// Takes out the sizes marked as skipped.
void drop_skipped(CollectiveTimes& times);
// Between measured sizes; nothing when there are none.
std::optional<double> interpolated_collective_us(const CollectiveTimes& times, double mib);
// Where nothing was measured: rings at the speed of the links.
double ring_collective_us(Collective kind, int gpus, double mib, std::span<const LinkSpeed> link);

}  // namespace weir::predict
