// SPDX-License-Identifier: Apache-2.0
//
// The answer to a what-if (docs/openapi.yaml, WhatIf) for people: what differs first, then the totals;
// and as a page with both charts side by side.
#pragma once

#include <string>

#include "cli/client_api.h"
#include "domain/result.h"
#include "report/html_page.h"

namespace weir::cli {

std::string what_if_text(const ApiJson& answer);

// Requires: the answer has its records.
Result<std::string> what_if_page(const ApiJson& answer, const report::ReportHeader& header);

}  // namespace weir::cli
