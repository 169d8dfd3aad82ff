// SPDX-License-Identifier: Apache-2.0
//
// From the operators of a traced iteration to the calls whose times are known.
//
// What weir has no times for is stood in for, and says so (TrainingOp::stands_for): a convolution that is not a plain
// square one by the matrix product it amounts to, an operator that is not known at all by a copy of as many bytes.
#pragma once

#include "domain/traced_training.h"
#include "predict/kernels/training_ops.h"

namespace weir::predict {

TrainingOps ops_of_trace(const TracedTraining& training);

}  // namespace weir::predict
