// SPDX-License-Identifier: Apache-2.0
#include "formats/transformer_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "domain/nearest_name.h"
#include "formats/decoder_dimensions.h"
#include "formats/input_file.h"
#include "formats/json_values.h"

namespace weir::formats {
namespace {

constexpr std::uint64_t kMostConfigBytes = std::uint64_t{1} << 20;
constexpr double kMostRotaryBase = 1e15;
constexpr double kMostRotaryFactor = 1e6;

// What Hugging Face takes where the file does not say is written here, too.
struct Architecture {
  std::string_view type;
  bool is_gated;
  bool is_gpt2;  // its own names for the dimensions
  bool has_experts;
  bool has_tied_embeddings;
  bool has_windows;       // sliding_window counts unless use_sliding_window says no
  std::int64_t window;    // 0: none
  std::int64_t kv_heads;  // 0: as many as heads
  std::int64_t head_dim;  // 0: the width divided among the heads
  double norm_epsilon;
};
constexpr std::array<Architecture, 8> kArchitectures{
    {{"gpt2", false, true, false, true, false, 0, 0, 0, 1e-5},
     {"gpt_neox", false, false, false, false, false, 0, 0, 0, 1e-5},
     {"llama", true, false, false, false, false, 0, 0, 0, 1e-6},
     {"mistral", true, false, false, false, true, 4096, 8, 0, 1e-6},
     {"qwen2", true, false, false, false, false, 0, 32, 0, 1e-6},
     {"qwen3", true, false, false, false, false, 0, 32, 128, 1e-6},
     {"internlm2", true, false, false, false, false, 0, 0, 0, 1e-6},
     {"mixtral", true, false, true, false, true, 0, 8, 0, 1e-5}}};

// Architectures that dimensions do not describe, or not quite, and why. The first that fits.
struct Stranger {
  std::string_view part;  // of model_type
  std::string_view why;
  bool has_dimensions;  // --dims is of use
};
constexpr std::string_view kLatentWhy = "its latent attention (MLA) is in no formula here";
constexpr std::string_view kStateWhy = "its state space layers are in no formula here";
constexpr std::string_view kImageWhy =
    "it sees images, and only decoders over tokens are known here";
constexpr std::string_view kEncoderWhy =
    "it is an encoder: --dims plans a decoder of that size, whose causal attention does half of "
    "the "
    "work";
constexpr std::string_view kTwoPartsWhy =
    "it has an encoder beside its decoder, and attention between them is in no formula here";
constexpr std::array<Stranger, 29> kStrangers{
    {{"deepseek_v2", kLatentWhy, false}, {"deepseek_v3", kLatentWhy, false},
     {"kimi", kLatentWhy, false},        {"minicpm3", kLatentWhy, false},
     {"mamba", kStateWhy, false},        {"jamba", kStateWhy, false},
     {"zamba", kStateWhy, false},        {"bamba", kStateWhy, false},
     {"rwkv", kStateWhy, false},         {"vision", kImageWhy, false},
     {"vit", kImageWhy, false},          {"clip", kImageWhy, false},
     {"dinov2", kImageWhy, false},       {"deit", kImageWhy, false},
     {"beit", kImageWhy, false},         {"swin", kImageWhy, false},
     {"convnext", kImageWhy, false},     {"resnet", kImageWhy, false},
     {"siglip", kImageWhy, false},       {"bert", kEncoderWhy, true},
     {"electra", kEncoderWhy, true},     {"xlm", kEncoderWhy, true},
     {"mpnet", kEncoderWhy, true},       {"t5", kTwoPartsWhy, false},
     {"bart", kTwoPartsWhy, false},      {"pegasus", kTwoPartsWhy, false},
     {"marian", kTwoPartsWhy, false},    {"whisper", kTwoPartsWhy, false},
     {"m2m_100", kTwoPartsWhy, false}}};

// Keys that give such an architecture away whatever its name is.
struct StrangeKey {
  std::string_view key;
  std::string_view why;
};
constexpr std::array<StrangeKey, 6> kStrangeKeys{{{"kv_lora_rank", kLatentWhy},
                                                  {"ssm_cfg", kStateWhy},
                                                  {"state_size", kStateWhy},
                                                  {"mamba_d_state", kStateWhy},
                                                  {"image_size", kImageWhy},
                                                  {"patch_size", kImageWhy}}};

// A decoder over tokens beside what sees or hears: the object that has the decoder's dimensions, and the others.
constexpr std::array<std::string_view, 3> kPartKeys{"text_config", "vision_config", "audio_config"};
constexpr std::array<std::string_view, 3> kPartTypes{"llava", "_vl", "llama4"};

constexpr auto kConfigKeys = std::to_array<std::string_view>({"model_type",
                                                              "hidden_size",
                                                              "n_embd",
                                                              "num_hidden_layers",
                                                              "n_layer",
                                                              "num_attention_heads",
                                                              "n_head",
                                                              "num_key_value_heads",
                                                              "head_dim",
                                                              "intermediate_size",
                                                              "n_inner",
                                                              "vocab_size",
                                                              "max_position_embeddings",
                                                              "n_positions",
                                                              "n_ctx",
                                                              "num_local_experts",
                                                              "num_experts_per_tok",
                                                              "tie_word_embeddings",
                                                              "use_sliding_window",
                                                              "is_encoder_decoder",
                                                              "_name_or_path",
                                                              "sliding_window",
                                                              "rope_theta",
                                                              "rotary_emb_base",
                                                              "rotary_pct",
                                                              "rope_scaling",
                                                              "rope_parameters",
                                                              "attention_bias",
                                                              "mlp_bias",
                                                              "bias",
                                                              "use_parallel_residual",
                                                              "hidden_act",
                                                              "activation_function",
                                                              "attention_dropout",
                                                              "hidden_dropout",
                                                              "attn_pdrop",
                                                              "resid_pdrop",
                                                              "embd_pdrop",
                                                              "rms_norm_eps",
                                                              "layer_norm_epsilon",
                                                              "layer_norm_eps",
                                                              "kv_lora_rank",
                                                              "ssm_cfg",
                                                              "state_size",
                                                              "mamba_d_state",
                                                              "image_size",
                                                              "patch_size",
                                                              "text_config",
                                                              "vision_config",
                                                              "audio_config"});
constexpr auto kRotaryKeys = std::to_array<std::string_view>(
    {"rope_type", "type", "factor", "low_freq_factor", "high_freq_factor",
     "original_max_position_embeddings", "rope_theta", "partial_rotary_factor"});

struct NamedActivation {
  std::string_view name;
  Activation activation;
};
constexpr std::array<NamedActivation, 7> kActivations{{{"silu", Activation::silu},
                                                       {"swish", Activation::silu},
                                                       {"gelu", Activation::gelu},
                                                       {"gelu_new", Activation::gelu_tanh},
                                                       {"gelu_fast", Activation::gelu_tanh},
                                                       {"gelu_pytorch_tanh", Activation::gelu_tanh},
                                                       {"gelu_accurate", Activation::gelu_tanh}}};

std::string known_architectures(ConfigUse use) {
  std::string names;
  for (const Architecture& known : kArchitectures) {
    if (known.has_experts && use == ConfigUse::iteration) continue;
    if (!names.empty()) names += ", ";
    names += known.type;
  }
  return names;
}

LayerStyle style_of(std::string_view type) {
  LayerStyle style = type == "gpt2" || type == "gpt_neox" ? gpt_style() : llama_style();
  if (type == "gpt_neox") {
    style.has_rotary = true;
    style.rotary_share = 0.25;
    style.has_parallel_residual = true;
    style.activation = Activation::gelu;
    style.attention_dropout = style.hidden_dropout = style.embedding_dropout = 0;
  }
  style.has_qkv_biases = style.has_biases || type == "qwen2";
  style.has_qk_norm = type == "qwen3";
  if (type == "mixtral") style.rotary_base = 1'000'000;
  return style;
}

class ConfigReader {
 public:
  ConfigReader(std::string file, std::string_view text, ConfigUse use)
      : json_{std::move(file), text}, use_{use} {}

