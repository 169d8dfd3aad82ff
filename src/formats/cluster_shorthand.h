// SPDX-License-Identifier: Apache-2.0
//
// A cluster in a word, for the command line:
//
//   16x4xT4              16 nodes with 4 T4 each
//   16x4                 the same with a GPU model named GPU
//   16x8xA100+4x4xT4     two kinds of node
//
// Nodes from 1 to 1000000 in all, GPUs per node from 1 to 16. Each model is a pool of its name, its
// nodes are a100-0001, a100-0002 and so on. The shorthand does not say what else a node has, so an
// assumption stands in: 12 cores and 112.5 GiB per GPU, that is 96 cores and 900 GiB for 8, as in
// the machines ElasticFlow was measured on (Azure ND96asr).
#pragma once

#include <string>
#include <string_view>

#include "domain/cluster.h"
#include "domain/result.h"

namespace weir::formats {

// True when it begins like one, 16x..., right or wrong.
bool looks_like_cluster_shorthand(std::string_view text);

// The cluster's name is the text.
Result<Cluster> parse_cluster_shorthand(std::string_view text);

// The cluster file of that name if there is one (inputs.h), otherwise the shorthand.
Result<Cluster> read_cluster_or_shorthand(const std::string& text);

}  // namespace weir::formats
