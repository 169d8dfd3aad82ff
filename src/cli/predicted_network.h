// SPDX-License-Identifier: Apache-2.0
//
// Which network `weir predict --gpu` is asked about: by name, by its config.json, or by operators that were traced.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "domain/options.h"
#include "domain/result.h"
#include "predict/kernels/training_ops.h"

namespace weir::cli {

struct PredictedNetwork {
  std::string name;
  std::int64_t batch = 0;
  std::int64_t sequence = 0;  // tokens of a sample; 0: not said
  predict::TrainingOps ops;
  std::vector<std::string> notes{};  // what is odd about the request
};

std::vector<OptionSpec> network_source_options();

// Adds what is wrong with the options to `mistakes`; nothing is read then.
void check_network_source(const OptionValues& options, Diagnostics& mistakes);
// Requires: the options were checked.
Result<PredictedNetwork> predicted_network(const OptionValues& options);

}  // namespace weir::cli