  Result<TransformerConfig> read() {
    const auto root = json_.root();
    if (!root) return bad_input(json_.mistakes());
    root_ = *root;
    members_ = json_.members(root_, kConfigKeys);
    const Architecture* architecture = read_architecture();
    if (architecture != nullptr) {
      read_dimensions(*architecture);
      read_style(*architecture);
    }
    if (!json_.mistakes().empty()) return bad_input(json_.mistakes());
    return TransformerConfig{std::move(model_), style_, window_};
  }

 private:
  const JsonValue* find(std::string_view key) const {
    const auto at = members_.find(key);
    return at == members_.end() || at->second.text == "null" ? nullptr : &at->second;
  }

  const Architecture* read_architecture() {
    const JsonValue* type = find("model_type");
    if (type == nullptr) {
      if (json_.mistakes().empty())
        json_.reject_missing(root_, "model_type", "one of " + known_architectures(use_));
      return nullptr;
    }
    const auto name = json_.name(*type);
    if (!name) return nullptr;
    for (const Architecture& known : kArchitectures) {
      if (known.type != *name) continue;
      model_.name = *name;
      refuse("is_encoder_decoder", "false: only decoders are known");
      refuse("use_sliding_window", "false: the cost of windows is not known");
      return &known;
    }
    json_.reject(*type, *name,
                 fmt::format("one of {}; {}", known_architectures(use_), advice(*name)));
    return nullptr;
  }

