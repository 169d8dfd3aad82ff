// SPDX-License-Identifier: Apache-2.0
//
// What fills the memory of a GPU in each stage, as bars against the limit.
#pragma once

#include <string>
#include <string_view>

#include "report/plan_view.h"

namespace weir::report {

std::string stage_memory_svg(const PlanView& view);
// The style sheet the drawing relies on, beside plot_style().
std::string_view stage_memory_style();

}  // namespace weir::report
