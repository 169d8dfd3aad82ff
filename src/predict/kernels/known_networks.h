// SPDX-License-Identifier: Apache-2.0
//
// Networks by name, as layers. The same descriptions as in tools/collect/models.py, where they are run.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "predict/kernels/text_networks.h"
#include "predict/kernels/training_ops.h"

namespace weir::predict {

struct ResNetShape {
  std::vector<int> blocks{};
  bool bottleneck = true;
};
TrainingOps resnet_ops(const ResNetShape& shape, std::int64_t batch);

// Widths of 3 x 3 convolutions; 0 is pooling.
TrainingOps vgg_ops(const std::vector<int>& widths, std::int64_t batch);

std::vector<std::string_view> known_networks();
std::optional<TrainingOps> known_network(std::string_view name, std::int64_t batch);

}  // namespace weir::predict
