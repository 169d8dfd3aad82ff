// SPDX-License-Identifier: Apache-2.0
//
// How long something lasts, learnt from what has ended and from what has not yet (Kaplan and Meier, 1958):
//
//   S(t) = product over ends at t_i <= t of (1 - ends at t_i / still there just before t_i)
//
// What has not ended yet counts as "still there" up to its age, so that long ones are not forgotten because they have
// not ended. Beyond the largest end, where nothing is known, the age itself is the guide: a Pareto tail, in which what
// has lasted t lasts as long again with probability 2^-kTailShape.
#pragma once

#include <vector>

#include "domain/seeded_rng.h"

namespace weir::observe {

class Survival {
 public:
  static constexpr double kTailShape = 1.5;

  Survival() = default;
  // Seconds or any other positive amounts.
  Survival(std::vector<double> ended, std::vector<double> not_ended);

  bool empty() const { return ends_.empty(); }
  // Probability to last longer than t.
  double beyond(double t) const;
  // The age at which a fraction `left` is left; 0 < left <= 1.
  double age_with(double left) const;
  // A draw of the whole, given that it lasts longer than `age`.
  double draw(SeededRng& rng, double age = 0) const;
  double mean() const { return mean_; }  // of those that ended

 private:
  std::vector<double> ends_;      // ascending, distinct
  std::vector<double> survival_;  // S just after each
  double mean_ = 0;
};

}  // namespace weir::observe
