// SPDX-License-Identifier: Apache-2.0
//
// Training jobs by path, in any format weir reads: weir's own YAML (training_yaml.h) or a published
// trace (training_trace.h), told apart as in input_kind.h.
#pragma once

#include <filesystem>

#include "domain/curve.h"
#include "domain/result.h"
#include "domain/training.h"
#include "formats/input_file.h"
#include "formats/training_yaml.h"

namespace weir::formats {

// `plan` is for models of a YAML file that nobody measured.
Result<TrainingWorkload> read_training(const std::filesystem::path& path, const CurveBook& curves,
                                       const PlanForJobs& plan = {});
Result<TrainingWorkload> read_training(InputFile input, const CurveBook& curves,
                                       const PlanForJobs& plan = {});

}  // namespace weir::formats
