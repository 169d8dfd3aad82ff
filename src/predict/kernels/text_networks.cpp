// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/text_networks.h"

#include "predict/kernels/text_pieces.h"

namespace weir::predict {
namespace {

TrainingOps embedding_part(const TransformerModel& model, const DecoderStyle& style,
                           std::int64_t batch, std::int64_t length) {
  TextPieces pieces{whole_share(model, batch * length)};
  pieces.embed(model.vocab);
  if (style.has_places) {
    pieces.add_places(batch, length);
    pieces.dropout("fp32");
  }
  return pieces.take();
}

TrainingOps layer_part(const TransformerModel& model, const DecoderStyle& style, std::int64_t batch,
                       std::int64_t length) {
  const TextShare share = whole_share(model, batch * length);
  TextPieces pieces{share};
  pieces.attention(batch, length, true);
  pieces.ops().append(decoder_layer(share, style));
  return pieces.take();
}

TrainingOps head_part(const TransformerModel& model, const DecoderStyle& style,
                      std::int64_t tokens) {
  TextPieces pieces{whole_share(model, tokens)};
  if (style.is_gpt)
    pieces.layer_norm(1);
  else
    pieces.rms_norm(1);
  pieces.words(model.vocab, model.has_tied_embeddings, false);
  return pieces.take();
}

}  // namespace

TransformerParts transformer_parts(const TransformerModel& model, std::int64_t batch,
                                   std::int64_t length) {
  const DecoderStyle style = decoder_style(model.name, model.is_gated);
  return {embedding_part(model, style, batch, length), layer_part(model, style, batch, length),
          head_part(model, style, batch * length)};
}

TrainingOps transformer_ops(const TransformerModel& model, std::int64_t batch,
                            std::int64_t length) {
  const TransformerParts parts = transformer_parts(model, batch, length);
  TrainingOpsBuilder whole;
  whole.append(parts.embedding);
  whole.append(parts.layer, model.layers);
  whole.append(parts.head);
  return whole.finish();
}

TrainingOps bert_ops(const BertShape& shape, std::int64_t batch) {
  TransformerModel model;
  model.layers = shape.layers;
  model.hidden = shape.hidden;
  model.heads = model.kv_heads = shape.heads;
  model.head_dim = shape.hidden / shape.heads;
  model.ffn = 4 * shape.hidden;
  const std::int64_t hidden = model.hidden;
  const TextShare share = whole_share(model, batch * shape.length);
  TextPieces front{share};
  front.embed(shape.vocabulary);
  front.add_places(batch, shape.length);
  front.layer_norm(1);
  front.dropout("fp32");
  TextPieces layer{share};
  layer.linear(hidden, 3 * hidden, true, true);
  layer.attention(batch, shape.length, false);
  layer.join_query_gradients(true);
  layer.linear(hidden, hidden, true, false);
  layer.dropout("bf16");
  layer.inner_linear(hidden, share.ffn, true, true);
  layer.activation("gelu", "gelu_bwd");
  layer.inner_linear(share.ffn, hidden, true, false);
  layer.dropout("bf16");
  layer.join(2);
  layer.layer_norm(2);
  // The layer before the words: its norm takes float32.
  TextPieces end{share};
  end.linear(hidden, hidden, true, true);
  end.ops().forward_rows("gelu", "bf16", share.rows, hidden);
  end.ops().backward_rows("gelu_bwd", "bf16", share.rows, hidden);
  end.ops().forward_rows("cast_up", "bf16", share.rows, hidden);
  end.ops().backward_rows("cast_down", "bf16", share.rows, hidden);
  end.layer_norm(1);
  end.words(shape.vocabulary, true, true);
  TrainingOpsBuilder whole;
  whole.append(front.take());
  whole.append(layer.take(), shape.layers);
  whole.append(end.take());
  return whole.finish();
}

}  // namespace weir::predict
