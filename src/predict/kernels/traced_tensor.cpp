// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/traced_tensor.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace weir::predict {

std::int64_t elements_of(const TracedTensor& tensor) {
  return std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::int64_t{1},
                         std::multiplies<>{});
}

double number_bytes(const std::string& dtype) {
  if (dtype == "bf16" || dtype == "fp16" || dtype == "int16") return 2;
  if (dtype == "int64" || dtype == "fp64") return 8;
  if (dtype == "bool" || dtype == "int8" || dtype == "uint8" || dtype.starts_with("float8"))
    return 1;
  return 4;
}

double bytes_of(const TracedTensor& tensor) {
  double elements = 1;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i)
    if (tensor.strides.empty() || tensor.strides[i] != 0)
      elements *= static_cast<double>(tensor.shape[i]);
  return elements * number_bytes(tensor.dtype);
}

std::vector<std::int64_t> strides_of(const TracedTensor& tensor) {
  if (!tensor.strides.empty()) return tensor.strides;
  std::vector<std::int64_t> strides(tensor.shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = tensor.shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(1, tensor.shape[i]);
  }
  return strides;
}

bool lie_alike(const TracedTensor& a, const TracedTensor& b) {
  const auto strides_a = strides_of(a);
  const auto strides_b = strides_of(b);
  for (std::size_t i = 0; i < a.shape.size(); ++i)
    if (a.shape[i] > 1 && strides_a[i] != strides_b[i]) return false;
  return is_packed(a);
}

bool is_packed(const TracedTensor& tensor) {
  if (tensor.strides.empty()) return true;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i)
    if (tensor.shape[i] != 1) order.push_back(i);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return tensor.strides[a] < tensor.strides[b]; });
  std::int64_t expected = 1;
  for (const std::size_t i : order) {
    if (tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

bool has_plain_rows(const TracedTensor& tensor) {
  return tensor.strides.empty() || tensor.shape.back() == 1 || tensor.strides.back() == 1;
}

bool has_channels_last(const TracedTensor& tensor) {
  return tensor.strides.size() == 4 && tensor.strides[1] == 1 && tensor.shape[1] > 1 &&
         tensor.shape[2] * tensor.shape[3] > 1;
}

RowShape row_shape(const TracedTensor& tensor) {
  const std::int64_t elements = std::max<std::int64_t>(1, elements_of(tensor));
  if (tensor.shape.empty()) return {};
  const auto strides = strides_of(tensor);
  std::size_t side_by_side = tensor.shape.size() - 1;
  for (std::size_t i = tensor.shape.size(); i-- > 0;) {
    if (tensor.shape[i] > 1 && strides[i] == 1) {
      side_by_side = i;
      break;
    }
  }
  const std::int64_t columns = std::max<std::int64_t>(1, tensor.shape[side_by_side]);
  return {elements / columns, columns};
}

}  // namespace weir::predict
