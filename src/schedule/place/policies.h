// SPDX-License-Identifier: Apache-2.0
//
// All placement policies, by name. Adding one is one file and one row in policies.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::schedule {

class PlacementPolicy;

struct PolicyRow {
  std::string_view name;     // "best-fit"
  std::string_view summary;  // one line for `weir policies`
  std::string_view source;   // where it is described
  const PlacementPolicy* policy;
};

// In the order tables show them: weakest first.
std::span<const PolicyRow> placement_policies();

// Null when there is no policy of that name.
const PlacementPolicy* find_placement_policy(std::string_view name);

}  // namespace weir::schedule
