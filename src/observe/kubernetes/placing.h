// SPDX-License-Identifier: Apache-2.0
//
// Whether pods can all be placed now, one after the other, as a scheduler would.
#pragma once

#include <span>
#include <vector>

#include "observe/kubernetes/cluster_model.h"
#include "observe/kubernetes/filters.h"

namespace weir::observe {

// Whether two pods get the same answer from every filter: all that counts is equal, names aside.
bool has_same_shape(const Pod& one, const Pod& other);

// Places the pods in order through `trial`, each on the node that has room and the most free memory and cpu in
// proportion, until one fits nowhere. Returns how many were placed.
std::size_t place_in_order(const ClusterModel& model, Trial& trial,
                           std::span<const PodPointer> pods);

// How many of them fit now; the model is left as it was.
std::size_t count_that_fit(ClusterModel& model, std::span<const PodPointer> pods);

}  // namespace weir::observe
