// SPDX-License-Identifier: Apache-2.0
//
// How long the CPU needs to launch an iteration, from iterations that it limits by far.
#pragma once

#include <span>

#include "domain/kernel_model.h"
#include "domain/measured_iteration.h"

namespace weir::predict {

// Looks only at iterations that are not judged, of networks that are known: each network's smallest batch, if its
// kernels take less than kLaunchBoundShare of the time. Leaves the model as it is when there are none.
inline constexpr double kLaunchBoundShare = 0.45;
void fit_host(std::span<const MeasuredIteration> iterations, KernelModel& model);

}  // namespace weir::predict