  // What is true of an architecture that is not known, and what to do instead.
  std::string advice(std::string_view type) {
    constexpr std::string_view kTrace =
        "trace it with tools/collect/trace_model.py and give that to --ops";
    if (use_ == ConfigUse::iteration) return fmt::format("for any other network, {}", kTrace);
    const auto elsewhere = [&](std::string_view why) {
      return fmt::format("{}. For an iteration on one GPU `weir predict` takes any network: {}",
                         why, kTrace);
    };
    for (const StrangeKey& key : kStrangeKeys)
      if (find(key.key) != nullptr) return elsewhere(key.why);
    for (const Stranger& stranger : kStrangers) {
      if (type.find(stranger.part) == std::string_view::npos) continue;
      return stranger.has_dimensions ? std::string{stranger.why} : elsewhere(stranger.why);
    }
    const JsonValue* two_parts = find("is_encoder_decoder");
    if (two_parts != nullptr && two_parts->text == "true") return elsewhere(kTwoPartsWhy);
    return dimensions_advice(type);
  }

  // For a decoder, or the part of a network that is one.
  std::string dimensions_advice(std::string_view type) {
    const auto is_of = [&](std::string_view part) {
      return type.find(part) != std::string_view::npos;
    };
    const bool has_parts = std::any_of(kPartTypes.begin(), kPartTypes.end(), is_of) ||
                           std::any_of(kPartKeys.begin(), kPartKeys.end(),
                                       [&](std::string_view key) { return find(key) != nullptr; });
    const JsonValue* text_part = find("text_config");
    const bool is_nested = text_part != nullptr && text_part->text.starts_with('{');
    const JsonValues::Members decoder = json_.members(is_nested ? *text_part : root_, kDecoderKeys);
    const auto has = [&](std::string_view key) {
      const auto at = decoder.find(key);
      return at != decoder.end() && at->second.text != "null" && at->second.text != "false";
    };
    std::string text =
        has_parts ? "only the decoder of its text can be planned, without what sees or hears: "
                    "write that part's dimensions with --dims"
                  : "for another decoder with full attention write its dimensions with --dims";
    const DecoderDimensions found = decoder_dimensions(type, decoder);
    if (!found.said.empty()) text += fmt::format(" {}", fmt::join(found.said, ","));
    text += " (in a job the same names, with _ for -)";
    if (!found.unsaid.empty())
      text += fmt::format("; the file does not say {}", fmt::join(found.unsaid, ", "));
    if (has("num_experts") || has("num_local_experts") || has("n_routed_experts"))
      text += "; ffn= is that of one expert";
    const auto switched = decoder.find("use_sliding_window");
    const bool is_off = switched != decoder.end() && switched->second.text == "false";
    const bool has_windows = has("sliding_window") || has("sliding_window_pattern");
    if (has_parts || has("attention_chunk_size") || (has_windows && !is_off))
      text += "; sliding windows are not known: full attention is assumed";
    return text;
  }

