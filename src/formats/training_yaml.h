// SPDX-License-Identifier: Apache-2.0
//
// Training jobs as people write them (`night.yaml`):
//
//   workload: {name: night}              # optional; default: the file's name
//   jobs:
//     - {name: bert, model: bert, batch: 128, iterations: 200000, submit: 0s, deadline: 6h}
//     - {name: sweep, count: 9, model: vgg16, batch: 64, iterations: 500, deadline: 2h, kind: soft}
//     - {name: notebook, model: gpt2, batch: 128, iterations: 1000}
//     - {name: old, model: resnet50, batch: 256, iterations: 9000, gpus: 8, rigid: true}
//
//   name        of one job only; `count: 9` makes sweep-1 to sweep-9
//   tenant      the group it belongs to (tenants_yaml.h); without it, the default one
//   priority    -1000 to 1000, default 0: larger ones go first
//   model       and batch, the global one: the pair must have a throughput curve; a model that was
//               measured without a batch has none here either
//               model: {config: gpt.json, batch: 256} instead plans one (planned_model_fields.h)
//   iterations  1 to 10000000000
//   submit      when it comes: a duration since the start, default 0s, or a time
//   deadline    a duration after submission, or a time; without it the job is best effort
//   kind        of the deadline: hard (promised or refused; the default) or soft (promised where
//               possible, else late)
//   gpus        what policies without elasticity give, default 1
//   duration    how long it takes on `gpus`, where that is known: for comparison with published runs
//   rigid       true: exactly `gpus`, a size at which the model was measured; default false
//
// A time is RFC 3339 with offset, from 1970 to 2070: 2026-11-15T09:00:00Z. All of a file are of one
// kind, durations or times; with times, every job says when it comes.
//
// At most 16 MiB of YAML (yaml_document.h) and a million jobs.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>

#include "domain/curve.h"
#include "domain/planned_model.h"
#include "domain/result.h"
#include "domain/training.h"
#include "formats/input_file.h"

namespace weir::formats {

// Of a model that nobody measured: the curve of any pool, for checks. Whoever asks keeps the others. A model without
// layers is one that could not be read: only its type of GPU is checked then, and the curve is empty.
using PlanForJobs = std::function<Result<Curve>(const CurveKey&, const PlannedModel&)>;

// Without `plan`, every model needs a curve in `curves`.
Result<TrainingWorkload> read_training_yaml(const std::filesystem::path& path,
                                            const CurveBook& curves, const PlanForJobs& plan = {});
Result<TrainingWorkload> read_training_yaml(InputFile input, const CurveBook& curves,
                                            const PlanForJobs& plan = {});

// Reading gives the same workload. Times are written as such when all lie after 2000, otherwise as
// durations. Requires: values within the limits above, as every reader makes them.
void write_training_yaml(std::ostream& out, const TrainingWorkload& workload);

}  // namespace weir::formats
