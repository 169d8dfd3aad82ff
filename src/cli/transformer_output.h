// SPDX-License-Identifier: Apache-2.0
//
// How plans for unmeasured models leave the program, and what is said when there is none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"
#include "plan/transformer/transformer_space.h"
#include "report/plan_export.h"

namespace weir::cli {

// What of the plan the target has no word for, or no such thing: only InternEvo, and weir's own plan file for any trainer,
// have a memory pool, and can be told not to gather ahead.
std::vector<std::string> words_missing(report::ExportTarget target,
                                       const predict::TransformerTask& task,
                                       const predict::TransformerPlan& plan);

// `text` is printed, `file` goes to --out.
Result<void> publish(const OptionValues& options, const std::string& text, std::string file,
                     Console& console);

// Requires: the search found nothing. `node_of_a_curve` as why_no_plan has it.
Error no_plan_error(const OptionValues& options, const plan::TransformerRequest& request,
                    std::optional<int> node_of_a_curve = std::nullopt);

}  // namespace weir::cli
