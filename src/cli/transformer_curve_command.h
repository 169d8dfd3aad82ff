// SPDX-License-Identifier: Apache-2.0
//
// `weir plan --model-config FILE --curve 1..64`: how fast an unmeasured model would be on each number of GPUs, and why there
// is no plan on some of them.
#pragma once

#include "cli/console.h"
#include "cli/transformer_setup.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

Result<void> plan_transformer_curve(const OptionValues& options, const TransformerSetup& setup,
                                    Console& console);

}  // namespace weir::cli
