// SPDX-License-Identifier: Apache-2.0
//
// What training jobs exchange, by model, where nobody has said otherwise: parts of an iteration at line
// rate. VGG16, ResNet, BERT and Pangu are as published with the evaluation of docs/models/network.md
// (VGG16 and BERT at batch 16); the others are assumed to be like the nearest of them.
#pragma once

#include <vector>

#include "domain/network_terms.h"

namespace weir::simulate {

std::vector<KindTraffic> usual_traffic();

// The same with these in the place of those of the same model.
std::vector<KindTraffic> usual_traffic_but(std::vector<KindTraffic> given);

}  // namespace weir::simulate
