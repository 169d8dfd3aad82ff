// SPDX-License-Identifier: Apache-2.0
//
// Which job had which GPUs when, and how many of them its promise needed: the records of a run,
// gathered for charts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "domain/record.h"
#include "domain/time.h"
#include "domain/timeline.h"
#include "domain/training.h"

namespace weir::simulate {

// One job on one block, until either changes.
struct AllocationSpan {
  // How many of the GPUs the job's plan had for that time.
  struct PromisedPart {
    Time from;
    Time to;
    std::uint32_t gpus = 0;
  };

  JobId job;
  Time from;
  Time to;
  GpuBlock block;
  Reason reason;
  std::vector<PromisedPart> promised;  // without gaps; parts of 0 GPUs are left out

  // The most GPUs promised at any time.
  std::uint32_t most_promised() const;
};

struct AllocatedJob {
  std::shared_ptr<const TrainingSpec> spec;  // null for a number that no training job has
  PoolIndex pool;
  Time came;
  bool is_promised = false;
  bool is_refused = false;
  std::optional<Time> earliest;  // the counter-offer
  Reason answer;
  std::optional<Time> ended;
};

struct AllocationHistory {
  Time begin;
  Time end;
  std::vector<AllocatedJob> jobs;     // by JobId::value
  std::vector<AllocationSpan> spans;  // in the order in which they began
};

class AllocationRecorder {
 public:
  void hear(const Record& record);
  // What was heard; spans still open end with the last record.
  AllocationHistory take();

 private:
  struct Open {
    Timeline timeline;
    Time plan_since;                  // when the timeline came into force
    std::optional<std::size_t> span;  // in spans
  };
  template <class Other>
  void note(const Record&, const Other&) {}
  void note(const Record& record, const TrainingAccepted& accepted);
  void note(const Record& record, const PromiseMade& made);
  void note(const Record& record, const PlannedProvisionally& planned);
  void note(const Record& record, const TimelineRevised& revised);
  void note(const Record& record, const PromiseRefused& refused);
  void note(const Record& record, const JobUnpromised& unpromised);
  void note(const Record& record, const JobResized& resized);
  void note(const Record& record, const JobReleased& released);
  // From then on that plan is in force.
  void take_plan(Open& open, Time at, Timeline timeline);
  // Adds what the plan in force had for the span since it was looked at last.
  void count_promised(Open& open, Time until);
  void close(Open& open, Time at);

  AllocationHistory history_;
  std::vector<Open> open_;  // by JobId::value
  bool has_begun_ = false;
};

}  // namespace weir::simulate
