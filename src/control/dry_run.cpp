// SPDX-License-Identifier: Apache-2.0
#include "control/dry_run.h"

namespace weir::control {
namespace {

std::vector<Record> ask(schedule::State state, const schedule::CoreConfig& config, Time now,
                        const TrainingSpec& spec, const std::vector<CurveUpdated>& curves) {
  schedule::Core core{config, std::move(state)};
  for (const CurveUpdated& curve : curves) core.handle(Event{now, curve});
  return core.handle(Event{now, TrainingSubmitted{spec}});
}

void note_plan(DryRunAnswer& answer, const Timeline& timeline) {
  for (const TimelineStep& step : timeline.steps) {
    if (step.block.is_none()) continue;
    answer.expected_start = step.from;
    break;
  }
  answer.expected_finish = timeline.end;
}

void read_answer(DryRunAnswer& answer, const std::vector<Record>& records) {
  for (const Record& record : records) {
    if (std::holds_alternative<TrainingAccepted>(record.what)) {
      answer.reason = record.reason;
    } else if (std::holds_alternative<TimelineRevised>(record.what)) {
      ++answer.replanned;
    } else if (const auto* promise = std::get_if<PromiseMade>(&record.what)) {
      answer.kind = DryRunAnswer::Kind::promised;
      answer.reason = record.reason;
      note_plan(answer, promise->timeline);
    } else if (const auto* planned = std::get_if<PlannedProvisionally>(&record.what)) {
      answer.kind = DryRunAnswer::Kind::queued;
      answer.reason = record.reason;
      note_plan(answer, planned->timeline);
    } else if (const auto* refused = std::get_if<PromiseRefused>(&record.what)) {
      answer.kind = DryRunAnswer::Kind::refused;
      answer.reason = record.reason;
      answer.earliest_deadline = refused->earliest;
    } else if (const auto* queued = std::get_if<JobUnpromised>(&record.what)) {
      if (record.reason.code == ReasonCode::gives_way) continue;  // another job
      answer.kind = DryRunAnswer::Kind::queued;
      answer.reason = record.reason;
      answer.expected_start = queued->expected_start;
      answer.expected_finish = queued->expected_finish;
    }
  }
}

}  // namespace

DryRunAnswer dry_run(schedule::State state, const schedule::CoreConfig& config, Time now,
                     const TrainingSpec& spec, const std::vector<CurveUpdated>& curves) {
  DryRunAnswer answer;
  if (spec.deadline_kind != DeadlineKind::none) answer.deadline = spec.deadline;
  read_answer(answer, ask(state.fork(), config, now, spec, curves));
  if (answer.kind == DryRunAnswer::Kind::waiting || answer.earliest_deadline) return answer;
  // A deadline nobody can meet is answered with the earliest one that can be.
  TrainingSpec hurried = spec;
  hurried.deadline_kind = DeadlineKind::hard;
  hurried.deadline = now + Duration{1};
  for (const Record& record : ask(std::move(state), config, now, hurried, curves)) {
    if (const auto* refused = std::get_if<PromiseRefused>(&record.what))
      answer.earliest_deadline = refused->earliest;
  }
  return answer;
}

}  // namespace weir::control
