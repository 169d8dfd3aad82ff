// SPDX-License-Identifier: Apache-2.0
//
// Measuring a job before it is promised anything. It is run for a short while on 1, 2, 4, ... GPUs that
// nobody was promised, each time as a job of its own, until more GPUs do not help. What was measured is
// the curve that the job which waits is answered with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "domain/curve.h"
#include "domain/training.h"
#include "formats/job_document.h"

namespace weir::control {

// A run that told nothing that can be believed for so long is given up.
inline constexpr Duration kLongestProfileRun = std::chrono::minutes{10};

// One pass through the sizes.
class ProfilingPass {
 public:
  // More GPUs help when they are that much faster.
  static constexpr std::int64_t kLeastGainPercent = 5;

  // Requires: sizes from `first` to `last` are powers of two.
  ProfilingPass(std::int32_t first, std::int32_t last) : size_{first}, last_{last} {}

  // What is to be run now. Requires: !is_over().
  std::int32_t size() const { return size_; }
  bool is_over() const { return is_over_; }

  // The run at the size at hand makes that much, or there is no telling why it makes nothing.
  void measured(IterationRate rate);
  void failed() { is_over_ = true; }

  const std::vector<CurvePoint>& points() const { return points_; }

 private:
  std::int32_t size_;
  std::int32_t last_;
  bool is_over_ = false;
  std::vector<CurvePoint> points_;
};

// Which sizes to try, where the largest block has so many GPUs.
ProfilingPass pass_for(const formats::JobDocument& document, std::int32_t largest);

// The job that measures `document` on so many GPUs. Its own environment says so: WEIR_PROFILING=1.
formats::JobDocument profile_run(const formats::JobDocument& document, std::int32_t gpus);

// Whether the job says how far it is: no other can be measured.
bool tells_progress(const LaunchSpec& launch);

// Jobs of which nobody knows how fast they are have names for what they train that no model can have,
// so that nobody is promised anything on their account: they have a space.
CurveKey profile_of(const CurveKey& key);
bool is_profile(const CurveKey& key);
CurveKey not_measured_yet(const CurveKey& key);
bool is_not_measured_yet(const CurveKey& key);

// Something for the scheduler to go by: an iteration per second at any size.
Curve any_rate();

}  // namespace weir::control
