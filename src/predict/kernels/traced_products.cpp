// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "predict/kernels/traced_call.h"

namespace weir::predict {
namespace {

// ---- matrices ----

// Requires: two sizes or more.
bool is_transposed(const TracedTensor& matrix) {
  const std::size_t last = matrix.shape.size() - 1;
  return !matrix.strides.empty() && matrix.strides[last] != 1 && matrix.strides[last - 1] == 1;
}

bool add_product(const TracedCall& call, const char* op, std::size_t first) {
  if (!call.has(first + 2, 1)) return false;
  const TracedTensor& a = call.in(first);
  const TracedTensor& b = call.in(first + 1);
  const std::size_t rank = a.shape.size();
  const std::string dtype = measured_type(a);
  if (dtype.empty() || rank < 2 || rank > 3 || b.shape.size() != rank) return false;
  const char* layout = is_transposed(a) ? "tn" : is_transposed(b) ? "nt" : "nn";
  // With a bias only what a layer does was measured; other layouts are as fast without.
  const bool is_layer = std::string_view{op} != "linear" || std::string_view{layout} == "nt";
  call.add({KernelFamily::gemm,
            is_layer ? op : "mm",
            dtype,
            layout,
            {rank == 3 ? a.shape[0] : 1, a.shape[rank - 2], a.shape[rank - 1], b.shape[rank - 1]}},
           1, is_transposed(a) && is_transposed(b) ? call.op().op + ", both transposed" : "");
  return true;
}

bool product(const TracedCall& call) {
  return add_product(call, "mm", 0);
}
bool batched_product(const TracedCall& call) {
  return add_product(call, "bmm", 0);
}
bool biased_product(const TracedCall& call) {
  return add_product(call, "linear", 1);
}
bool added_batched_product(const TracedCall& call) {
  return add_product(call, "bmm", 1);
}

// ---- attention ----

// `inputs`: how many there are without a mask. Times were measured without one, whose numbers have to be read as well.
bool add_attention(const TracedCall& call, const char* variant, std::size_t first,
                   std::size_t inputs) {
  if (!call.has(first + 3, 1)) return false;
  const TracedTensor& queries = call.in(first);
  const TracedTensor& keys = call.in(first + 1);
  const std::string dtype = measured_type(queries);
  if (dtype.empty() || queries.shape.size() != 4 || keys.shape.size() != 4) return false;
  call.add({KernelFamily::attention,
            "sdpa",
            dtype,
            variant,
            {queries.shape[0], queries.shape[1], keys.shape[1], queries.shape[2], keys.shape[2],
             queries.shape[3], call.argument("is_causal", 0) != 0 ? 1 : 0}},
           1, call.op().inputs.size() > inputs ? call.op().op + ", with a mask" : "");
  return true;
}

template <const char* kVariant>
bool attention(const TracedCall& call) {
  return add_attention(call, kVariant, 0, 3);
}
// The gradient comes first; behind keys and values stand the result, sums and the two numbers of dropout.
template <const char* kVariant>
bool attention_backward(const TracedCall& call) {
  return add_attention(call, kVariant, 1, 8);
}

// ---- convolutions ----

struct Convolution {
  std::int64_t batch = 1, in = 1, out = 1, groups = 1;  // channels of all groups
  std::int64_t taps = 1;                                // places of a filter
  std::int64_t out_pixels = 1;
  bool is_square = false;  // one group, no dilation: as was measured
  KernelSizes sizes{};     // of a square one
  std::string dtype{};
  const char* layout = "nchw";
};

bool are_equal(const std::vector<std::int64_t>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(),
                     [&](std::int64_t one) { return one == numbers.front(); });
}

std::int64_t product_of(const std::vector<std::int64_t>& shape, std::size_t from) {
  std::int64_t product = 1;
  for (std::size_t i = from; i < shape.size(); ++i) product *= shape[i];
  return product;
}

// A transposed one is the gradient of a plain one: `input` and `output` have changed places then.
std::optional<Convolution> convolution_of(const TracedCall& call, const TracedTensor& input,
                                          const TracedTensor& weight, const TracedTensor& output) {
  if (input.shape.size() < 3 || input.shape.size() != weight.shape.size() ||
      output.shape.size() != input.shape.size() || input.shape[0] != output.shape[0] ||
      elements_of(input) == 0 || elements_of(weight) == 0 || elements_of(output) == 0)
    return std::nullopt;
  Convolution conv;
  conv.dtype = measured_type(weight);
  if (conv.dtype.empty()) return std::nullopt;
  if (conv.dtype == "fp32") conv.dtype = "tf32";  // as PyTorch runs them by default
  conv.groups = std::clamp<std::int64_t>(call.argument("groups", 1), 1, weight.shape[0]);
  conv.batch = input.shape[0];
  conv.in = input.shape[1];
  conv.out = output.shape[1];
  if (conv.out % conv.groups != 0 || conv.out != weight.shape[0] ||
      conv.in != weight.shape[1] * conv.groups)
    return std::nullopt;
  conv.taps = product_of(weight.shape, 2);
  conv.out_pixels = product_of(output.shape, 2);
  if (has_channels_last(input) || has_channels_last(weight) || has_channels_last(output))
    conv.layout = "nhwc";
  const auto stride = call.numbers("stride"), pad = call.numbers("padding");
  const auto dilation = call.numbers("dilation");
  const auto is_one_number = [](const std::vector<std::int64_t>& numbers, std::int64_t least) {
    return !numbers.empty() && are_equal(numbers) && numbers.front() >= least;
  };
  conv.is_square = input.shape.size() == 4 && conv.groups == 1 &&
                   input.shape[2] == input.shape[3] && weight.shape[2] == weight.shape[3] &&
                   is_one_number(stride, 1) && is_one_number(pad, 0) &&
                   (dilation.empty() || (are_equal(dilation) && dilation[0] == 1));
  if (conv.is_square)
    conv.sizes = {conv.batch,     conv.in,        conv.out,   weight.shape[2],
                  input.shape[2], stride.front(), pad.front()};
  return conv;
}

enum class ConvolutionPass : std::uint8_t { forward, to_input, to_weight };

void add_pass(const TracedCall& call, const Convolution& conv, ConvolutionPass pass) {
  if (conv.is_square) {
    constexpr const char* kPasses[] = {"fwd/", "dgrad/", "wgrad/"};
    call.add({KernelFamily::conv, "conv", conv.dtype,
              std::string{kPasses[static_cast<std::size_t>(pass)]} + conv.layout, conv.sizes});
    return;
  }
  // The product it amounts to, one for each group.
  const std::int64_t pixels = conv.batch * conv.out_pixels;
  const std::int64_t depth = conv.in / conv.groups * conv.taps;
  const std::int64_t filters = conv.out / conv.groups;
  KernelSizes sizes = {conv.groups, pixels, depth, filters};
  const char* layout = "nt";
  if (pass == ConvolutionPass::to_input) {
    sizes = {conv.groups, pixels, filters, depth};
    layout = "nn";
  } else if (pass == ConvolutionPass::to_weight) {
    sizes = {conv.groups, filters, pixels, depth};
    layout = "tn";
  }
  call.add({KernelFamily::gemm, "bmm", conv.dtype, layout, sizes}, 1,
           call.op().op + (conv.groups > 1 ? ", in groups" : ", not a plain square"));
}

bool convolution(const TracedCall& call) {
  if (!call.has(2, 1)) return false;
  const bool is_transposed_one = call.argument("transposed", 0) != 0;
  const TracedTensor& output = call.out();
  const auto conv = is_transposed_one ? convolution_of(call, output, call.in(1), call.in(0))
                                      : convolution_of(call, call.in(0), call.in(1), output);
  if (!conv) return false;
  add_pass(call, *conv, is_transposed_one ? ConvolutionPass::to_input : ConvolutionPass::forward);
  // Adding the bias is as much traffic as this.
  if (call.op().inputs.size() > 2) call.add_rows("mul_row", output);
  return true;
}

// Of the gradient, what came in and the weights.
bool convolution_backward(const TracedCall& call) {
  if (!call.has(3, 1)) return false;
  const TracedTensor& gradient = call.in(0);
  const bool is_transposed_one = call.argument("transposed", 0) != 0;
  const auto conv = is_transposed_one ? convolution_of(call, gradient, call.in(2), call.in(1))
                                      : convolution_of(call, call.in(1), call.in(2), gradient);
  if (!conv) return false;
  const auto mask = call.numbers("output_mask");
  const auto wants = [&](std::size_t index) { return index >= mask.size() || mask[index] != 0; };
  if (wants(0))
    add_pass(call, *conv, is_transposed_one ? ConvolutionPass::forward : ConvolutionPass::to_input);
  if (wants(1)) add_pass(call, *conv, ConvolutionPass::to_weight);
  if (mask.size() > 2 && wants(2)) {
    const std::int64_t filters = std::max<std::int64_t>(1, gradient.shape[1]);
    call.add_rows("sum_rows", measured_type(gradient), {elements_of(gradient) / filters, filters});
  }
  return true;
}

constexpr char kCudnn[] = "fwd/cudnn";
constexpr char kCudnnBackward[] = "bwd/cudnn";
constexpr char kFlash[] = "fwd/flash";
constexpr char kFlashBackward[] = "bwd/flash";
constexpr char kEfficient[] = "fwd/efficient";
constexpr char kEfficientBackward[] = "bwd/efficient";

constexpr TracedHandler kProductHandlers[] = {
    {"aten::mm", product},
    {"aten::bmm", batched_product},
    {"aten::addmm", biased_product},
    {"aten::baddbmm", added_batched_product},
    {"aten::_scaled_dot_product_cudnn_attention", attention<kCudnn>},
    {"aten::_scaled_dot_product_cudnn_attention_backward", attention_backward<kCudnnBackward>},
    {"aten::_scaled_dot_product_flash_attention", attention<kFlash>},
    {"aten::_scaled_dot_product_flash_attention_backward", attention_backward<kFlashBackward>},
    {"aten::_scaled_dot_product_efficient_attention", attention<kEfficient>},
    {"aten::_scaled_dot_product_efficient_attention_backward",
     attention_backward<kEfficientBackward>},
    {"aten::convolution", convolution},
    {"aten::convolution_backward", convolution_backward},
};

}  // namespace

std::span<const TracedHandler> traced_product_handlers() {
  return kProductHandlers;
}

}  // namespace weir::predict
