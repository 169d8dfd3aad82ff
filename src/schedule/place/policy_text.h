// SPDX-License-Identifier: Apache-2.0
//
// A placement policy as a user names it: a name of the table (policies.h), or a blend of several with
// a weight each, "fgd:0.9+pwr:0.1". Weights are above 0, with at most six decimals; only their
// proportions matter.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "domain/result.h"
#include "schedule/place/placement_policy.h"

namespace weir::schedule {

// Whether the text is meant as a blend.
bool looks_like_a_blend(std::string_view text);

// What the text should have been, where it is wrong.
tl::expected<std::shared_ptr<const PlacementPolicy>, std::string> read_placement_policy(
    std::string_view text);

}  // namespace weir::schedule
