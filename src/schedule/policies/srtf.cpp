// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/srtf.h"

#include <algorithm>

namespace weir::schedule {
namespace {

std::vector<JobId> shortest_first(const PoolView& view) {
  struct Entry {
    Duration left;
    JobId job;
    auto operator<=>(const Entry&) const = default;
  };
  std::vector<Entry> entries;
  entries.reserve(view.pool.active.size());
  for (const JobId id : view.pool.active)
    entries.push_back({time_to_finish(view.state.job(id), view.now), id});
  std::sort(entries.begin(), entries.end());
  std::vector<JobId> order;
  order.reserve(entries.size());
  for (const Entry& entry : entries) order.push_back(entry.job);
  return order;
}

}  // namespace

// Only jobs that run get shorter, so the order changes in their favour until something happens.
Allocation SrtfPolicy::allocate(const PoolView& view) const {
  const Line line = line_of(view);
  if (!line.somebody_waits()) return {keep_running(view, line)};
  return {serve_in_order(view, shortest_first(view))};
}

}  // namespace weir::schedule
