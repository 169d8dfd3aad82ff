// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "predict/kernels/traced_call.h"

namespace weir::predict {
namespace {

constexpr std::int64_t kTableRows = 32000;      // of the embeddings that were measured
constexpr std::int64_t kSmallTableRows = 4096;  // up to here its clearing is nothing

// The last sizes together are a row.
template <const char* kMeasured>
bool normalized(const TracedCall& call) {
  if (!call.has(1, 1)) return false;
  std::int64_t columns = 1;
  for (const std::int64_t size : call.numbers("normalized_shape")) {
    if (size < 1 || columns > elements_of(call.in(0)) / size) return false;
    columns *= size;
  }
  return call.add_rows(kMeasured, measured_type(call.in(0)),
                       {elements_of(call.in(0)) / columns, columns});
}

// Along one dimension.
template <const char* kMeasured>
bool along(const TracedCall& call) {
  if (!call.has(1, 1)) return false;
  const auto& shape = call.in(0).shape;
  const auto count = static_cast<std::int64_t>(shape.size());
  const std::int64_t dim = call.argument("dim", -1);
  if (dim < -count || dim >= count) return false;
  const std::int64_t columns =
      std::max<std::int64_t>(1, shape[static_cast<std::size_t>(dim < 0 ? dim + count : dim)]);
  return call.add_rows(kMeasured, measured_type(call.in(0)),
                       {elements_of(call.in(0)) / columns, columns});
}

// Picks one of each row: a small kernel.
bool picked(const TracedCall& call) {
  return call.has(1, 0) && call.add_rows("mean_cols", "fp32", {1, row_shape(call.in(0)).rows});
}

bool picked_backward(const TracedCall& call) {
  return call.has(2, 0) && call.add_rows("nll_bwd", "fp32", row_shape(call.in(1)));
}

bool reduced(const TracedCall& call) {
  if (!call.has(1, 1)) return false;
  const TracedTensor& from = call.in(0);
  const std::string dtype = measured_type(from);
  const std::int64_t kept = std::max<std::int64_t>(1, elements_of(call.out()));
  const std::int64_t gone = std::max<std::int64_t>(1, elements_of(from) / kept);
  const auto count = static_cast<std::int64_t>(from.shape.size());
  const std::vector<std::int64_t> dims = call.numbers("dim");
  const auto reduces = [&](std::int64_t dim) {
    return dims.empty() || std::any_of(dims.begin(), dims.end(), [&](std::int64_t one) {
             return (one < 0 ? one + count : one) == dim;
           });
  };
  if (count == 4 && !dtype.empty() && reduces(2) && reduces(3) && !reduces(0) && !reduces(1) &&
      from.shape[2] == from.shape[3]) {
    call.add({KernelFamily::image,
              "avgpool",
              dtype,
              has_channels_last(from) ? "fwd/nhwc" : "fwd/nchw",
              {from.shape[0], from.shape[1], from.shape[2]}});
    return true;
  }
  if (reduces(count - 1)) return call.add_rows("mean_cols", dtype, {kept, gone});
  return call.add_rows("sum_rows", dtype, {gone, kept});
}

bool embedding(const TracedCall& call) {
  return call.has(2, 1) && call.add_rows("embedding", call.out());
}

bool embedding_backward(const TracedCall& call) {
  if (!call.has(2, 1)) return false;
  const std::string dtype = measured_type(call.in(0));
  const RowShape shape = row_shape(call.in(0));
  const std::int64_t table = call.argument("num_weights", kTableRows);
  if (table <= kSmallTableRows) return call.add_rows("embedding", dtype, shape);
  // A larger one than was measured takes longer to clear.
  if (table > kTableRows && !call.add_rows("fill", dtype, {table - kTableRows, shape.columns}))
    return false;
  return call.add_rows("embedding_bwd", dtype, shape);
}

constexpr char kLayerNorm[] = "ln";
constexpr char kLayerNormBackward[] = "ln_bwd";
constexpr char kLogSoftmax[] = "log_softmax";
constexpr char kLogSoftmaxBackward[] = "log_softmax_bwd";
constexpr char kRmsNorm[] = "rmsnorm";
constexpr char kRmsNormBackward[] = "rmsnorm_bwd";
constexpr char kSoftmax[] = "softmax";
constexpr char kSoftmaxBackward[] = "softmax_bwd";

constexpr TracedHandler kRowHandlers[] = {
    {"aten::native_layer_norm", normalized<kLayerNorm>},
    {"aten::native_layer_norm_backward", normalized<kLayerNormBackward>},
    {"aten::_fused_rms_norm", normalized<kRmsNorm>},
    {"aten::_fused_rms_norm_backward", normalized<kRmsNormBackward>},
    {"aten::_softmax", along<kSoftmax>},
    {"aten::_safe_softmax", along<kSoftmax>},
    {"aten::_softmax_backward_data", along<kSoftmaxBackward>},
    {"aten::_log_softmax", along<kLogSoftmax>},
    {"aten::_log_softmax_backward_data", along<kLogSoftmaxBackward>},
    {"aten::nll_loss_forward", picked},
    {"aten::nll_loss_backward", picked_backward},
    {"aten::sum", reduced},
    {"aten::mean", reduced},
    {"aten::amax", reduced},
    {"aten::embedding", embedding},
    {"aten::embedding_dense_backward", embedding_backward},
};

}  // namespace

std::span<const TracedHandler> traced_row_handlers() {
  return kRowHandlers;
}

}  // namespace weir::predict
