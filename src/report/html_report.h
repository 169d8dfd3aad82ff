// SPDX-License-Identifier: Apache-2.0
//
// One HTML page with the result of a comparison: what was run, plots, and the table beside each
// plot. It needs no network and no script, opens from a file, and follows the reader's light or
// dark setting. It holds no date and no machine name: the same runs give the same bytes.
#pragma once

#include <span>
#include <string>

#include "report/html_page.h"
#include "simulate/outcome.h"

namespace weir::report {

std::string html_report(const ReportHeader& header,
                        std::span<const simulate::InflationOutcome> outcomes);
std::string html_report(const ReportHeader& header,
                        std::span<const simulate::ChurnOutcome> outcomes);

}  // namespace weir::report
