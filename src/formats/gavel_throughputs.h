// SPDX-License-Identifier: Apache-2.0
//
// The throughputs Gavel publishes for its simulator (simulation_throughputs.json), gzip included:
//
//   {"k80": {"('ResNet-18 (batch size 16)', 2)": {"null": 8.76, "('A3C', 1)": [2.5, 3.1]}}}
//
// For each kind of worker and each job (model, batch, GPUs), `null` is the rate in steps per second
// when it runs alone. Rates beside a partner on the same GPU are ignored. A rate of 0 means that it
// does not fit and leaves the point out; a job that fits nowhere has no curve. Models published
// without a batch (A3C, CycleGAN) have batch 0.
//
// The batch is one GPU's, it seems, not the job's (the file does not say; ResNet-50 with batch 128
// runs on one K80 but not on two), and a step is one such batch, whichever GPU does it. So a rate
// counts steps of an equal number of samples at every size, as a Curve needs it, but on n GPUs the
// model is updated with n such batches at a time: more GPUs change the training. In ElasticFlow's
// tables they do not.
#pragma once

#include <filesystem>
#include <vector>

#include "domain/curve.h"
#include "domain/result.h"
#include "formats/input_file.h"

namespace weir::formats {

// One book per kind of worker, in the file's order. Its GPU is the kind with the letters before the
// first underscore in upper case: K80, V100, V100_unconsolidated (GPUs on different nodes).
Result<std::vector<CurveBook>> read_gavel_throughputs(const std::filesystem::path& path);
Result<std::vector<CurveBook>> read_gavel_throughputs(InputFile input);

}  // namespace weir::formats
