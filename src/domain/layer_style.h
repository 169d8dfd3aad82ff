// SPDX-License-Identifier: Apache-2.0
//
// What of a decoder's layers its dimensions do not say: kinds of norm and position, biases, dropout. It costs next to
// nothing, so no plan depends on it; a trainer has to be told.
#pragma once

#include <cstdint>
#include <optional>

namespace weir {

// Of the MLP, or of its gate.
enum class Activation : std::uint8_t {
  gelu_tanh,  // GPT-2's approximation
  gelu,
  silu,
  other
};

// How rotary positions reach beyond the length that a model was first made for.
enum class RotaryScaling : std::uint8_t {
  none,
  linear,
  llama3,  // with the constants of LLaMA 3.1: 1, 4 and 8192
  other
};

struct LayerStyle {
  bool has_rms_norm = false;           // otherwise LayerNorm
  bool has_rotary = false;             // otherwise learned positions
  bool has_biases = true;              // of every linear layer
  bool has_qkv_biases = true;          // of queries, keys and values
  bool has_other_biases = false;       // of some other linear layers, not of all
  bool has_qk_norm = false;            // queries and keys are normed
  bool has_parallel_residual = false;  // attention and MLP side by side, not one after the other
  Activation activation = Activation::gelu_tanh;
  double rotary_share = 1;                  // of a head, turned by its position
  std::optional<std::int64_t> rotary_base;  // nothing: nobody said
  RotaryScaling rotary_scaling = RotaryScaling::none;
  double rotary_factor = 1;  // of linear and llama3 scaling
  double attention_dropout = 0.1;
  double hidden_dropout = 0.1;  // of what a block adds
  double embedding_dropout = 0.1;
  std::optional<double> norm_epsilon;  // nothing: nobody said

  friend bool operator==(const LayerStyle&, const LayerStyle&) = default;
};

constexpr LayerStyle gpt_style() {
  return {};
}

constexpr LayerStyle llama_style() {
  LayerStyle style;
  style.has_rms_norm = style.has_rotary = true;
  style.has_biases = style.has_qkv_biases = false;
  style.activation = Activation::silu;
  style.attention_dropout = style.hidden_dropout = style.embedding_dropout = 0;
  return style;
}

}  // namespace weir
