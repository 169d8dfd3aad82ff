// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "formats/json_text.h"
#include "formats/record_log.h"
#include "report/block_text.h"
#include "report/job_story_text.h"

namespace weir::report {
namespace {

using Json = nlohmann::ordered_json;

Json seconds(Time time) {
  return to_seconds(time.time_since_epoch());
}

Json seconds(const std::optional<Time>& time) {
  return time ? seconds(*time) : Json(nullptr);
}

Json reason_json(const Reason& reason) {
  return {{"code", formats::reason_name(reason.code)},
          {"detail", reason.detail},
          {"text", to_string(reason)}};
}

std::string_view answer_name(const JobStory& story) {
  switch (story.answer) {
    case JobStory::Answer::promised:
      return "promised";
    case JobStory::Answer::planned:
      return "planned";
    case JobStory::Answer::unpromised:
      return "not_promised";
    case JobStory::Answer::refused:
      return "refused";
    case JobStory::Answer::none:
      break;
  }
  return story.waits_for_curve ? "waits_for_a_curve" : "none";
}

Json asked_json(const TrainingSpec& spec) {
  Json json = {{"model", spec.curve.model},
               {"batch", spec.curve.global_batch},
               {"iterations", spec.iterations}};
  const bool has_deadline = spec.deadline_kind != DeadlineKind::none;
  json["deadline_s"] = has_deadline ? seconds(spec.deadline) : Json(nullptr);
  json["deadline_kind"] = !has_deadline                              ? "none"
                          : spec.deadline_kind == DeadlineKind::soft ? "soft"
                                                                     : "hard";
  if (spec.is_rigid) json["gpus"] = spec.asked_gpus;
  return json;
}

Json plan_json(const JobStory& story, const JobStory::Plan& plan, const StoryContext& context) {
  Json steps = Json::array();
  for (const TimelineStep& step : plan.timeline.steps) {
    steps.push_back({{"from_s", seconds(step.from)},
                     {"gpus", step.block.size},
                     {"where", block_text(context.pools, story.pool, step.block)}});
  }
  return {{"made_s", seconds(plan.made)},
          {"reason", reason_json(plan.reason)},
          {"steps", std::move(steps)},
          {"end_s", seconds(plan.timeline.end)}};
}

}  // namespace

Result<std::string> story_json(const JobStory& story, const StoryContext& context) {
  Json json = {{"job", story.id.value},         {"name", story.spec->name},
               {"policy", context.policy},      {"asked", asked_json(*story.spec)},
               {"came_s", seconds(story.came)}, {"answer", answer_name(story)}};
  if (story.answer != JobStory::Answer::none) json["reason"] = reason_json(story.answer_reason);
  if (story.answer == JobStory::Answer::refused) json["earliest_s"] = seconds(story.earliest);
  if (story.answer == JobStory::Answer::unpromised) {
    json["expected_start_s"] = seconds(story.expected_start);
    json["expected_finish_s"] = seconds(story.expected_finish);
  }
  if (story.throughput) {
    Json rates = Json::object();
    for (const CurvePoint& point : story.throughput->rates)
      rates[std::to_string(point.gpus)] = static_cast<double>(point.rate.value) / 1e6;
    json["throughput"] = {{"origin", story.throughput->origin}, {"rates", std::move(rates)}};
    if (!story.throughput->measured_on.empty())
      json["throughput"]["measured_on"] = story.throughput->measured_on;
  }
  json["made_room"] = story.made_room;
  json["plans"] = Json::array();
  for (const JobStory::Plan& plan : story.plans)
    json["plans"].push_back(plan_json(story, plan, context));
  json["changes"] = Json::array();
  for (const JobStory::Change& change : story.changes) {
    json["changes"].push_back({{"at_s", seconds(change.at)},
                               {"gpus", change.block.size},
                               {"where", block_text(context.pools, story.pool, change.block)},
                               {"reason", reason_json(change.reason)}});
  }
  json["started_s"] = seconds(story.started());
  json["finished_s"] = story.is_finished() ? seconds(*story.ended) : Json(nullptr);
  if (story.ended && !story.is_finished()) {
    const bool has_failed = story.end_reason.code == ReasonCode::failed;
    json[has_failed ? "failed_s" : "cancelled_s"] = seconds(*story.ended);
  }
  if (story.is_finished() && story.has_deadline())
    json["slack_s"] = to_seconds(story.spec->deadline - *story.ended);
  if (story.warned) {
    json["warned_s"] = seconds(*story.warned);
    json["expected_late_s"] = seconds(story.expected_late);
  }
  json["told_until_s"] = seconds(story.told_until);
  if (context.forecast && !story.ended) {
    json["forecast"] = {{"start_s", seconds(context.forecast->start)},
                        {"finish_s", seconds(context.forecast->finish)}};
  }
  return formats::json_text({{"explain", std::move(json)}});
}

}  // namespace weir::report
