// SPDX-License-Identifier: Apache-2.0
//
// From sizes over time to GPUs over time. A plan that only counts GPUs is not yet a promise: a free
// block of the right size may exist only after others have moved, and a move costs its job progress
// that the plan may not have to spare. Here every step of every plan gets its block, and a job is
// moved only at the expense of its own reserve.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "domain/timeline.h"
#include "domain/work.h"
#include "schedule/admit/fill.h"
#include "schedule/place/block_map.h"

namespace weir::schedule {

struct PlanToArrange {
  const SizeTable* sizes = nullptr;
  const SizePlan* plan = nullptr;
  GpuBlock block;  // what it has now
  Work spare;      // what the plan does beyond the job's need, to pay for moves
};

struct Arrangement {
  std::vector<Timeline> timelines;  // one for each plan, in order
  std::int64_t moves = 0;           // beyond the changes of size
};

// Plans that fit together by count, all at once; nothing when a job without reserve would have to
// move. `closed` has what no job may use.
std::optional<Arrangement> arrange_all(std::span<const PlanToArrange> plans, const BlockMap& closed,
                                       Time now);

struct OtherTimeline {
  const Timeline* timeline = nullptr;
  Time end;  // not later than its own
};

// Timelines that stay as they are, and room for more beside them.
class FixedTimelines {
 public:
  explicit FixedTimelines(const BlockMap& closed) : closed_{&closed} {}

  // Until `end`, which is not later than its own. Returns its number, from 0.
  std::size_t add(const Timeline& timeline, Time end);
  // It ends then, if that is earlier than before; Time::min() takes it away.
  void cut_off(std::size_t number, Time end) { ends_[number] = std::min(ends_[number], end); }

  // A timeline for the plan that touches none of them. A job that begins with the size it has
  // begins where it is.
  std::optional<Timeline> arrange(const SizePlan& plan, const SizeTable& sizes,
                                  GpuBlock present) const;

 private:
  struct Use {
    Time from;
    Time to;
    GpuBlock block;
    std::uint32_t number = 0;  // of the timeline
  };
  const BlockMap* closed_;
  std::vector<Use> uses_;
  std::vector<Time> ends_;  // by number
};

// One more plan beside timelines that stay as they are.
std::optional<Timeline> arrange_one(const SizePlan& plan, const SizeTable& sizes, GpuBlock present,
                                    std::span<const OtherTimeline> others, const BlockMap& closed);

}  // namespace weir::schedule
