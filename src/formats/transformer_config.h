// SPDX-License-Identifier: Apache-2.0
//
// A transformer from a config.json as Hugging Face writes it, or from dimensions that somebody types.
//
// Known: gpt2, gpt_neox, llama, mistral, qwen2, qwen3, internlm2, mixtral. A mixture of experts is taken as dense
// formulas reach: every expert is held, some are used for each token, there is no expert parallelism. Other
// architectures are refused, and so are rotary or window settings that would change the cost (a sliding window in use).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "domain/result.h"
#include "domain/transformer_model.h"

namespace weir::formats {

Result<TransformerModel> read_transformer_config(const std::filesystem::path& path);
// `file` stands for the path in messages.
Result<TransformerModel> parse_transformer_config(const std::string& file, std::string_view text);

// "layers=32,hidden=4096,heads=32,kv-heads=8,ffn=11008,vocab=32000,gated=1". What is not said is as in a plain GPT: as many
// key/value heads as heads, ffn four times hidden, not gated, embeddings not tied, no experts. `field` names the option.
Result<TransformerModel> parse_dimensions(const std::string& field, std::string_view text);

}  // namespace weir::formats
