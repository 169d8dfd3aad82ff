// SPDX-License-Identifier: Apache-2.0
//
// How far a plan's times may be off: what was compared for this type of GPU and this runtime, and what was not.
// docs/models/transformer.md has the comparisons; the bounds named here are those its tests hold.
#pragma once

#include <string>

#include "predict/transformer/transformer_time.h"

namespace weir::report {

// "public runs on A100s ... were within 21 %": one sentence without its end.
std::string transformer_accuracy(const predict::TransformerTask& task);

// "Compute times: analytic. ..." with the above.
std::string compute_times_words(const predict::TransformerTask& task);

}  // namespace weir::report
