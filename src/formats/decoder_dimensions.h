// SPDX-License-Identifier: Apache-2.0
//
// What a config.json says of a decoder's dimensions when its architecture is not known, in the words of --dims. Names are
// those that most of Hugging Face's decoders share; a value that is no such number counts as not said.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json_values.h"

namespace weir::formats {

// What is looked for in the file, or in the part of it that is the decoder: dimensions, and what tells of windows.
inline constexpr auto kDecoderKeys = std::to_array<std::string_view>({"num_hidden_layers",
                                                                      "n_layer",
                                                                      "n_layers",
                                                                      "hidden_size",
                                                                      "n_embd",
                                                                      "d_model",
                                                                      "num_attention_heads",
                                                                      "n_head",
                                                                      "n_heads",
                                                                      "num_key_value_heads",
                                                                      "head_dim",
                                                                      "intermediate_size",
                                                                      "moe_intermediate_size",
                                                                      "n_inner",
                                                                      "vocab_size",
                                                                      "hidden_act",
                                                                      "hidden_activation",
                                                                      "activation_function",
                                                                      "tie_word_embeddings",
                                                                      "num_experts",
                                                                      "num_local_experts",
                                                                      "n_routed_experts",
                                                                      "num_experts_per_tok",
                                                                      "sliding_window",
                                                                      "sliding_window_pattern",
                                                                      "use_sliding_window",
                                                                      "attention_chunk_size"});

struct DecoderDimensions {
  std::vector<std::string> said;    // "layers=28"
  std::vector<std::string> unsaid;  // "ffn= (else 4 x hidden)": what --dims takes then
};

// `decoder` has what was found of kDecoderKeys.
DecoderDimensions decoder_dimensions(std::string_view model_type,
                                     const JsonValues::Members& decoder);

}  // namespace weir::formats
