// SPDX-License-Identifier: Apache-2.0
//
// The jobs that wait, earliest first. Jobs that ask for the same thing stand in one lane: where the
// first of them finds no room, none does, so a scheduler looks at lanes (hundreds) and not at jobs
// (many thousands).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "domain/ids.h"

namespace weir::schedule {

class WaitingLine {
 public:
  struct Lane {
    ShapeIndex shape;
    std::int32_t replicas = 1;
    std::deque<JobId> jobs;  // ascending; may be empty
    friend bool operator==(const Lane&, const Lane&) = default;
  };

  // A job that waited before and was interrupted takes its old place again: lines are ordered by
  // id.
  void join(JobId job, ShapeIndex shape, std::int32_t replicas);
  // Requires: the job waits, with these arguments.
  void leave(JobId job, ShapeIndex shape, std::int32_t replicas);

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  // The job that came first.
  std::optional<JobId> head() const;
  std::span<const Lane> lanes() const { return lanes_; }

  friend bool operator==(const WaitingLine&, const WaitingLine&) = default;

 private:
  Lane& lane_for(ShapeIndex shape, std::int32_t replicas);

  std::vector<Lane> lanes_;  // in order of first use
  std::size_t size_ = 0;
};

}  // namespace weir::schedule
