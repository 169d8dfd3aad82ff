// SPDX-License-Identifier: Apache-2.0
#include "cli/live_story.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/client_api.h"
#include "formats/json_text.h"
#include "formats/log_codec.h"
#include "formats/record_log_header.h"
#include "schedule/policies/training_policies.h"

namespace weir::cli {
namespace {

using Json = nlohmann::ordered_json;

// The lines of a text; the last need not end with a newline.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_{text} {}

  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    return true;
  }
  std::uint64_t number() const { return number_; }

 private:
  std::string_view rest_;
  std::uint64_t number_ = 0;
};

// The server's records are no input of the user's: what is wrong with them is a failure.
tl::unexpected<Error> unreadable(const Error& error, std::uint64_t line) {
  Diagnostics details;
  for (Diagnostic mistake : error.details.list()) {
    mistake.file = "the server's records";
    mistake.line = line;
    details.add(std::move(mistake));
  }
  return tl::unexpected(Error{ErrorCode::failure, std::move(details)});
}

std::optional<report::JobStory::Throughput> throughput_of(const Json& job) {
  const auto curve = job.find("curve");
  if (curve == job.end() || !curve->is_object() || !curve->contains("rates")) return std::nullopt;
  report::JobStory::Throughput made{text_in(*curve, "origin"), {}, {}};
  if (const auto ran = curve->find("measured_on"); ran != curve->end() && ran->is_array()) {
    for (const Json& gpus : *ran) {
      if (gpus.is_number_integer()) made.measured_on.push_back(gpus.get<std::int32_t>());
    }
  }
  for (const auto& [gpus, rate] : curve->at("rates").items()) {
    if (!rate.is_number()) continue;
    made.rates.push_back({static_cast<std::int32_t>(std::strtol(gpus.c_str(), nullptr, 10)),
                          IterationRate{static_cast<std::int64_t>(rate.get<double>() * 1e6)}});
  }
  std::sort(made.rates.begin(), made.rates.end(),
            [](const CurvePoint& a, const CurvePoint& b) { return a.gpus < b.gpus; });
  return made;
}

// Nothing when it is not the view of a job.
std::optional<Json> read_view(std::string_view text) {
  Json view = Json::parse(text, nullptr, false);
  if (!view.is_object() || !view.contains("id") || !view["id"].is_number_unsigned())
    return std::nullopt;
  return view;
}

}  // namespace

Result<std::optional<LiveStory>> live_story(std::string_view view, std::string_view records,
                                            Time now) {
  const auto job = read_view(view);
  if (!job) {
    Diagnostics details;
    details.add({"the server's view of the job", 0, "id", "", "the number of a job"});
    return tl::unexpected(Error{ErrorCode::failure, std::move(details)});
  }
  Lines lines{records};
  std::string_view line;
  lines.next(line);
  const auto header = formats::read_header_line(line);
  if (!header) return unreadable(header.error(), 1);
  const std::string id = fmt::format("{}", job->at("id").get<std::uint64_t>());
  report::JobStoryCollector collector{id, header->slot};  // no name is only digits
  while (lines.next(line)) {
    const auto entry = formats::read_record_line(line);
    if (!entry) return unreadable(entry.error(), lines.number());
    collector.hear(entry->record);
  }
  auto story = collector.story();
  if (!story) return std::nullopt;
  if (!story->ended) story->told_until = now;
  if (auto planned_with = throughput_of(*job)) story->throughput = std::move(planned_with);
  const schedule::TrainingPolicy* policy = schedule::find_training_policy(header->policy);
  return LiveStory{std::move(*story),
                   {header->pools,
                    collector.names(),
                    header->policy,
                    policy == nullptr || policy->makes_promises(),
                    {}}};
}

Result<std::optional<std::string>> live_story_json(std::string_view view,
                                                   std::string_view records) {
  const auto now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  const auto told = live_story(view, records, now);
  if (!told) return tl::unexpected(told.error());
  if (!*told) return std::nullopt;
  const auto explained = report::story_json((*told)->story, (*told)->context);
  if (!explained) return tl::unexpected(explained.error());
  Json body = {{"text", report::story_text((*told)->story, (*told)->context)}};
  body.update(Json::parse(*explained));
  auto text = formats::json_text(body, formats::JsonLayout::compact);
  if (!text) return tl::unexpected(text.error());
  return std::move(*text);
}

}  // namespace weir::cli
