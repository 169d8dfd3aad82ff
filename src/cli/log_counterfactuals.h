// SPDX-License-Identifier: Apache-2.0
//
// What would have changed a job's lot, from the log of a live run: its events are decided again up to a
// moment, and changes are tried on the state that is reached, as the server does it.
#pragma once

#include <filesystem>
#include <string>

#include "domain/result.h"
#include "domain/time.h"
#include "report/job_story.h"

namespace weir::cli {

// An object with `would_change`, as the API has it (docs/openapi.yaml). Empty when the log has decisions
// only, as that of a simulation.
Result<std::string> counterfactuals_in_log(const std::filesystem::path& log,
                                           const report::JobStory& story, Time moment);

}  // namespace weir::cli
