// SPDX-License-Identifier: Apache-2.0
//
// What every policy of the public simulator shares: the jobs, who came and went, and the tally.
#pragma once

#include <algorithm>
#include <vector>

#include "simulate/published/event_list.h"
#include "simulate/published/published_job.h"
#include "simulate/published/published_run.h"

namespace weir::simulate::published {

struct Step {
  Seconds now = 0;     // its end
  Seconds passed = 0;  // its length
  Seconds end = 0;     // the job does nothing after that
};

struct Bookkeeping {
  PublishedSetup setup;
  std::vector<PublishedJob> jobs;  // in the order of submission
  std::vector<std::size_t> rows;   // of each job, in the workload
  PublishedOutcome outcome;
  double total_jct = 0;

  OverheadRule overhead() const { return {setup.gpus()}; }

  // What a job of a policy that plans does in a step. If it is done before its plan says so, its end
  // is moved to now.
  void run(JobIndex job, const Step& step, EventList& events);

  // `tested` is what is compared with the deadline, `ended` what the completion time counts.
  void complete(JobIndex job, Seconds tested, Seconds ended) {
    outcome.met += tested <= jobs[job].deadline;
    ++outcome.completed;
    outcome.ended[rows[job]] = tested;
    total_jct += static_cast<double>(ended - jobs[job].submitted);
  }
  void refuse(JobIndex) { ++outcome.refused; }
};

inline void remove(std::vector<JobIndex>& from, JobIndex job) {
  std::erase(from, job);
}
inline bool contains(const std::vector<JobIndex>& list, JobIndex job) {
  return std::find(list.begin(), list.end(), job) != list.end();
}

// One for each policy.
void run_edf(Bookkeeping& book);
void run_elasticflow(Bookkeeping& book);
void run_tiresias(Bookkeeping& book);
void run_gandiva(Bookkeeping& book);
void run_themis(Bookkeeping& book);

}  // namespace weir::simulate::published
