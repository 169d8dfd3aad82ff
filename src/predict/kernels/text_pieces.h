// SPDX-License-Identifier: Apache-2.0
//
// Pieces that networks of text are made of, as PyTorch runs them eagerly under bf16 autocast with float32 weights:
// what one GPU launches for its share of them, forward and backward.
#pragma once

#include <cstdint>
#include <string_view>

#include "domain/transformer_model.h"
#include "predict/kernels/training_ops.h"

namespace weir::predict {

// What one GPU has of a layer: all of it, or its part after a split. Tokens lie in rows.
struct TextShare {
  std::int64_t rows = 0;       // tokens that products take
  std::int64_t norm_rows = 0;  // tokens of norms and additions
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t ffn = 0;
  std::int64_t experts = 1;
  std::int64_t mlp_rows = 0;     // tokens of one expert
  std::int64_t active_rows = 0;  // of all experts together

  std::int64_t query_width() const { return heads * head_dim; }
  std::int64_t kv_width() const { return kv_heads * head_dim; }
};
TextShare whole_share(const TransformerModel& model, std::int64_t tokens);

// What distinguishes decoders of the same dimensions.
struct DecoderStyle {
  bool is_gpt = false;          // layer norm and biases, plain inner layer
  bool has_places = false;      // learned positions, and dropout
  bool has_one_matrix = false;  // for queries, keys and values
  bool has_query_bias = false;
  bool has_query_norm = false;
  std::int64_t rotated_part = 0;  // one in so many numbers of a head; 0: none
  bool is_parallel = false;       // both halves of a layer take the same input
};
// By model_type; an unknown one ("") as llama where the inner layer is gated, otherwise as gpt2.
DecoderStyle decoder_style(std::string_view model_type, bool is_gated);

class TextPieces {
 public:
  explicit TextPieces(const TextShare& share) : share_{share} {}

  TrainingOps take() { return ops_.without_step(); }
  TrainingOpsBuilder& ops() { return ops_; }

  void embed(std::int64_t vocab);
  void add_places(std::int64_t samples, std::int64_t places);
  void dropout(const char* dtype);
  void layer_norm(std::int64_t times);
  void rms_norm(std::int64_t times);
  void linear(std::int64_t in, std::int64_t out, bool bias, bool casts_input,
              std::int64_t times = 1);
  // Of the inner layer: of every expert.
  void inner_linear(std::int64_t in, std::int64_t out, bool bias, bool casts_input,
                    std::int64_t times = 1);
  void activation(const char* op, const char* gradient);
  void multiply();
  void attention(std::int64_t samples, std::int64_t length, bool is_causal);
  // Gradients of queries, keys and values are put side by side; where heads come before tokens, then into the order of
  // their matrix.
  void join_query_gradients(bool heads_first);
  // The end of a half block: added to float32; backward, cut to bf16 for the half and added where both meet.
  void join(std::int64_t times);
  // Rotary positions of one of queries and keys: x cos + (-x2, x1) sin, of `size` numbers of each head.
  void rotate(std::int64_t heads, std::int64_t size);
  // The norm of each head. In bf16 PyTorch has no kernel of its own for it.
  void head_norm(std::int64_t heads);
  // Inputs of several layers at once collect gradients of each.
  void collect_gradients(std::int64_t times);
  void words(std::int64_t vocab, bool is_tied, bool bias);

 private:
  // What does not rotate is put back beside it.
  void keep_rest(std::int64_t rows, std::int64_t size);

  TrainingOpsBuilder ops_;
  TextShare share_;
};

// A layer of a decoder, without its attention.
TrainingOps decoder_layer(const TextShare& share, const DecoderStyle& style);

}  // namespace weir::predict
