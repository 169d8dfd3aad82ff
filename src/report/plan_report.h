// SPDX-License-Identifier: Apache-2.0
//
// The page about a training plan: its stages, where the time goes, the pipeline's time line, memory, what would help.
#pragma once

#include <string>

#include "report/html_page.h"
#include "report/plan_view.h"

namespace weir::report {

std::string plan_report(const ReportHeader& header, const PlanView& view);

}  // namespace weir::report
