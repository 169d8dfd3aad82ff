// SPDX-License-Identifier: Apache-2.0
#include "domain/transformer_model.h"

namespace weir {
namespace {

std::int64_t attention_elements(const TransformerModel& model) {
  return 2 * model.hidden * (model.query_width() + model.kv_width());
}

}  // namespace

std::int64_t TransformerModel::layer_elements() const {
  return 2 * hidden + attention_elements(*this) + experts * mlp_matrices() * hidden * ffn;
}

std::int64_t TransformerModel::active_layer_elements() const {
  return 2 * hidden + attention_elements(*this) + experts_per_token * mlp_matrices() * hidden * ffn;
}

std::int64_t TransformerModel::elements() const {
  return layers * layer_elements() + hidden + (has_tied_embeddings ? 1 : 2) * vocab_elements();
}

double forward_flops(const TransformerModel& model, double tokens, double sequence) {
  const auto layers = static_cast<double>(model.layers);
  const double dense = layers * static_cast<double>(model.active_layer_elements()) +
                       static_cast<double>(model.vocab_elements());
  const double attention =
      2.0 * layers * sequence * static_cast<double>(model.query_width());  // two GEMMs, causal half
  return tokens * (2.0 * dense + attention);
}

}  // namespace weir
