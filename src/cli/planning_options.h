// SPDX-License-Identifier: Apache-2.0
//
// `weir plan` and `weir predict` in the command table: what they are for and every option they have.
#pragma once

#include "domain/options.h"

namespace weir::cli {

CommandSpec plan_spec();
CommandSpec predict_spec();

}  // namespace weir::cli