  void refuse(std::string_view key, std::string expected) {
    if (truth(key).value_or(false)) json_.reject(*find(key), std::move(expected));
  }

  // Nothing where the key is missing or neither true nor false, which is a mistake.
  std::optional<bool> truth(std::string_view key) {
    const JsonValue* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (value->text == "true") return true;
    if (value->text == "false") return false;
    json_.reject(*value, "true or false");
    return std::nullopt;
  }

  std::int64_t required(std::string_view key, std::int64_t most) {
    const JsonValue* value = find(key);
    if (value == nullptr) {
      json_.reject_missing(root_, key, fmt::format("an integer from 1 to {}", most));
      return 1;
    }
    return json_.integer(*value, 1, most).value_or(1);
  }

  std::int64_t optional(std::string_view key, std::int64_t most, std::int64_t otherwise) {
    const JsonValue* value = find(key);
    return value == nullptr ? otherwise : json_.integer(*value, 1, most).value_or(otherwise);
  }

  void read_dimensions(const Architecture& architecture) {
    const bool is_gpt2 = architecture.is_gpt2;
    model_.layers = required(is_gpt2 ? "n_layer" : "num_hidden_layers", kMostModelLayers);
    model_.hidden = required(is_gpt2 ? "n_embd" : "hidden_size", kMostHidden);
    model_.heads = required(is_gpt2 ? "n_head" : "num_attention_heads", kMostHeads);
    model_.vocab = required("vocab_size", kMostVocab);
    model_.ffn = is_gpt2 ? optional("n_inner", kMostFfn, 4 * model_.hidden)
                         : required("intermediate_size", kMostFfn);
    read_kv_heads(architecture);
    model_.positions = optional("max_position_embeddings", kLongestSequence, 0);
    if (is_gpt2 && model_.positions == 0)
      model_.positions =
          optional("n_positions", kLongestSequence, optional("n_ctx", kLongestSequence, 0));
    model_.is_gated = architecture.is_gated;
    if (architecture.has_experts) {
      model_.experts = required("num_local_experts", kMostExperts);
      model_.experts_per_token = required("num_experts_per_tok", kMostExperts);
    }
    model_.has_tied_embeddings =
        truth("tie_word_embeddings").value_or(architecture.has_tied_embeddings);
    if (!json_.mistakes().empty()) return;
    check(architecture);
  }

  // Where the file has null there are as many as heads; where it has nothing, as many as Hugging Face takes then.
  void read_kv_heads(const Architecture& architecture) {
    const bool is_said = members_.contains("num_key_value_heads");
    model_.kv_heads = optional("num_key_value_heads", kMostHeads, model_.heads);
    if (is_said || architecture.kv_heads == 0) return;
    model_.kv_heads = architecture.kv_heads;
    if (model_.heads % model_.kv_heads == 0) return;
    json_.reject_missing(
        root_, "num_key_value_heads",
        fmt::format("a divisor of the {} heads: the {} that {} has where nobody says is none",
                    model_.heads, model_.kv_heads, architecture.type));
    model_.kv_heads = model_.heads;
  }

