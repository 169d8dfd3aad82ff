// SPDX-License-Identifier: Apache-2.0
//
// What a traced tensor's shape and strides say about the kernels that read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "domain/traced_training.h"

namespace weir::predict {

std::int64_t elements_of(const TracedTensor& tensor);
// Those that lie in memory: a tensor that repeats itself has fewer.
double bytes_of(const TracedTensor& tensor);
double number_bytes(const std::string& dtype);

// Its strides, also where the trace leaves them out.
std::vector<std::int64_t> strides_of(const TracedTensor& tensor);
// Both go through memory in one order, so a kernel may take them as one long row. Requires: equal shapes.
bool lie_alike(const TracedTensor& a, const TracedTensor& b);
// Without gaps or repetition, in whatever order.
bool is_packed(const TracedTensor& tensor);
// The last size is the one whose numbers lie side by side.
bool has_plain_rows(const TracedTensor& tensor);
// Images with their channels side by side.
bool has_channels_last(const TracedTensor& tensor);

// As rows and columns: columns lie side by side.
struct RowShape {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
};
RowShape row_shape(const TracedTensor& tensor);

}  // namespace weir::predict
