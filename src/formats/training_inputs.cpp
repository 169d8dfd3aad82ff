// SPDX-License-Identifier: Apache-2.0
#include "formats/training_inputs.h"

#include <utility>

#include "formats/input_kind.h"
#include "formats/training_trace.h"

namespace weir::formats {

Result<TrainingWorkload> read_training(InputFile input, const CurveBook& curves,
                                       const PlanForJobs& plan) {
  const auto csv = is_csv(input);
  if (!csv) return tl::unexpected(csv.error());
  return *csv ? read_training_trace(std::move(input), curves)
              : read_training_yaml(std::move(input), curves, plan);
}

Result<TrainingWorkload> read_training(const std::filesystem::path& path, const CurveBook& curves,
                                       const PlanForJobs& plan) {
  auto input = InputFile::open(path);
  if (!input) return tl::unexpected(input.error());
  return read_training(std::move(*input), curves, plan);
}

}  // namespace weir::formats