  void read_style(const Architecture& architecture) {
    style_ = style_of(architecture.type);
    const JsonValue* windows = find("use_sliding_window");  // true was refused before
    const bool is_off = windows != nullptr && windows->text == "false";
    if (architecture.has_windows && !is_off) {
      const bool is_said = members_.contains("sliding_window");  // null: there is none
      window_ = optional("sliding_window", kLongestSequence, is_said ? 0 : architecture.window);
    }
    read_biases(architecture);
    read_activation(architecture);
    read_dropout(architecture);
    read_norm(architecture);
    style_.has_parallel_residual =
        architecture.type == "gpt_neox" && truth("use_parallel_residual").value_or(true);
    if (style_.has_rotary) read_rotary();
  }

  // Where Hugging Face lets a file choose: of attention that is the output's, too.
  void read_biases(const Architecture& architecture) {
    bool in_attention = style_.has_biases;
    bool in_mlp = style_.has_biases;
    const std::string_view type = architecture.type;
    if (type == "llama" || type == "qwen3" || type == "gpt_neox")
      in_attention = truth("attention_bias").value_or(in_attention);
    if (type == "internlm2") in_attention = truth("bias").value_or(true);
    if (type == "llama") in_mlp = truth("mlp_bias").value_or(in_mlp);
    style_.has_other_biases = in_attention != in_mlp;
    style_.has_biases = in_attention && in_mlp;
    if (type != "qwen2") style_.has_qkv_biases = in_attention;
  }

  void read_activation(const Architecture& architecture) {
    const JsonValue* value = find(architecture.is_gpt2 ? "activation_function" : "hidden_act");
    if (value == nullptr) return;
    const auto name = json_.name(*value);
    if (!name) return;
    style_.activation = Activation::other;
    for (const NamedActivation& known : kActivations)
      if (known.name == *name) style_.activation = known.activation;
  }

  void read_dropout(const Architecture& architecture) {
    const bool is_gpt2 = architecture.is_gpt2;
    const auto read = [&](std::string_view key, double& dropout) {
      if (const auto share = fraction(find(key))) dropout = *share;
    };
    read(is_gpt2 ? "attn_pdrop" : "attention_dropout", style_.attention_dropout);
    read(is_gpt2 ? "resid_pdrop" : "hidden_dropout", style_.hidden_dropout);
    if (is_gpt2) {
      read("embd_pdrop", style_.embedding_dropout);
    } else {
      style_.embedding_dropout = style_.hidden_dropout;
    }
  }

  void read_norm(const Architecture& architecture) {
    const char* key = architecture.is_gpt2  ? "layer_norm_epsilon"
                      : style_.has_rms_norm ? "rms_norm_eps"
                                            : "layer_norm_eps";
    style_.norm_epsilon = positive(find(key), 1).value_or(architecture.norm_epsilon);
  }

  void read_rotary() {
    // Written as a float by many: 1000000.0.
    for (const std::string_view key : {"rope_theta", "rotary_emb_base"})
      if (const auto base = positive(find(key), kMostRotaryBase))
        style_.rotary_base = std::llround(*base);
    if (const auto share = fraction(find("rotary_pct"))) style_.rotary_share = *share;
    // The older name has to say its type; the newer one is there in any case.
    if (const JsonValue* scaling = find("rope_scaling")) read_scaling(*scaling, true);
    if (const JsonValue* all = find("rope_parameters")) read_scaling(*all, false);
  }

