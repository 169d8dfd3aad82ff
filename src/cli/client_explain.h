// SPDX-License-Identifier: Apache-2.0
//
// The story of a job of the server, from the records that the server has of it.
#pragma once

#include <string>

#include "cli/client_api.h"
#include "cli/console.h"
#include "cli/live_story.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

// `job` is a name or an id.
Result<LiveStory> story_from_server(const std::string& job, const OptionValues& options,
                                    Console& console);

// What would change the job's lot, as the server has tried it (docs/openapi.yaml, Counterfactuals):
// a list, empty when the server does not say.
ApiJson counterfactuals_from_server(const std::string& job, const OptionValues& options,
                                    Console& console);

}  // namespace weir::cli
