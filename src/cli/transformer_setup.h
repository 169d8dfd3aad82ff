// SPDX-License-Identifier: Apache-2.0
//
// What a plan for an unmeasured model is for, from options. Every mistake is found before anything is searched.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "domain/layer_style.h"
#include "domain/options.h"
#include "domain/result.h"
#include "formats/transformer_config.h"
#include "plan/transformer/transformer_space.h"
#include "predict/transformer/gpu_catalogue.h"

namespace weir::cli {

struct TransformerSetup {
  std::string title;                // of the model: its file's name, or its kind
  std::optional<LayerStyle> style;  // as the config says
  std::int64_t window = 0;          // of the config's attention; 0: over the whole sequence
  plan::TransformerRequest request;
  int gpus_per_node = 1;
  double price_per_hour = 0;        // 0: nobody knows
  std::vector<std::string> notes;   // what somebody should know before believing a plan
  predict::GpuCatalogue catalogue;  // keeps the name of the task's GPU
};
Result<TransformerSetup> read_transformer_setup(const OptionValues& options);

// What is odd about sequences of that length for this model.
std::vector<std::string> sequence_notes(const formats::TransformerConfig& config,
                                        std::int64_t sequence);

// "tp=8", "recompute=full", ...; mistakes are noted under `field`.
plan::TransformerPins parse_pins(const std::vector<std::string>& texts, const std::string& field,
                                 Diagnostics& mistakes);

}  // namespace weir::cli