  void read_scaling(const JsonValue& object, bool needs_type) {
    const JsonValues::Members members = json_.members(object, kRotaryKeys);
    const auto part = [&](std::string_view key) -> const JsonValue* {
      const auto at = members.find(key);
      return at == members.end() || at->second.text == "null" ? nullptr : &at->second;
    };
    if (const auto base = positive(part("rope_theta"), kMostRotaryBase))
      style_.rotary_base = std::llround(*base);
    if (const auto share = fraction(part("partial_rotary_factor"))) style_.rotary_share = *share;
    const JsonValue* type = part("rope_type") != nullptr ? part("rope_type") : part("type");
    if (type == nullptr) {
      if (needs_type && object.text.starts_with('{'))
        json_.reject_missing(object, "rope_type",
                             "default, linear, llama3 or another of Hugging Face's");
      return;
    }
    const auto name = json_.name(*type);
    if (!name || *name == "default") return;
    style_.rotary_scaling = RotaryScaling::other;
    if (*name != "linear" && *name != "llama3") return;
    const JsonValue* factor = part("factor");
    if (factor == nullptr)
      return json_.reject_missing(object, "factor", "a number above 0, such as 8.0");
    style_.rotary_factor = positive(factor, kMostRotaryFactor).value_or(1);
    const auto is = [&](std::string_view key, double wanted) {
      return positive(part(key), kMostRotaryBase).value_or(wanted) == wanted;
    };
    if (*name == "linear") {
      style_.rotary_scaling = RotaryScaling::linear;
    } else if (is("low_freq_factor", 1) && is("high_freq_factor", 4) &&
               is("original_max_position_embeddings", 8192)) {
      style_.rotary_scaling = RotaryScaling::llama3;
    }
  }

  // Nothing where it is missing, or no such number, which is a mistake.
  std::optional<double> positive(const JsonValue* value, double most) {
    return value == nullptr ? std::nullopt : json_.positive_number(*value, most);
  }
  std::optional<double> fraction(const JsonValue* value) {
    if (value == nullptr) return std::nullopt;
    double number = 0;
    const char* end = value->text.data() + value->text.size();
    const auto [at, error] = std::from_chars(value->text.data(), end, number);
    if (error == std::errc{} && at == end && number >= 0 && number <= 1) return number;
    json_.reject(*value, "a number from 0 to 1");
    return std::nullopt;
  }

  void check(const Architecture& architecture) {
    const char* heads = architecture.is_gpt2 ? "n_head" : "num_attention_heads";
    if (find("head_dim") != nullptr) {
      model_.head_dim = optional("head_dim", kMostHeads, 1);
    } else if (architecture.head_dim > 0) {
      model_.head_dim = architecture.head_dim;
    } else if (model_.hidden % model_.heads != 0) {
      json_.reject(*find(heads), fmt::format("a divisor of the width, {}", model_.hidden));
    } else {
      model_.head_dim = model_.hidden / model_.heads;
    }
    if (model_.heads % model_.kv_heads != 0) {
      json_.reject(*find("num_key_value_heads"),
                   fmt::format("a divisor of the {} heads", model_.heads));
    }
    if (model_.experts_per_token > model_.experts) {
      json_.reject(*find("num_experts_per_tok"),
                   fmt::format("at most the {} experts", model_.experts));
    }
  }

  JsonValues json_;
  JsonValue root_;
  JsonValues::Members members_;
  ConfigUse use_;
  TransformerModel model_;
  LayerStyle style_;
  std::int64_t window_ = 0;
};

struct Dimension {
  std::string_view name;
  std::int64_t most;
};
constexpr std::array<Dimension, 11> kDimensions{{{"layers", kMostModelLayers},
                                                 {"hidden", kMostHidden},
                                                 {"heads", kMostHeads},
                                                 {"kv-heads", kMostHeads},
                                                 {"head-dim", kMostHeads},
                                                 {"ffn", kMostFfn},
                                                 {"vocab", kMostVocab},
                                                 {"gated", 1},
                                                 {"tied", 1},
                                                 {"experts", kMostExperts},
                                                 {"experts-per-token", kMostExperts}}};

class DimensionReader {
 public:
  DimensionReader(std::string field, std::string_view text)
      : field_{std::move(field)}, text_{text} {}

