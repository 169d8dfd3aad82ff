// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "predict/kernels/traced_call.h"

namespace weir::predict {
namespace {

struct Window {
  std::int64_t ksize = 0;
  std::int64_t stride = 0;
  std::int64_t pad = 0;
};

// What is not square is taken for a square of as many pixels, and says so.
bool add_image(const TracedCall& call, const char* op, const char* pass, const TracedTensor& tensor,
               const Window& window = {}) {
  const std::string dtype = measured_type(tensor);
  if (dtype.empty() || tensor.shape.size() < 2 || tensor.shape.size() > 4) return false;
  std::int64_t pixels = 1;
  for (std::size_t i = 2; i < tensor.shape.size(); ++i) pixels *= tensor.shape[i];
  const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(pixels))));
  const bool is_square = tensor.shape.size() == 4 && tensor.shape[2] == tensor.shape[3];
  call.add({KernelFamily::image,
            op,
            dtype,
            std::string{pass} + (has_channels_last(tensor) ? "/nhwc" : "/nchw"),
            {tensor.shape[0], tensor.shape[1], std::max<std::int64_t>(1, side), window.ksize,
             window.stride, window.pad}},
           1, is_square ? "" : call.op().op + ", not square");
  return true;
}

bool batch_norm(const TracedCall& call) {
  return call.has(1, 1) && add_image(call, "bn", "fwd", call.in(0));
}

// The gradient first, then what came in.
bool batch_norm_backward(const TracedCall& call) {
  return call.has(2, 1) && add_image(call, "bn", "bwd", call.in(1));
}

bool cudnn_batch_norm_backward(const TracedCall& call) {
  return call.has(2, 1) && add_image(call, "bn", "bwd", call.in(0));
}

bool add_max_pool(const TracedCall& call, const char* pass, std::size_t input) {
  const std::int64_t ksize = call.argument("kernel_size", 0);
  if (!call.has(input + 1, 1) || ksize < 1) return false;
  return add_image(call, "maxpool", pass, call.in(input),
                   {ksize, std::max<std::int64_t>(1, call.argument("stride", ksize)),
                    std::max<std::int64_t>(0, call.argument("padding", 0))});
}

bool max_pool(const TracedCall& call) {
  return add_max_pool(call, "fwd", 0);
}

bool max_pool_backward(const TracedCall& call) {
  return add_max_pool(call, "bwd", 1);
}

bool is_one_pixel(const TracedTensor& tensor) {
  return tensor.shape.size() == 4 && tensor.shape[2] == 1 && tensor.shape[3] == 1;
}

bool average_pool(const TracedCall& call) {
  return call.has(1, 1) && is_one_pixel(call.out()) &&
         add_image(call, "avgpool", "fwd", call.in(0));
}

bool average_pool_backward(const TracedCall& call) {
  return call.has(2, 1) && is_one_pixel(call.in(0)) &&
         add_image(call, "avgpool", "bwd", call.in(1));
}

constexpr TracedHandler kImageHandlers[] = {
    {"aten::native_batch_norm", batch_norm},
    {"aten::native_batch_norm_backward", batch_norm_backward},
    {"aten::_native_batch_norm_legit", batch_norm},
    {"aten::_batch_norm_with_update", batch_norm},
    {"aten::batch_norm_backward", batch_norm_backward},
    {"aten::cudnn_batch_norm", batch_norm},
    {"aten::cudnn_batch_norm_backward", cudnn_batch_norm_backward},
    {"aten::max_pool2d_with_indices", max_pool},
    {"aten::max_pool2d_with_indices_backward", max_pool_backward},
    {"aten::_adaptive_avg_pool2d", average_pool},
    {"aten::_adaptive_avg_pool2d_backward", average_pool_backward},
};

}  // namespace

std::span<const TracedHandler> traced_image_handlers() {
  return kImageHandlers;
}

}  // namespace weir::predict
