// SPDX-License-Identifier: Apache-2.0
//
// The models of kernels that come with weir: fitted to docs/measurements while weir is built.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "domain/kernel_model.h"
#include "domain/result.h"

namespace weir::cli {

// Short names: "h200".
std::vector<std::string_view> embedded_kernel_models();

// Requires: one of those names.
Result<KernelModel> embedded_kernel_model(std::string_view name);

}  // namespace weir::cli
