// SPDX-License-Identifier: Apache-2.0
//
// What became of one training job, gathered from the scheduler's records: what was asked, what was
// answered and why, the plan, what really happened, the end. job_story_text.h tells it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "domain/record.h"
#include "domain/time.h"
#include "domain/timeline.h"
#include "domain/training.h"

namespace weir::report {

struct JobStory {
  enum class Answer : std::uint8_t { none, promised, planned, unpromised, refused };

  struct Plan {
    Time made;
    Timeline timeline;
    Reason reason;
  };
  struct Change {
    Time at;
    GpuBlock block;
    Reason reason;
  };

  // What it was planned with.
  struct Throughput {
    std::string origin;  // "measured", "assumed", "stated" by its own file, ...
    std::vector<CurvePoint> rates;
    std::vector<std::int32_t> measured_on{};  // the sizes that ran; empty: not known
  };

  JobId id;
  PoolIndex pool;
  std::shared_ptr<const TrainingSpec> spec;
  Time came;  // when the scheduler heard of it
  bool waits_for_curve = false;

  std::optional<Throughput> throughput;  // unless it is from a table

  Answer answer = Answer::none;
  Reason answer_reason;
  Time answered;
  std::optional<Time> expected_start;  // of a job without a promise, when it came
  std::optional<Time> expected_finish;
  std::optional<Time> earliest;        // of a refused job: a deadline that would be promised
  std::vector<std::string> made_room;  // the jobs that were planned anew for it, by name
  std::vector<Plan> plans;             // of a job with a plan; the first was made when it came
  std::vector<Change> changes;         // of its GPUs
  std::optional<Time> warned;          // when it was told that its promise cannot be kept
  std::optional<Time> expected_late;   // when it was expected then
  std::optional<Time> ended;
  Reason end_reason;
  Time told_until;  // the last moment that the records tell of

  bool is_finished() const { return ended && !is_given_up(end_reason); }
  // It ended before its work was done.
  static bool is_given_up(const Reason& reason) {
    return reason.code == ReasonCode::cancelled || reason.code == ReasonCode::failed;
  }
  bool has_deadline() const { return spec->deadline_kind != DeadlineKind::none; }
  GpuBlock block() const { return changes.empty() ? kNoGpus : changes.back().block; }
  std::optional<Time> started() const;
};

class JobStoryCollector {
 public:
  // `wanted` is the job's name or, when no job has that name, its number. With a slot the scheduler
  // hears of an end late; the collector then works out when it was.
  explicit JobStoryCollector(std::string wanted, Duration slot = Duration{0});

  void hear(const Record& record);

  // Nothing when there was no such job.
  std::optional<JobStory> story() const;
  // Of every job heard of, in the order of their numbers.
  const std::map<JobId, std::string>& names() const { return names_; }

 private:
  struct Candidate {
    JobStory story;
    Work left;  // at `observed`, from when on it makes progress
    std::int64_t speed_permille = 1000;
    std::optional<Time> observed;
  };
  Candidate* find(JobId job);
  void answer(JobStory& story, JobStory::Answer answer, const Record& record) const;
  void note_throughput(JobStory& story) const;

  template <class Other>
  void note(const Record&, const Other&) {}
  void note(const Record& record, const TrainingAccepted& accepted);
  void note(const Record& record, const PromiseMade& made);
  void note(const Record& record, const PlannedProvisionally& planned);
  void note(const Record& record, const TimelineRevised& revised);
  void note(const Record& record, const PromiseRefused& refused);
  void note(const Record& record, const JobUnpromised& unpromised);
  void note(const Record& record, const JobResized& resized);
  void note(const Record& record, const JobObserved& observed);
  void note(const Record& record, const PromiseAtRisk& at_risk);
  void note(const Record& record, const JobReleased& released);
  void note(const Record& record, const CurveAdopted& adopted);
  Time end_of(const Candidate& candidate, Time heard) const;

  std::string wanted_;
  std::optional<std::uint64_t> wanted_number_;
  Duration slot_;
  std::optional<Candidate> by_name_;
  std::optional<Candidate> by_number_;
  std::map<JobId, std::string> names_;
  std::map<std::pair<PoolIndex, CurveKey>, std::shared_ptr<const Curve>> curves_;
  Time now_;
};

}  // namespace weir::report
