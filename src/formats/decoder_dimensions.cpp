// SPDX-License-Identifier: Apache-2.0
#include "formats/decoder_dimensions.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>

#include "formats/transformer_config.h"

namespace weir::formats {
namespace {

// A dimension of --dims and what it is called in files; the first that is there counts.
struct NamedDimension {
  std::string_view name;
  std::int64_t most;
  std::array<std::string_view, 3> keys;
  std::string_view otherwise;  // what --dims takes
};
constexpr std::array<NamedDimension, 5> kWholeNumbers{
    {{"layers", kMostModelLayers, {"num_hidden_layers", "n_layer", "n_layers"}, ""},
     {"hidden", kMostHidden, {"hidden_size", "n_embd", "d_model"}, ""},
     {"heads", kMostHeads, {"num_attention_heads", "n_head", "n_heads"}, ""},
     {"kv-heads", kMostHeads, {"num_key_value_heads"}, "as many as heads"},
     {"vocab", kMostVocab, {"vocab_size"}, ""}}};
constexpr NamedDimension kHeadDim{"head-dim", kMostHeads, {"head_dim"}, "hidden / heads"};
constexpr NamedDimension kFfn{"ffn", kMostFfn, {"intermediate_size", "n_inner"}, "4 x hidden"};
constexpr NamedDimension kFfnOfAnExpert{
    "ffn", kMostFfn, {"moe_intermediate_size", "intermediate_size"}, "4 x hidden"};
constexpr NamedDimension kExperts{
    "experts", kMostExperts, {"num_experts", "num_local_experts", "n_routed_experts"}, "1"};
constexpr NamedDimension kExpertsPerToken{
    "experts-per-token", kMostExperts, {"num_experts_per_tok"}, "1"};

// Gemma's MLP has a gate beside its GeLU, and its embeddings are tied where nobody says.
bool is_gemma(std::string_view model_type) {
  return model_type.starts_with("gemma");
}

class DimensionFinder {
 public:
  DimensionFinder(std::string_view model_type, const JsonValues::Members& decoder)
      : model_type_{model_type}, decoder_{decoder} {}

  DecoderDimensions find() && {
    for (const NamedDimension& dimension : kWholeNumbers) add(dimension);
    add_head_dim();
    const bool has_experts = number(kExperts).has_value();
    add(has_experts ? kFfnOfAnExpert : kFfn);
    add_gate();
    add_tie();
    if (has_experts) {
      add(kExperts);
      add(kExpertsPerToken);
    }
    return std::move(found_);
  }

 private:
  // Nothing where it is missing or null.
  std::optional<std::string_view> text(std::string_view key) const {
    const auto at = decoder_.find(key);
    if (at == decoder_.end() || at->second.text == "null") return std::nullopt;
    return at->second.text;
  }

  std::optional<std::int64_t> number(const NamedDimension& dimension) const {
    for (const std::string_view key : dimension.keys) {
      const auto written = text(key);
      if (!written) continue;
      const auto number = json_integer(*written);
      return number && *number >= 1 && *number <= dimension.most ? number : std::nullopt;
    }
    return std::nullopt;
  }

  void say(std::string_view name, std::int64_t number) {
    found_.said.push_back(fmt::format("{}={}", name, number));
  }
  void miss(std::string_view name, std::string_view otherwise) {
    found_.unsaid.push_back(otherwise.empty() ? fmt::format("{}=", name)
                                              : fmt::format("{}= (else {})", name, otherwise));
  }

  void add(const NamedDimension& dimension) {
    if (const auto found = number(dimension)) return say(dimension.name, *found);
    // Null is what --dims takes anyway: as many key/value heads as heads, an MLP of four times the width.
    for (const std::string_view key : dimension.keys)
      if (decoder_.contains(key) && !text(key) && !dimension.otherwise.empty()) return;
    miss(dimension.name, dimension.otherwise);
  }

  // Where no file says it, it is the width divided by the heads, as --dims has it.
  void add_head_dim() {
    if (const auto found = number(kHeadDim)) return say(kHeadDim.name, *found);
    if (text("head_dim")) miss(kHeadDim.name, kHeadDim.otherwise);
  }

  // The name of an activation tells where it is SiLU: nearly all such decoders have a gate.
  void add_gate() {
    for (const std::string_view key : {"hidden_act", "hidden_activation", "activation_function"}) {
      const auto name = text(key);
      if (name && (*name == "\"silu\"" || *name == "\"swish\"")) return say("gated", 1);
    }
    if (is_gemma(model_type_)) return say("gated", 1);
    miss("gated", "0");
  }

  void add_tie() {
    const auto tie = text("tie_word_embeddings");
    if (tie == "true" || (!tie && is_gemma(model_type_))) return say("tied", 1);
    if (tie != "false") miss("tied", "0");
  }

  std::string_view model_type_;
  const JsonValues::Members& decoder_;
  DecoderDimensions found_;
};

}  // namespace

DecoderDimensions decoder_dimensions(std::string_view model_type,
                                     const JsonValues::Members& decoder) {
  return DimensionFinder{model_type, decoder}.find();
}

}  // namespace weir::formats