  Result<TransformerModel> read() {
    std::string_view rest = text_;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      read_one(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    TransformerModel model;
    model.name = "transformer";
    model.layers = required("layers");
    model.hidden = required("hidden");
    model.heads = required("heads");
    model.vocab = required("vocab");
    model.kv_heads = value("kv-heads", model.heads);
    model.is_gated = value("gated", 0) == 1;
    model.has_tied_embeddings = value("tied", 0) == 1;
    model.ffn = value("ffn", 4 * model.hidden);
    model.experts = value("experts", 1);
    model.experts_per_token = value("experts-per-token", 1);
    model.head_dim = value("head-dim", std::max<std::int64_t>(1, model.hidden / model.heads));
    if (mistakes_.empty()) check(model);
    if (!mistakes_.empty()) return bad_input(std::move(mistakes_));
    return model;
  }

 private:
  void reject(std::string found, std::string expected) {
    mistakes_.add({{}, 0, field_, std::move(found), std::move(expected)});
  }

  void read_one(std::string_view part) {
    const std::size_t equals = part.find('=');
    const std::string_view name = part.substr(0, std::min(equals, part.size()));
    const auto* const known = std::find_if(kDimensions.begin(), kDimensions.end(),
                                           [&](const Dimension& d) { return d.name == name; });
    if (known == kDimensions.end() || equals == std::string_view::npos) {
      reject(std::string{part},
             "layers=, hidden=, heads=, vocab= and, where they differ from a plain GPT, kv-heads=, "
             "head-dim=, ffn=, gated=1, tied=1, experts=, experts-per-token=");
      return;
    }
    const std::string_view digits = part.substr(equals + 1);
    std::int64_t number = 0;
    const auto end = digits.data() + digits.size();
    const auto [at, error] = std::from_chars(digits.data(), end, number);
    const std::int64_t least = known->most == 1 ? 0 : 1;
    if (error != std::errc{} || at != end || number < least || number > known->most) {
      reject(std::string{part},
             fmt::format("{}= an integer from {} to {}", name, least, known->most));
      number = 1;
    }
    if (!values_.emplace(known->name, number).second) reject(std::string{part}, "it once");
  }

  std::int64_t required(std::string_view name) {
    const auto at = values_.find(name);
    if (at != values_.end()) return at->second;
    reject(std::string{text_}, fmt::format("also {}=", name));
    return 1;
  }

  std::int64_t value(std::string_view name, std::int64_t otherwise) const {
    const auto at = values_.find(name);
    return at == values_.end() ? otherwise : at->second;
  }

  void check(const TransformerModel& model) {
    if (!values_.contains("head-dim") && model.hidden % model.heads != 0)
      reject(fmt::format("heads={}", model.heads),
             fmt::format("heads= a divisor of hidden, {}", model.hidden));
    if (model.heads % model.kv_heads != 0)
      reject(fmt::format("kv-heads={}", model.kv_heads),
             fmt::format("kv-heads= a divisor of heads, {}", model.heads));
    if (model.experts_per_token > model.experts)
      reject(fmt::format("experts-per-token={}", model.experts_per_token),
             fmt::format("experts-per-token= at most experts, {}", model.experts));
  }

  std::string field_;
  std::string_view text_;
  std::map<std::string_view, std::int64_t> values_;
  Diagnostics mistakes_;
};

}  // namespace

Result<TransformerConfig> parse_transformer_config(const std::string& file, std::string_view text,
                                                   ConfigUse use) {
  return ConfigReader{file, text, use}.read();
}

Result<TransformerConfig> read_transformer_config(const std::filesystem::path& path,
                                                  ConfigUse use) {
  auto input = InputFile::open(path, kMostConfigBytes);
  if (!input) return tl::unexpected(input.error());
  const auto text = input->read_all(kMostConfigBytes);
  if (!text) return tl::unexpected(text.error());
  return parse_transformer_config(path.string(), *text, use);
}

std::int64_t usual_sequence(const TransformerModel& model) {
  return model.positions > 0 ? std::min(model.positions, kUsualSequence) : kUsualSequence;
}

Result<TransformerModel> parse_dimensions(const std::string& field, std::string_view text) {
  return DimensionReader{field, text}.read();
}

}  // namespace weir::formats
