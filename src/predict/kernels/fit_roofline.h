// SPDX-License-Identifier: Apache-2.0
//
// The roofline of a device as its kernels show it, not as its sheet says: what every better model is held against,
// and what is left where nothing alike was measured.
#pragma once

#include <span>

#include "domain/kernel_call.h"
#include "domain/kernel_model.h"

namespace weir::predict {

// Sets roofline_flops and roofline_bytes_per_second so that the mean relative error is least.
void fit_roofline(std::span<const KernelSample* const> samples, KernelModel& model);

}  // namespace weir::predict
