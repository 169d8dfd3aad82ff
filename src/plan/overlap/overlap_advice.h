// SPDX-License-Identifier: Apache-2.0
//
// What to set for a step: one number of CTAs for all collectives, unless one for each is clearly better. Every gain
// is against the default with the same groups sent together.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/overlap/overlap_search.h"

namespace weir::plan {

// A choice for each collective is worth a tuner plugin when it saves this much more than one for all.
inline constexpr double kWorthATuner = 0.02;

// A collective of min_bytes to max_bytes gets so many CTAs: a tuner sees the size, not which group it is. What is
// smaller than all of the step's, and than kLeastRuleBytes, has no rule: few CTAs serve it, and its algorithm is the library's choice.
inline constexpr std::int64_t kLeastRuleBytes = std::int64_t{256} << 10;
struct TunerRule {
  std::int64_t min_bytes = 0;
  std::int64_t max_bytes = 0;
  int ctas = 0;

  friend bool operator==(const TunerRule&, const TunerRule&) = default;
};

struct OverlapAdvice {
  std::vector<predict::SentGroups> groups;  // what is sent together; choices as of `each`
  std::size_t default_choice = 0;
  std::vector<double> uniform_ms;  // by choice
  std::size_t best_uniform = 0;    // fewest CTAs among those too near to tell
  OverlapPlan each;                // a choice for each collective
  std::vector<TunerRule> tuner;    // by size, from `each`; the advised number where that is faster
  double tuner_ms = 0;             // the step under those rules

  double before_ms() const { return uniform_ms[default_choice]; }
  double uniform_best_ms() const { return uniform_ms[best_uniform]; }
  bool is_tuner_worth_it() const { return tuner_ms < uniform_best_ms() * (1 - kWorthATuner); }
  double after_ms() const { return is_tuner_worth_it() ? tuner_ms : uniform_best_ms(); }
  // The part of the time that is saved, 0 where it is too little to tell.
  double gain() const;
  // One for all: the best one, or the default where that gains nothing.
  std::size_t uniform_choice() const;
  // What to run: the groups with the choices that are advised.
  std::vector<predict::SentGroups> advised(const predict::OverlapStep& step) const;
};

// Requires: default_choice is one of step.ctas(); at least one group.
OverlapAdvice advise_overlap(const predict::OverlapStep& step, std::size_t default_choice,
                             const OverlapSearchLimits& limits = {});

}  // namespace weir::plan
