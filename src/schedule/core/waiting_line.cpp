// SPDX-License-Identifier: Apache-2.0
#include "schedule/core/waiting_line.h"

#include <algorithm>
#include <cassert>

namespace weir::schedule {

WaitingLine::Lane& WaitingLine::lane_for(ShapeIndex shape, std::int32_t replicas) {
  for (Lane& lane : lanes_) {
    if (lane.shape == shape && lane.replicas == replicas) return lane;
  }
  lanes_.push_back(Lane{shape, replicas, {}});
  return lanes_.back();
}

void WaitingLine::join(JobId job, ShapeIndex shape, std::int32_t replicas) {
  std::deque<JobId>& jobs = lane_for(shape, replicas).jobs;
  jobs.insert(std::upper_bound(jobs.begin(), jobs.end(), job), job);
  ++size_;
}

void WaitingLine::leave(JobId job, ShapeIndex shape, std::int32_t replicas) {
  std::deque<JobId>& jobs = lane_for(shape, replicas).jobs;
  const auto at = std::lower_bound(jobs.begin(), jobs.end(), job);
  assert(at != jobs.end() && *at == job && "only a waiting job can leave the line");
  jobs.erase(at);
  --size_;
}

std::optional<JobId> WaitingLine::head() const {
  std::optional<JobId> first;
  for (const Lane& lane : lanes_) {
    if (!lane.jobs.empty() && (!first || lane.jobs.front() < *first)) first = lane.jobs.front();
  }
  return first;
}

}  // namespace weir::schedule
