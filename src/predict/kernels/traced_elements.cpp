// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "predict/kernels/traced_call.h"

namespace weir::predict {
namespace {

// One tensor in, one out. What lies in another order afterwards is moved as attention's heads are.
template <const char* kMeasured>
bool one_to_one(const TracedCall& call) {
  if (!call.has(1, 1)) return false;
  const bool is_moved = call.in(0).shape == call.out().shape && !lie_alike(call.in(0), call.out());
  return call.add_rows(is_moved ? "copy_heads" : kMeasured, call.out());
}

// Several tensors of one shape in, one out.
template <const char* kMeasured>
bool to_one(const TracedCall& call) {
  return call.has(2, 1) && call.add_rows(kMeasured, call.out());
}

// One number of a kind that is not measured: a step, a batch that is counted.
bool count_up(const TracedCall& call) {
  return elements_of(call.in(0)) == 1 && call.add_rows("fill", "fp32", {1, 64});
}

template <const char* kMeasured>
bool in_place(const TracedCall& call) {
  return call.has(1, 0) && (call.add_rows(kMeasured, call.in(0)) || count_up(call));
}

// The mean of images goes back to each pixel: divided as it is spread.
bool spread_average(const TracedCall& call) {
  const TracedTensor& from = call.in(0);
  const std::string dtype = measured_type(from);
  if (dtype.empty() || from.shape.size() != 4 || from.strides.size() != 4 || from.strides[2] != 0 ||
      from.strides[3] != 0 || from.shape[2] < 2 || from.shape[2] != from.shape[3])
    return false;
  call.add({KernelFamily::image,
            "avgpool",
            dtype,
            "bwd/nhwc",
            {from.shape[0], from.shape[1], from.shape[2]}});
  return true;
}

// Two tensors, or a tensor and a number.
template <const char* kMeasured>
bool binary(const TracedCall& call) {
  if (!call.has(1, 1)) return false;
  const TracedTensor& first = call.in(0);
  if (call.op().inputs.size() < 2 || elements_of(call.in(1)) == 1) {
    if (spread_average(call)) return true;
    const bool is_moved = first.shape == call.out().shape && !lie_alike(first, call.out());
    return call.add_rows(is_moved ? "copy_heads" : "scale", call.out());
  }
  const TracedTensor& second = call.in(1);
  if (elements_of(first) == 1) return call.add_rows("scale", call.out());
  if (first.shape == second.shape) {
    const std::string one = measured_type(first);
    const std::string other = measured_type(second);
    if (one.empty() || other.empty()) return false;
    if (one != other) return call.add_rows("add_mixed", "bf16", row_shape(call.out()));
    return call.add_rows(lie_alike(first, second) ? kMeasured : "add_heads", call.out());
  }
  // One of both is repeated.
  const bool is_first_whole = first.shape == call.out().shape;
  const TracedTensor& whole = is_first_whole ? first : second;
  const TracedTensor& part = is_first_whole ? second : first;
  if (!whole.strides.empty()) return call.add_rows("mul_heads", call.out());
  const bool is_column = !part.shape.empty() && part.shape.back() == 1;
  return call.add_rows(is_column ? "mul_col" : "mul_row", call.out());
}

bool fill(const TracedCall& call) {
  if (!call.has(1, 0) && !call.has(0, 1)) return false;
  const TracedTensor& tensor = call.op().outputs.empty() ? call.in(0) : call.out();
  const double bytes = number_bytes(tensor.dtype);
  RowShape shape = row_shape(tensor);
  if (bytes == 8) shape.columns *= 2;  // as many bytes in numbers of four
  return call.add_rows("fill", bytes <= 2 ? "bf16" : "fp32", shape);
}

bool copy(const TracedCall& call, const TracedTensor& from, const TracedTensor& to) {
  const std::string source = measured_type(from);
  const std::string target = measured_type(to);
  if (source.empty() || target.empty()) return false;
  if (source != target)
    return call.add_rows(source == "fp32" ? "cast_down" : "cast_up", "bf16", row_shape(to));
  if (from.shape != to.shape || lie_alike(from, to)) return call.add_rows("copy", to);
  return call.add_rows(has_plain_rows(from) ? "copy_heads" : "transpose", to);
}

bool converted(const TracedCall& call) {
  return call.has(1, 1) && copy(call, call.in(0), call.out());
}

bool copied_into(const TracedCall& call) {
  return call.has(2, 0) && copy(call, call.in(1), call.in(0));
}

bool concatenated(const TracedCall& call) {
  if (!call.has(1, 1)) return false;
  const bool is_plain = std::all_of(call.op().inputs.begin(), call.op().inputs.end(),
                                    [](const TracedTensor& one) { return one.strides.empty(); });
  return call.add_rows(is_plain ? "cat" : "cat_heads", call.out());
}

bool dropout(const TracedCall& call) {
  return call.has(1, 1) && call.add_rows("dropout", call.in(0));
}

bool dropout_backward(const TracedCall& call) {
  return call.has(2, 1) && call.add_rows("dropout_bwd", call.in(0));
}

// The gradient of a part: the whole is cleared, the part copied.
bool part_backward(const TracedCall& call) {
  return call.has(1, 1) && !measured_type(call.in(0)).empty() &&
         call.add_rows("fill", call.out()) && call.add_rows("copy_heads", call.in(0));
}

// Steps of all tensors, in one kernel.
bool count_all_up(const TracedCall& call) {
  return std::all_of(call.op().inputs.begin(), call.op().inputs.end(),
                     [](const TracedTensor& one) { return elements_of(one) == 1; }) &&
         call.add_rows("fill", "fp32", {1, 64});
}

constexpr char kAdd[] = "add";
constexpr char kAddInplace[] = "add_inplace";
constexpr char kGelu[] = "gelu";
constexpr char kGeluBackward[] = "gelu_bwd";
constexpr char kMul[] = "mul";
constexpr char kNeg[] = "neg";
constexpr char kPow[] = "pow2";
constexpr char kRelu[] = "relu";
constexpr char kReluBackward[] = "relu_bwd";
constexpr char kReluInplace[] = "relu_inplace";
constexpr char kSilu[] = "silu";
constexpr char kSiluBackward[] = "silu_bwd";

constexpr TracedHandler kElementHandlers[] = {
    {"aten::_to_copy", converted},
    {"aten::clone", converted},
    {"aten::contiguous", converted},
    {"aten::copy_", copied_into},
    {"aten::cat", concatenated},
    {"aten::stack", concatenated},
    {"aten::native_dropout", dropout},
    {"aten::native_dropout_backward", dropout_backward},
    {"aten::select_backward", part_backward},
    {"aten::slice_backward", part_backward},
    {"aten::add", binary<kAdd>},
    {"aten::sub", binary<kAdd>},
    {"aten::rsub", binary<kAdd>},
    {"aten::mul", binary<kMul>},
    {"aten::div", binary<kMul>},
    {"aten::maximum", binary<kMul>},
    {"aten::minimum", binary<kMul>},
    {"aten::add_", in_place<kAddInplace>},
    {"aten::sub_", in_place<kAddInplace>},
    {"aten::mul_", in_place<kAddInplace>},
    {"aten::div_", in_place<kAddInplace>},
    {"aten::_foreach_add_", count_all_up},
    {"aten::relu_", in_place<kReluInplace>},
    {"aten::clamp_min_", in_place<kReluInplace>},
    {"aten::hardtanh_", in_place<kReluInplace>},
    {"aten::silu_", in_place<kReluInplace>},
    {"aten::hardswish_", in_place<kReluInplace>},
    {"aten::relu", one_to_one<kRelu>},
    {"aten::leaky_relu", one_to_one<kRelu>},
    {"aten::hardtanh", one_to_one<kRelu>},
    {"aten::clamp", one_to_one<kRelu>},
    {"aten::clamp_min", one_to_one<kRelu>},
    {"aten::gelu", one_to_one<kGelu>},
    {"aten::silu", one_to_one<kSilu>},
    {"aten::hardswish", one_to_one<kSilu>},
    {"aten::hardsigmoid", one_to_one<kSilu>},
    {"aten::mish", one_to_one<kSilu>},
    {"aten::elu", one_to_one<kSilu>},
    {"aten::pow", one_to_one<kPow>},
    {"aten::neg", one_to_one<kNeg>},
    {"aten::abs", one_to_one<kNeg>},
    {"aten::exp", one_to_one<kNeg>},
    {"aten::log", one_to_one<kNeg>},
    {"aten::sqrt", one_to_one<kNeg>},
    {"aten::rsqrt", one_to_one<kNeg>},
    {"aten::reciprocal", one_to_one<kNeg>},
    {"aten::sin", one_to_one<kNeg>},
    {"aten::cos", one_to_one<kNeg>},
    {"aten::tanh", one_to_one<kNeg>},
    {"aten::sigmoid", one_to_one<kNeg>},
    {"aten::erf", one_to_one<kNeg>},
    {"aten::gelu_backward", to_one<kGeluBackward>},
    {"aten::silu_backward", to_one<kSiluBackward>},
    {"aten::hardswish_backward", to_one<kSiluBackward>},
    {"aten::hardsigmoid_backward", to_one<kSiluBackward>},
    {"aten::mish_backward", to_one<kSiluBackward>},
    {"aten::elu_backward", to_one<kSiluBackward>},
    {"aten::threshold_backward", to_one<kReluBackward>},
    {"aten::leaky_relu_backward", to_one<kReluBackward>},
    {"aten::hardtanh_backward", to_one<kReluBackward>},
    {"aten::tanh_backward", to_one<kMul>},
    {"aten::sigmoid_backward", to_one<kMul>},
    {"aten::arange", fill},
    {"aten::fill_", fill},
    {"aten::full", fill},
    {"aten::full_like", fill},
    {"aten::new_full", fill},
    {"aten::new_ones", fill},
    {"aten::new_zeros", fill},
    {"aten::ones", fill},
    {"aten::ones_like", fill},
    {"aten::scalar_tensor", fill},
    {"aten::zero_", fill},
    {"aten::zeros", fill},
    {"aten::zeros_like", fill},
};

}  // namespace

std::span<const TracedHandler> traced_element_handlers() {
  return kElementHandlers;
}

}  // namespace weir::predict
