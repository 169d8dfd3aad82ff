// SPDX-License-Identifier: Apache-2.0
//
// How long one GPU computes, by what the split leaves to it. Two answers: from the GPU's type (analytic_times.h) and from
// measured kernels (kernel_times.h). Shapes are those of one microbatch, after the split; nothing here communicates.
#pragma once

#include <compare>
#include <string>

namespace weir::predict {

// Of one call of an operation with its gradient.
struct ComputeSeconds {
  double forward = 0;
  double backward = 0;
  double beyond = 0;  // of both, by kernels that do more or less than was measured
  // What the CPU has to launch; 0 where that is not known.
  double forward_calls = 0;
  double backward_calls = 0;
  double tensors = 0;  // of parameters

  double both() const { return forward + backward; }
  double calls() const { return forward_calls + backward_calls; }
};

// Matrices, norms, additions and the activation of a layer; everything but attention.
struct LayerShape {
  double rows = 0;       // tokens that are multiplied with matrices
  double norm_rows = 0;  // tokens that norms and additions see
  double hidden = 0;
  double heads = 0;  // of queries that the matrices here make
  double kv_heads = 0;
  double head_dim = 0;
  double ffn = 0;  // of one expert
  double experts = 1;
  double experts_per_token = 1;
  bool is_gated = false;

  friend auto operator<=>(const LayerShape&, const LayerShape&) = default;
};

// One block of queries with one block of keys. Half of the pairs count: a causal mask, or a step of a balanced ring.
struct AttentionShape {
  double samples = 0;
  double heads = 0;
  double kv_heads = 0;
  double tokens = 0;  // of either block
  double head_dim = 0;
  bool is_ring_step = false;

  friend auto operator<=>(const AttentionShape&, const AttentionShape&) = default;
};

// The matrix of the vocabulary: at the end with the last norm and the loss, or at the beginning.
struct VocabularyShape {
  double rows = 0;
  double samples = 0;
  double hidden = 0;
  double vocab = 0;  // columns here
  bool is_gated = false;
  bool is_tied = false;

  friend auto operator<=>(const VocabularyShape&, const VocabularyShape&) = default;
};

class ComputeTimes {
 public:
  ComputeTimes() = default;
  ComputeTimes(const ComputeTimes&) = delete;
  ComputeTimes& operator=(const ComputeTimes&) = delete;
  virtual ~ComputeTimes() = default;

  // "analytic", "kernel model of NVIDIA H200"
  virtual std::string source() const = 0;

  virtual ComputeSeconds layer(const LayerShape& shape) const = 0;
  virtual ComputeSeconds attention(const AttentionShape& shape) const = 0;
  virtual ComputeSeconds head(const VocabularyShape& shape) const = 0;
  virtual ComputeSeconds embedding(const VocabularyShape& shape) const = 0;
  // `forward` is the step over so many elements.
  virtual ComputeSeconds update(double elements) const = 0;
  // Seconds that the CPU needs for an iteration's launches; 0 where that is not known.
  virtual double launch_seconds(double calls, double tensors) const = 0;
};

}  // namespace weir::predict
