// SPDX-License-Identifier: Apache-2.0
//
// Nodes and pods as the core counts them: CPU, memory, GPUs and shares of GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "domain/observation_source.h"
#include "observe/kubernetes/objects.h"

namespace weir::observe {

// Its GPU product as feature discovery labels it, without the maker; "GPU" when nobody says.
std::string gpu_model_of(const Node& node);
// GPUs a pod can ask for one by one; with shares, the devices behind them.
std::int32_t gpu_count_of(const Node& node);
// Units of aliyun.com/gpu-mem of one GPU; 0: the node does not share them so.
std::int64_t share_units_of(const Node& node);

ObservedNode observed_node(const Node& node);

// `workload`: what it belongs to, for people ("Job team-a/big"). `share_units`: of one GPU where shares are asked for.
ObservedTask observed_task(const Pod& pod, std::string_view workload, std::int64_t share_units);

// Whether people want to see it among the jobs: not what every node runs for itself, nor the cluster's own pods.
bool is_shown(const Pod& pod);

}  // namespace weir::observe
