// SPDX-License-Identifier: Apache-2.0
#include "simulate/allocation_history.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace weir::simulate {

std::uint32_t AllocationSpan::most_promised() const {
  std::uint32_t most = 0;
  for (const PromisedPart& part : promised) most = std::max(most, part.gpus);
  return most;
}

void AllocationRecorder::hear(const Record& record) {
  history_.end = record.at;
  std::visit([&](const auto& what) { note(record, what); }, record.what);
}

AllocationHistory AllocationRecorder::take() {
  for (Open& open : open_) close(open, history_.end);
  return std::move(history_);
}

void AllocationRecorder::note(const Record& record, const TrainingAccepted& accepted) {
  if (!std::exchange(has_begun_, true)) history_.begin = record.at;
  const auto id = static_cast<std::size_t>(accepted.job.value);
  if (history_.jobs.size() <= id) {
    history_.jobs.resize(id + 1);
    open_.resize(id + 1);
  }
  AllocatedJob& job = history_.jobs[id];
  job.spec = accepted.spec;
  job.pool = accepted.pool;
  job.came = record.at;
}

void AllocationRecorder::note(const Record& record, const PromiseMade& made) {
  AllocatedJob& job = history_.jobs[made.job.value];
  job.is_promised = true;
  job.answer = record.reason;
  take_plan(open_[made.job.value], record.at, made.timeline);
}

void AllocationRecorder::note(const Record& record, const PlannedProvisionally& planned) {
  history_.jobs[planned.job.value].answer = record.reason;
  take_plan(open_[planned.job.value], record.at, planned.timeline);
}

void AllocationRecorder::note(const Record& record, const TimelineRevised& revised) {
  take_plan(open_[revised.job.value], record.at, revised.timeline);
}

void AllocationRecorder::note(const Record& record, const PromiseRefused& refused) {
  AllocatedJob& job = history_.jobs[refused.job.value];
  job.is_refused = true;
  job.answer = record.reason;
  job.earliest = refused.earliest;
}

void AllocationRecorder::note(const Record& record, const JobUnpromised& unpromised) {
  history_.jobs[unpromised.job.value].answer = record.reason;
  take_plan(open_[unpromised.job.value], record.at, {});
}

void AllocationRecorder::note(const Record& record, const JobResized& resized) {
  Open& open = open_[resized.job.value];
  close(open, record.at);
  if (resized.block.is_none()) return;
  open.plan_since = record.at;
  open.span = history_.spans.size();
  history_.spans.push_back({resized.job, record.at, record.at, resized.block, record.reason, {}});
}

void AllocationRecorder::note(const Record& record, const JobReleased& released) {
  if (released.job.value >= open_.size()) return;  // not a training job
  close(open_[released.job.value], record.at);
  history_.jobs[released.job.value].ended = record.at;
}

void AllocationRecorder::take_plan(Open& open, Time at, Timeline timeline) {
  count_promised(open, at);
  open.timeline = std::move(timeline);
}

void AllocationRecorder::count_promised(Open& open, Time until) {
  const Time since = std::exchange(open.plan_since, until);
  if (!open.span) return;
  AllocationSpan& span = history_.spans[*open.span];
  for (Time from = since; from < until;) {
    const Time to = std::min(until, open.timeline.next_change(from));
    const std::uint32_t gpus = std::min(open.timeline.block_at(from).size, span.block.size);
    const bool goes_on = !span.promised.empty() && span.promised.back().to == from &&
                         span.promised.back().gpus == gpus;
    if (goes_on) {
      span.promised.back().to = to;
    } else if (gpus > 0) {
      span.promised.push_back({from, to, gpus});
    }
    from = to;
  }
}

void AllocationRecorder::close(Open& open, Time at) {
  count_promised(open, at);
  if (open.span) history_.spans[*open.span].to = at;
  open.span.reset();
}

}  // namespace weir::simulate
