// SPDX-License-Identifier: Apache-2.0
//
// A fabric from a short file, or from a word of the command line.
//
//   fabric: {kind: leaf-spine, leaves: 16, gpus_per_leaf: 16, spines: 16, nic: 100Gbps}
//   fabric: {kind: fat-tree, ports: 8}
//   fabric: {kind: rail, pods: 2, nodes_per_pod: 16, gpus_per_node: 8, spines: 8}
//   fabric:
//     kind: optical
//     leaves: 4
//     gpus_per_leaf: 8
//     spines: 2
//     optical_switches: 8
//     spine_ports: 2
//     circuits: [{switch: 0, leaf: 0, spine: 1}, {switch: 1, leaf: 0, to_leaf: 3}]
//   fabric:
//     kind: links
//     gpus: [a, b]
//     links: [{from: a, to: s, rate: 100Gbps}, {from: s, to: b, rate: 100Gbps}]
//
// leaf_spine and rail also take parallel_links; all but links take gpus_per_node, nic, uplink and
// local (docs/models/network.md). An optical switch joins each port once: a leaf has one port on
// it, a spine spine_ports. Without `circuits` none is made yet: `weir simulate` makes them for jobs.
//
// In a word: leaf-spine:16x16x16 (leaves, GPUs per leaf, spines), fat-tree:8 (ports).
#pragma once

#include <string>
#include <string_view>

#include "domain/fabric_spec.h"
#include "domain/result.h"
#include "formats/input_file.h"

namespace weir::formats {

Result<FabricSpec> read_fabric_yaml(InputFile input);

// The file of that name if there is one, otherwise the word. Mistakes of a word name `field`.
Result<FabricSpec> read_fabric_or_word(const std::string& text, const std::string& field);

}  // namespace weir::formats
