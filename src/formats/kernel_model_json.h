// SPDX-License-Identifier: Apache-2.0
//
// A fitted model of a device's kernels as JSON, plain or gzip:
//
//   {"format":"weir-kernel-model","version":2,"device":{...},"versions":{...},"roofline":{...},"drift":{...},"host":{...},"errors":{...},
//    "groups":[...],"known_launch":{...},"predicted_launch":{...},"by_shape":{...},"sketches":[...],"dispatch":{...}}
//
// What is written reads back to the same model, bit for bit.
#pragma once

#include <string>

#include "domain/kernel_model.h"
#include "domain/result.h"
#include "formats/input_file.h"

namespace weir::formats {

// One more whenever a column, a group's key or a feature of the trees comes to mean something else (predict's
// kernel_features.h, launch_sketch.h, group_keys): an older file would be read wrongly.
inline constexpr int kKernelModelVersion = 3;
inline constexpr std::uint64_t kMaxKernelModelBytes = std::uint64_t{64} << 20;

Result<std::string> kernel_model_json(const KernelModel& model);
Result<KernelModel> read_kernel_model(InputFile input);

}  // namespace weir::formats
