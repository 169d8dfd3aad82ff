// SPDX-License-Identifier: Apache-2.0
//
// What of a decoder's layers its dimensions do not say: kinds of norm and position, biases. It costs next to nothing, so no
// plan depends on it; a trainer has to be told.
#pragma once

#include <cstdint>
#include <optional>

namespace weir {

struct LayerStyle {
  bool has_rms_norm = false;                // otherwise LayerNorm
  bool has_rotary = false;                  // otherwise learned positions
  bool has_biases = true;                   // of every linear layer
  bool has_qkv_biases = true;               // of queries, keys and values
  bool has_qk_norm = false;                 // queries and keys are normed
  double rotary_share = 1;                  // of a head, turned by its position
  std::optional<std::int64_t> rotary_base;  // nothing: nobody said

  friend bool operator==(const LayerStyle&, const LayerStyle&) = default;
};

constexpr LayerStyle gpt_style() {
  return {};
}

constexpr LayerStyle llama_style() {
  LayerStyle style;
  style.has_rms_norm = style.has_rotary = true;
  style.has_biases = style.has_qkv_biases = false;
  return style;
}

}  // namespace weir
