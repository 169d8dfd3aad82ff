// SPDX-License-Identifier: Apache-2.0
//
// How plans for unmeasured models leave the program, and what is said when there is none.
#pragma once

#include <optional>
#include <string>

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"
#include "plan/transformer/transformer_space.h"

namespace weir::cli {

// `text` is printed, `file` goes to --out.
Result<void> publish(const OptionValues& options, const std::string& text, std::string file,
                     Console& console);

// Requires: the search found nothing. `node_of_a_curve` as why_no_plan has it.
Error no_plan_error(const OptionValues& options, const plan::TransformerRequest& request,
                    std::optional<int> node_of_a_curve = std::nullopt);

}  // namespace weir::cli
