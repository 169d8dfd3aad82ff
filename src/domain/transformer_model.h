// SPDX-License-Identifier: Apache-2.0
//
// A decoder-only transformer by its dimensions: what a config.json says, and how many parameters that
// makes. Attention has H query heads and H_kv key/value heads (fewer under grouped-query attention); the
// MLP is gated (three matrices) or plain (two). A mixture of experts holds every expert and uses
// `experts_per_token` of them for a token.
//
// Limits: no encoder, no cross attention, no sliding windows, biases not counted (under 0.1 %).
#pragma once

#include <cstdint>
#include <string>

namespace weir {

struct TransformerModel {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  // divides heads
  std::int64_t head_dim = 0;  // usually hidden / heads
  std::int64_t ffn = 0;       // width of the MLP, of one expert
  bool is_gated = false;      // SwiGLU and its kin
  std::int64_t vocab = 0;
  bool has_tied_embeddings = false;
  std::int64_t experts = 1;
  std::int64_t experts_per_token = 1;
  std::int64_t positions = 0;  // the longest sequence it was made for; 0: nobody said

  // Width of all query heads, and of all key heads.
  std::int64_t query_width() const { return heads * head_dim; }
  std::int64_t kv_width() const { return kv_heads * head_dim; }
  std::int64_t mlp_matrices() const { return is_gated ? 3 : 2; }

  // Parameters of one layer: 2 h (norms) + h (2 q + 2 kv) + experts x matrices x h x ffn. For a gated MHA
  // model that is the E = 2h + 2h^2 + 2h*(h*H_kv/H) + 3*h*m of InternEvo's simulator.
  std::int64_t layer_elements() const;
  // Those of them that one token meets.
  std::int64_t active_layer_elements() const;
  // One vocabulary matrix.
  std::int64_t vocab_elements() const { return vocab * hidden; }
  // Layers, the last norm, and the embedding twice (unless tied).
  std::int64_t elements() const;

  friend bool operator==(const TransformerModel&, const TransformerModel&) = default;
};

// 2 * multiply-adds of one forward pass over `tokens` of a sequence of `sequence` tokens, causal attention
// counted once (half of the square). Backward is twice that.
double forward_flops(const TransformerModel& model, double tokens, double sequence);

}  // namespace weir
