// SPDX-License-Identifier: Apache-2.0
//
// The story of a job of the server, from its view and its records. The server tells it itself (GET
// /v1/jobs/{job}/story), and `weir explain` tells it from what the server sends.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "domain/result.h"
#include "report/job_story.h"
#include "report/job_story_text.h"

namespace weir::cli {

struct LiveStory {
  report::JobStory story;
  report::StoryContext context;
};

// `view` is the job as the API shows it, `records` the lines of its records after the header of a log.
// Nothing when they do not tell how the job began. A job that is not over is told until `now`.
Result<std::optional<LiveStory>> live_story(std::string_view view, std::string_view records,
                                            Time now);

// The body of the API's answer: the story for people and for programs.
Result<std::optional<std::string>> live_story_json(std::string_view view, std::string_view records);

}  // namespace weir::cli
