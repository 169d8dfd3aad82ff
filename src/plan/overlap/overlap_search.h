// SPDX-License-Identifier: Apache-2.0
//
// How many CTAs each collective of a step should use, and which groups of gradients should be sent together, so
// that the step ends soonest (predict/overlap/overlap_step.h says when it ends).
//
// A dynamic programme over the groups. What matters after some groups were sent is only the time and the work done
// by then; of two such moments one can be forgotten if the other is no later and has no less work done. What is left
// is a front. Without a limit on its size the answer is exact; with one, fronts are thinned, which tests bound at
// 0.5 % of the step. Where the place of a collective depends on when it starts (overlap_timeline.h), being ahead can be
// worse: the answer is then a good one, never worse than any one choice for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "predict/overlap/overlap_step.h"

namespace weir::plan {

struct OverlapSearchLimits {
  std::size_t front = 256;  // points kept after each group; 0: all, then the answer is exact
  std::size_t window = 1;   // groups that may be sent together
  std::int64_t bytes = std::int64_t{64} << 20;  // that more than one group may have together
  std::vector<std::size_t> choices{};           // to look at, indices into step.ctas(); empty: all
};

struct OverlapPlan {
  std::vector<predict::SentGroups> sent;
  double step_ms = 0;
  std::uint64_t transitions = 0;  // looked at
};

// Equal ends: less sending, then fewer CTAs.
OverlapPlan search_overlap(const predict::OverlapStep& step,
                           const OverlapSearchLimits& limits = {});

// One number of CTAs for every collective, with the groups of `sent`: the step for each choice.
std::vector<double> uniform_step_ms(const predict::OverlapStep& step,
                                    const std::vector<predict::SentGroups>& sent);

// A prediction does not tell settings apart that are nearer than this.
inline constexpr double kTooNearToTell = 0.005;

// The first choice, fewest CTAs, within kTooNearToTell of the best. Requires: not empty.
std::size_t fewest_near_best(const std::vector<double>& step_ms);

}  // namespace weir::plan
