// SPDX-License-Identifier: Apache-2.0
//
// When jobs come and end, as the public simulator keeps it: a list of moments, each with the jobs
// that come and those that end. What is nearer than one slot is put off to the end of the slot, so
// that everything in one slot is decided as one.
#pragma once

#include <cstddef>
#include <vector>

#include "simulate/published/published_job.h"

namespace weir::simulate::published {

using JobIndex = std::size_t;

struct Moment {
  Seconds time = 0;
  std::vector<JobIndex> come;
  std::vector<JobIndex> end;
};

class EventList {
 public:
  // Every job comes when it was submitted. Requires: jobs in the order of submission.
  explicit EventList(const std::vector<PublishedJob>& jobs);

  bool empty() const { return moments_.empty(); }
  Moment& first() { return moments_.front(); }
  // Nothing when no moment has that time.
  Moment* at(Seconds time);

  Moment take_first();
  Moment take(Seconds time);

  void add(Seconds time);
  void add_end(JobIndex job, Seconds time);
  void move_end(JobIndex job, Seconds from, Seconds to);

  // Puts off what is within a slot from now. The next moment is then the first.
  void coalesce(Seconds now, Seconds slot);

  std::size_t size() const { return moments_.size(); }
  void sort();

 private:
  std::vector<Moment> moments_;
};

}  // namespace weir::simulate::published
