// SPDX-License-Identifier: Apache-2.0
//
// The operators of a training iteration, as tools/collect/trace_model.py --model writes them:
//
//   {"format": "weir-ops", "version": 1, "model": "resnet50", "batch": 8, "torch": "2.11.0",
//    "parameters": 25557032, "tensors": 161,
//    "ops": [
//     {"phase": "forward", "op": "aten::mm", "count": 32,
//      "in": [{"dtype": "bf16", "shape": [4096, 2048]},
//             {"dtype": "bf16", "shape": [2048, 512], "strides": [1, 2048]}],
//      "out": [{"dtype": "bf16", "shape": [4096, 512]}]},
//     {"phase": "forward", "op": "aten::convolution", "count": 1, "in": [...], "out": [...],
//      "args": {"stride": [2, 2], "padding": [3, 3], "groups": 1}}]}
//
// Without strides a tensor lies row by row. Of "args" those that change a kernel are read (kTracedArguments), others are
// passed over. Plain or gzip.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "domain/result.h"
#include "domain/traced_training.h"
#include "formats/input_file.h"

namespace weir::formats {

inline constexpr std::uint64_t kMaxTracedTrainingBytes = std::uint64_t{64} << 20;

inline constexpr std::array<std::string_view, 14> kTracedArguments = {
    "stride",           "padding",       "dilation",  "transposed", "groups",
    "output_mask",      "kernel_size",   "is_causal", "dim",        "num_weights",
    "normalized_shape", "half_to_float", "keepdim",   "output_size"};

Result<TracedTraining> read_traced_training(InputFile input);

}  // namespace weir::formats
