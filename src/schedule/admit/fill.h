// SPDX-License-Identifier: Apache-2.0
//
// Progressive filling: the plan of one job that meets its deadline with as few GPUs as possible, on
// what others leave free (ElasticFlow's minimum satisfactory share, docs/models/promises.md).
//
// Levels are tried upwards. At level q the job has, at every moment, the largest size it may have
// that is at most q and at most what is free. When q suffices and the level below did not, only the
// end of the window needs q: the plan is the lower level first and q as late as possible. A change
// of size costs the job its price, inside the plan; a change that would not earn its price before
// it must be undone is not made.
//
// A job that must run in one piece has one size: its plan is the first gap that is long enough.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "domain/work.h"
#include "schedule/admit/capacity_profile.h"
#include "schedule/admit/size_table.h"

namespace weir::schedule {

// A job as the plan finds it.
struct JobToFill {
  const SizeTable* sizes = nullptr;
  Work left;
  Time deadline;
  int level = kPaused;        // its size now
  Time ready_at;              // when it makes progress again, if it is being rescaled now
  bool in_one_piece = false;  // from beginning to end at one size, as early as possible
};

struct SizeStep {
  Time from;
  int level = kPaused;
  friend bool operator==(const SizeStep&, const SizeStep&) = default;
};

struct SizePlan {
  std::vector<SizeStep> steps;  // as in Timeline
  Time end;
  int top_level = kPaused;
  int reserve = 0;  // how many prices of the top level are left over at the end

  Time end_of(std::size_t step) const {
    return step + 1 < steps.size() ? std::min(steps[step + 1].from, end) : end;
  }
};

struct FillRules {
  Time now;
  Duration slot{0};  // changes after `now` fall on multiples of it; 0: anywhere
  // How many prices of its top level a plan keeps in reserve for changes nobody foresees; tried in
  // this order.
  std::span<const int> reserves;
  bool starts_late = true;  // a job that needs only its least size begins as late as it may
  bool raises_late = true;  // the lower level first; false: the level that suffices from the start
};

std::optional<SizePlan> fill(const CapacityProfile& profile, const JobToFill& job,
                             const FillRules& rules);

// As many GPUs as are useful, as early as possible, whether or not the deadline is met.
SizePlan fill_greedily(const CapacityProfile& profile, const JobToFill& job,
                       const FillRules& rules);

// Takes the plan's GPUs from the profile, or gives them back.
void subtract(CapacityProfile& profile, const SizePlan& plan, const SizeTable& sizes);
void give_back(CapacityProfile& profile, const SizePlan& plan, const SizeTable& sizes);

}  // namespace weir::schedule
