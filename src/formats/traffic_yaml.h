// SPDX-License-Identifier: Apache-2.0
//
// What training jobs exchange, by model, as parts of an iteration at line rate:
//
//   traffic:
//     - {model: vgg16, all_reduce: 0.23}
//     - {model: experts, all_reduce: 0.07, all_to_all: 0.26, all_gather: 0.02}
//     - {model: other, all_reduce: 0.1, pattern: ring}      # all that are not named
//
// What is not given is 0. pattern is of the all-reduce: halving-doubling unless given, or ring.
#pragma once

#include <vector>

#include "domain/network_terms.h"
#include "domain/result.h"
#include "formats/input_file.h"

namespace weir::formats {

Result<std::vector<KindTraffic>> read_traffic_yaml(InputFile input);

}  // namespace weir::formats
