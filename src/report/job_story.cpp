// SPDX-License-Identifier: Apache-2.0
#include "report/job_story.h"

#include <algorithm>
#include <charconv>
#include <variant>

namespace weir::report {
namespace {

std::optional<std::uint64_t> number_in(const std::string& text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

std::string origin_name(CurveOrigin origin) {
  if (origin == CurveOrigin::planned) return "planned";
  return origin == CurveOrigin::measured ? "measured" : "assumed";
}

}  // namespace

std::optional<Time> JobStory::started() const {
  const auto first = std::find_if(changes.begin(), changes.end(),
                                  [](const Change& change) { return !change.block.is_none(); });
  return first == changes.end() ? std::nullopt : std::optional{first->at};
}

JobStoryCollector::JobStoryCollector(std::string wanted, Duration slot)
    : wanted_{std::move(wanted)}, wanted_number_{number_in(wanted_)}, slot_{slot} {}

void JobStoryCollector::hear(const Record& record) {
  now_ = record.at;
  std::visit([&](const auto& what) { note(record, what); }, record.what);
}

std::optional<JobStory> JobStoryCollector::story() const {
  const auto& found = by_name_ ? by_name_ : by_number_;
  if (!found) return std::nullopt;
  JobStory story = found->story;
  story.told_until = now_;
  return story;
}

JobStoryCollector::Candidate* JobStoryCollector::find(JobId job) {
  if (by_name_ && by_name_->story.id == job) return &*by_name_;
  if (by_number_ && by_number_->story.id == job) return &*by_number_;
  return nullptr;
}

void JobStoryCollector::note(const Record& record, const TrainingAccepted& accepted) {
  names_.emplace(accepted.job, accepted.spec->name);
  const bool has_name = accepted.spec->name == wanted_;
  const bool has_number = wanted_number_ && *wanted_number_ == accepted.job.value;
  if (!has_name && !has_number) return;
  Candidate candidate;
  candidate.story.id = accepted.job;
  candidate.story.pool = accepted.pool;
  candidate.story.spec = accepted.spec;
  candidate.story.came = record.at;
  candidate.story.waits_for_curve = record.reason.code == ReasonCode::waits_for_a_curve;
  (has_name ? by_name_ : by_number_) = std::move(candidate);
}

// Curves of a table are the same for all jobs and say nothing about this one.
void JobStoryCollector::note_throughput(JobStory& story) const {
  const auto curve = curves_.find({story.pool, story.spec->curve});
  if (story.throughput || story.spec->in_one_piece || curve == curves_.end()) return;
  const CurveOrigin origin = curve->second->origin();
  if (origin == CurveOrigin::profiled) return;
  const auto rates = curve->second->measured();
  story.throughput = JobStory::Throughput{origin_name(origin), {rates.begin(), rates.end()}, {}};
}

void JobStoryCollector::answer(JobStory& story, JobStory::Answer answer,
                               const Record& record) const {
  note_throughput(story);
  story.answer = answer;
  story.answer_reason = record.reason;
  story.answered = record.at;
  story.waits_for_curve = false;
}

void JobStoryCollector::note(const Record& record, const PromiseMade& made) {
  Candidate* candidate = find(made.job);
  if (candidate == nullptr) return;
  JobStory& story = candidate->story;
  answer(story, JobStory::Answer::promised, record);
  if (story.plans.empty() || story.plans.back().timeline != made.timeline)
    story.plans.push_back({record.at, made.timeline, record.reason});
}

void JobStoryCollector::note(const Record& record, const PlannedProvisionally& planned) {
  Candidate* candidate = find(planned.job);
  if (candidate == nullptr) return;
  answer(candidate->story, JobStory::Answer::planned, record);
  candidate->story.plans.push_back({record.at, planned.timeline, record.reason});
}

void JobStoryCollector::note(const Record& record, const TimelineRevised& revised) {
  if (record.reason.code == ReasonCode::makes_room) {
    if (Candidate* guest = find(JobId{record.reason.detail}))
      guest->story.made_room.push_back(names_[revised.job]);
  }
  if (Candidate* candidate = find(revised.job))
    candidate->story.plans.push_back({record.at, revised.timeline, record.reason});
}

void JobStoryCollector::note(const Record& record, const PromiseRefused& refused) {
  Candidate* candidate = find(refused.job);
  if (candidate == nullptr) return;
  answer(candidate->story, JobStory::Answer::refused, record);
  candidate->story.earliest = refused.earliest;
}

void JobStoryCollector::note(const Record& record, const JobUnpromised& unpromised) {
  Candidate* candidate = find(unpromised.job);
  if (candidate == nullptr) return;
  answer(candidate->story, JobStory::Answer::unpromised, record);
  candidate->story.expected_start = unpromised.expected_start;
  candidate->story.expected_finish = unpromised.expected_finish;
}

void JobStoryCollector::note(const Record& record, const JobResized& resized) {
  Candidate* candidate = find(resized.job);
  if (candidate == nullptr) return;
  candidate->story.changes.push_back({record.at, resized.block, record.reason});
  candidate->observed.reset();
}

void JobStoryCollector::note(const Record& record, const JobObserved& observed) {
  Candidate* candidate = find(observed.job);
  if (candidate == nullptr) return;
  candidate->left = observed.left;
  candidate->speed_permille = observed.speed_permille;
  candidate->observed = std::max(record.at, observed.ready_at);
}

void JobStoryCollector::note(const Record& record, const PromiseAtRisk& at_risk) {
  Candidate* candidate = find(at_risk.job);
  if (candidate == nullptr) return;
  candidate->story.warned = record.at;
  if (at_risk.expected_finish != Time::max())
    candidate->story.expected_late = at_risk.expected_finish;
}

void JobStoryCollector::note(const Record& record, const JobReleased& released) {
  Candidate* candidate = find(released.job);
  if (candidate == nullptr) return;
  candidate->story.end_reason = record.reason;
  candidate->story.ended =
      JobStory::is_given_up(record.reason) ? record.at : end_of(*candidate, record.at);
}

void JobStoryCollector::note(const Record&, const CurveAdopted& adopted) {
  curves_[{adopted.pool, adopted.key}] = adopted.curve;
}

// The last moment known to make progress, the work left then and the job's speed say when it was
// done. Taken only when it agrees with what the scheduler heard.
Time JobStoryCollector::end_of(const Candidate& candidate, Time heard) const {
  const auto curve = curves_.find({candidate.story.pool, candidate.story.spec->curve});
  if (slot_ == Duration{0} || !candidate.observed || curve == curves_.end()) return heard;
  const IterationRate rate =
      curve->second->rate_at(static_cast<std::int32_t>(candidate.story.block().size));
  const IterationRate real{rate.value * candidate.speed_permille / 1000};
  if (real.value <= 0) return heard;
  const Time end = *candidate.observed + time_for(candidate.left, real);
  return end <= heard && heard - end < slot_ ? end : heard;
}

}  // namespace weir::report
