// SPDX-License-Identifier: Apache-2.0
//
// A training job as its user describes it: what to train, for how many iterations, and by when. Not
// how many GPUs: an elastic job gets what its deadline needs. A rigid one runs on exactly the GPUs
// it asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "domain/curve.h"
#include "domain/time.h"

namespace weir {

enum class DeadlineKind : std::uint8_t {
  none,  // best effort
  soft,  // promised where possible; else run late rather than not at all
  hard,  // promised or refused
};

struct TrainingSpec {
  std::string name;
  CurveKey curve;  // model and global batch
  std::int64_t iterations = 0;
  DeadlineKind deadline_kind = DeadlineKind::none;
  Time deadline;                // when deadline_kind is not none
  std::int32_t asked_gpus = 1;  // what a rigid job gets, and what policies without elasticity give
  bool is_rigid = false;
  // Stopped, it loses all it has done: once promised it runs from beginning to end on the same GPUs.
  // Requires: is_rigid.
  bool in_one_piece = false;
  // It is planned to be done so much before its deadline, because no real run is quite as fast as it
  // was foretold to be. Requires: less than the time until the deadline.
  Duration margin{0};
  std::string tenant;         // empty: the default one
  std::int32_t priority = 0;  // a larger one goes first, and may take GPUs that were only lent

  friend bool operator==(const TrainingSpec&, const TrainingSpec&) = default;
};

// A job of a trace.
struct TrainingArrival {
  Time submitted;
  TrainingSpec spec;
  Duration stated_duration{0};  // on the GPUs asked for, where the trace says so; else 0
  friend bool operator==(const TrainingArrival&, const TrainingArrival&) = default;
};

struct TrainingWorkload {
  std::string name;                   // for reports: "cluster03"
  std::vector<TrainingArrival> jobs;  // in the file's order
};

}  // namespace weir
