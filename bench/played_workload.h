// SPDX-License-Identifier: Apache-2.0
//
// Jobs for the played engine, as many people with different habits submit them: rigid and elastic training, other
// programs, with and without deadlines, some that cannot be promised. The same seed gives the same jobs.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "control/controller.h"
#include "domain/curve.h"
#include "domain/seeded_rng.h"

namespace weir::bench {

// The models' curves by name, and as the controller wants to know them.
std::map<std::string, Curve> played_models();
CurveBook played_curves();

struct WorkloadShape {
  double mean_gpus = 1;      // of a job
  double mean_seconds = 60;  // that it runs
  std::int32_t most_gpus = 64;
};

class PlayedWorkload {
 public:
  explicit PlayedWorkload(std::uint64_t seed) : rng_{SeededRng{seed}.fork("played workload")} {}

  // The next job. `part` of its work is left: less than 1 for jobs that are to look as if begun long ago.
  control::Submission next(const WorkloadShape& shape, double part = 1);
  // A job whose deadline nobody can promise.
  control::Submission hopeless(const WorkloadShape& shape);

 private:
  std::string name_for(const std::string& what);
  std::int32_t size_for(const WorkloadShape& shape);
  void make_training(formats::JobDocument& job, double seconds);
  void make_program(formats::JobDocument& job, double seconds);
  void set_deadline(formats::JobDocument& job, double seconds);

  SeededRng rng_;
  std::uint64_t made_ = 0;
};

}  // namespace weir::bench
