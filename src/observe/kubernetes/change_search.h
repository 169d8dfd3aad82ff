// SPDX-License-Identifier: Apache-2.0
//
// The smallest changes that would start a workload. Every one that is returned was tried on the model: applied, and
// then all waiting pods were placed one after the other by the filters. Single changes first; pairs where no single
// one helps.
#pragma once

#include <vector>

#include "observe/kubernetes/change_candidates.h"

namespace weir::observe {

inline constexpr std::size_t kMostChanges = 4;

// Smallest first. Requires: wait.pods is not empty.
std::vector<Change> smallest_changes(const Wait& wait);

// Whether all waiting pods are placed once these are made.
bool would_start(const Wait& wait, const std::vector<const Candidate*>& candidates);

}  // namespace weir::observe
