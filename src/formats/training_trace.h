// SPDX-License-Identifier: Apache-2.0
//
// Traces of training jobs with deadlines, as ElasticFlow publishes them, gzip included.
//
//   job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu[,best_effort]
//
// Older files say submit_time, iteration or real_iteration, and ddl; where a file has several
// spellings of one column, the first of those named here counts. Columns may stand in any order;
// others (duration) are ignored.
//
// Times are seconds since the start of the trace, kept as they are: a trace may start late. A
// deadline is hard and lies after the submission. With best_effort 1 there is none, and the
// deadline's cell is not read. batch_size is the global batch (0 for a model that was measured
// without one). num_gpu is what the user asked for; it need not be a size at which the model was
// measured. Jobs keep the order of the file.
#pragma once

#include <filesystem>

#include "domain/curve.h"
#include "domain/result.h"
#include "domain/training.h"
#include "formats/input_file.h"

namespace weir::formats {

// Each job's model and batch must have a curve.
Result<TrainingWorkload> read_training_trace(const std::filesystem::path& path,
                                             const CurveBook& curves);
Result<TrainingWorkload> read_training_trace(InputFile input, const CurveBook& curves);

}  // namespace weir::formats
