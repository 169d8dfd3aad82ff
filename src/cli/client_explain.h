// SPDX-License-Identifier: Apache-2.0
//
// The story of a job of the server, from the records that the server has of it.
#pragma once

#include <string>

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"
#include "report/job_story.h"
#include "report/job_story_text.h"

namespace weir::cli {

struct LiveStory {
  report::JobStory story;
  report::StoryContext context;
};

// `job` is a name or an id.
Result<LiveStory> story_from_server(const std::string& job, const OptionValues& options,
                                    Console& console);

}  // namespace weir::cli
