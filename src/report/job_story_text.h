// SPDX-License-Identifier: Apache-2.0
//
// The story of a training job for people, in short sentences and small tables, and for programs, as
// JSON with times in seconds.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/ids.h"
#include "domain/result.h"
#include "formats/record_log.h"
#include "report/job_story.h"

namespace weir::report {

// What would become of a job from now on if no other came.
struct JobForecast {
  std::optional<Time> start;
  std::optional<Time> finish;
};

struct StoryContext {
  std::vector<formats::RecordLogHeader::Pool> pools;
  std::map<JobId, std::string> names;  // of other jobs
  std::string policy;
  bool makes_promises = true;
  std::optional<JobForecast> forecast;
};

std::string story_text(const JobStory& story, const StoryContext& context);
Result<std::string> story_json(const JobStory& story, const StoryContext& context);

}  // namespace weir::report
