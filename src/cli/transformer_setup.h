// SPDX-License-Identifier: Apache-2.0
//
// What a plan for an unmeasured model is for, from options. Every mistake is found before anything is searched.
#pragma once

#include "domain/options.h"
#include "domain/result.h"
#include "plan/transformer/transformer_space.h"

namespace weir::cli {

struct TransformerSetup {
  plan::TransformerRequest request;
  int gpus_per_node = 1;
  double price_per_hour = 0;
};
Result<TransformerSetup> read_transformer_setup(const OptionValues& options);

// "tp=8", "recompute=full", ...; mistakes are noted under `field`.
plan::TransformerPins parse_pins(const std::vector<std::string>& texts, const std::string& field,
                                 Diagnostics& mistakes);

}  // namespace weir::cli
