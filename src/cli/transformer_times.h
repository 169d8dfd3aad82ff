// SPDX-License-Identifier: Apache-2.0
//
// Where a plan for an unmeasured model takes its compute times from: the kernels of the GPU where a model of them is
// inside the program or given as a file, the type of the GPU otherwise.
#pragma once

#include <memory>

#include "domain/options.h"
#include "domain/result.h"
#include "predict/transformer/transformer_time.h"

namespace weir::cli {

// --times, --kernel-model. Nothing: from the type of the GPU.
Result<std::shared_ptr<const predict::ComputeTimes>> read_compute_times(
    const OptionValues& options, const predict::GpuType& gpu,
    const predict::RuntimeTraits& runtime);

// From the kernels of the GPU, where a model of them is inside the program; read once. Nothing: there is none.
std::shared_ptr<const predict::ComputeTimes> times_of_kernels_inside(
    const predict::GpuType& gpu, const predict::RuntimeTraits& runtime);

}  // namespace weir::cli
