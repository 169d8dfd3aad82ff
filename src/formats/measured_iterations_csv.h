// SPDX-License-Identifier: Apache-2.0
//
// Timed training iterations, as tools/collect/trace_model.py writes them:
//
//   model,batch,round,judged,iteration_ms,step_probe_us[,...]
#pragma once

#include <vector>

#include "domain/measured_iteration.h"
#include "domain/result.h"
#include "formats/input_file.h"

namespace weir::formats {

Result<std::vector<MeasuredIteration>> read_measured_iterations(InputFile input);

}  // namespace weir::formats
