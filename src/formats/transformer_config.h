// SPDX-License-Identifier: Apache-2.0
//
// A transformer from a config.json as Hugging Face writes it, or from dimensions that somebody types.
//
// Known: gpt2, gpt_neox, llama, mistral, qwen2, qwen3, internlm2, mixtral. A mixture of experts is taken as dense
// formulas reach: every expert is held, some are used for each token, there is no expert parallelism. Other
// architectures are refused, with what is true of them: whether dimensions would do instead. A window of attention is
// reported and not counted: full attention is assumed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "domain/layer_style.h"
#include "domain/result.h"
#include "domain/transformer_model.h"

namespace weir::formats {

// The largest dimensions a reader accepts; numbers of parameters then fit 64 bits.
inline constexpr std::int64_t kMostModelLayers = 10'000;
inline constexpr std::int64_t kMostHidden = 1 << 18;
inline constexpr std::int64_t kMostHeads = 4096;
inline constexpr std::int64_t kMostFfn = 1 << 20;
inline constexpr std::int64_t kMostVocab = 10'000'000;
inline constexpr std::int64_t kMostExperts = 512;
inline constexpr std::int64_t kLongestSequence = 1 << 27;

// What is wanted of the model: what to do about one that is not known depends on it.
enum class ConfigUse : std::uint8_t {
  plan,
  iteration,  // of one GPU, by kernels: there are no experts, and any network can be traced instead
};

struct TransformerConfig {
  TransformerModel model;
  LayerStyle style;
  std::int64_t window = 0;  // of attention; 0: it reaches over the whole sequence
};

Result<TransformerConfig> read_transformer_config(const std::filesystem::path& path,
                                                  ConfigUse use = ConfigUse::plan);
// `file` stands for the path in messages.
Result<TransformerConfig> parse_transformer_config(const std::string& file, std::string_view text,
                                                   ConfigUse use = ConfigUse::plan);

// The length of a sample when nobody says: the longest the model was made for, but at most kUsualSequence; that where
// the model does not say. The one rule for plans, predictions and jobs.
inline constexpr std::int64_t kUsualSequence = 4096;
std::int64_t usual_sequence(const TransformerModel& model);

// "layers=32,hidden=4096,heads=32,kv-heads=8,ffn=11008,vocab=32000,gated=1". What is not said is as in a plain GPT: as many
// key/value heads as heads, ffn four times hidden, not gated, embeddings not tied, no experts. `field` names the option.
Result<TransformerModel> parse_dimensions(const std::string& field, std::string_view text);

}  // namespace weir::formats
