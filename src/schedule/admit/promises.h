// SPDX-License-Identifier: Apache-2.0
//
// Keeping promises. Every promised job has a timeline, and all timelines of a pool fit together:
// followed from now on, each job finishes by its deadline, and no GPU is used twice. A newcomer is
// promised only with a timeline beside all others; when there is no such, jobs are planned anew from
// what they have left to do, and only if that succeeds for all is it kept.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "schedule/admit/arrange.h"
#include "schedule/admit/capacity_profile.h"
#include "schedule/admit/fill.h"
#include "schedule/core/training_state.h"
#include "schedule/policies/training_policy.h"
#include "schedule/share/promised_use.h"

namespace weir::schedule {

// The work the timeline does until then, if it is followed from now on.
Work planned_work(const TrainingJob& job, Time now, Time until);

// The work the timeline does beyond what the job needs, if it is followed from now on and by the
// deadline. Negative: the promise would be broken.
Work surplus(const TrainingJob& job, Time now);

// What the job loses if it leaves its timeline for other GPUs, is there at that time, and is sent back
// at the worst moment, before it has done anything there: what the timeline would have done
// meanwhile, and the way back. The promise survives it if the surplus is as much.
Work lost_by_leaving(const TrainingJob& job, Time now, Time there);

// How long the job could be idle and still meet its deadline at its best.
Duration laxity(const TrainingJob& job, Time now, Time deadline);

// How many prices of its top level a plan keeps in reserve; the most first.
inline constexpr std::array kReserves{4, 1, 0};

// How often a job that found no room is planned first instead.
inline constexpr int kRepairs = 8;

JobToFill to_fill(const TrainingJob& job, Time now, Time deadline);

// How weir's plans are filled, from now on.
FillRules fill_rules(const PoolView& view, std::span<const int> reserves = kReserves);

// Adds the GPUs of the timeline until `end`, as changes to a profile.
void give_back(std::vector<CapacityProfile::Change>& changes, const Timeline& timeline, Time end);

// The work a plan does beyond the job's need.
Work reserve_of(const SizePlan& plan, const SizeTable& sizes);

// The same, to pay for moves; less than nothing when it must not be moved at any price.
Work spare_for_moves(const SizePlan& plan, const TrainingJob& job);
inline constexpr Work kNotToBeMoved{-1};

class Promises {
 public:
  // Requires: `newcomer` has sizes and a deadline. The job `left_out` is treated as if it were not
  // there; the newcomer itself, if it is part of the state.
  Promises(const PoolView& view, const TrainingJob& newcomer,
           std::optional<JobId> left_out = std::nullopt, QuotaRule quotas = QuotaRule::guarantees);

  // The promise of the newcomer for that deadline, if one can be made.
  std::optional<Promise> promise_by(Time deadline);
  // Why the last one could not be made.
  Reason obstacle() const { return obstacle_; }

  // The earliest deadline after `after` that was found to be possible, of those that are welcome.
  std::optional<Time> earliest_deadline(Time after, const std::function<bool(Time)>& is_welcome);

 private:
  // A promised job, and where its timeline ends once it has given back what it does not need.
  struct Kept {
    JobId id;
    const TrainingJob* job;
    Time end;
  };

  std::optional<Promise> insert(Time deadline);
  std::optional<Promise> replan_all(Time deadline, std::span<const int> reserves);
  std::optional<Promise> replan_some(Time deadline);
  // A job to be planned, and whose it is.
  struct ToPlan {
    JobToFill job;
    std::uint32_t tenant = 0;
  };
  std::optional<std::vector<SizePlan>> plan_in_order(const std::vector<ToPlan>& jobs,
                                                     const CapacityProfile& others,
                                                     const PromisedUse& used,
                                                     std::span<const int> reserves, int repairs);
  std::optional<Promise> arranged(Time deadline, const std::vector<std::size_t>& replanned,
                                  const std::vector<SizePlan>& plans);
  std::optional<Promise> arranged_beside(
      Time deadline, const std::vector<std::pair<Duration, std::size_t>>& replanned,
      const std::vector<SizePlan>& plans);
  void trim();
  // What is free for the newcomer, within its quota.
  const CapacityProfile& room();
  void find_obstacle(Time deadline);
  FixedTimelines& timelines();

  const PoolView& view_;
  const TrainingJob& newcomer_;
  std::vector<Kept> promised_;
  QuotaRule quotas_;
  CapacityProfile profile_;
  std::optional<CapacityProfile> room_;      // once it was asked for
  std::optional<FixedTimelines> timelines_;  // of promised_, in order, once they were asked for
  bool is_trimmed_ = false;  // jobs that are ahead have given back what they do not need
  Reason obstacle_{ReasonCode::no_room, 0};
};

}  // namespace weir::schedule
