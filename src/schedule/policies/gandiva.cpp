// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/gandiva.h"

#include <algorithm>

#include "schedule/policies/rounds.h"

namespace weir::schedule {
namespace {

constexpr Duration kSlice = std::chrono::minutes{30};

// When a slice begins, those who have waited go before those whose turn is over. Who waits since
// this very moment goes last.
std::vector<JobId> in_turn(const PoolView& view, const Line& line, const Round& slice) {
  const auto changed_at = [&](JobId id) { return view.state.job(id).served.since; };
  const auto is_unchanged = [&](JobId id) { return !slice.has_changed(view.state.job(id)); };
  // By arrival between equals, as they are listed.
  std::vector<JobId> waiting = line.waiting;
  std::stable_sort(waiting.begin(), waiting.end(),
                   [&](JobId a, JobId b) { return changed_at(a) < changed_at(b); });
  std::vector<JobId> order = line.running;
  if (!slice.just_began) {
    order.insert(order.end(), waiting.begin(), waiting.end());
    return order;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](JobId a, JobId b) { return changed_at(a) > changed_at(b); });
  const auto have_waited = std::partition_point(waiting.begin(), waiting.end(), is_unchanged);
  order.insert(order.end(), have_waited, waiting.end());
  const auto turn_is_over = std::find_if(order.begin(), order.end(), is_unchanged);
  order.insert(turn_is_over, waiting.begin(), have_waited);
  return order;
}

}  // namespace

Allocation GandivaPolicy::allocate(const PoolView& view) const {
  const Line line = line_of(view);
  if (!line.somebody_waits()) return {keep_running(view, line)};
  const Round slice = round_of(view, kSlice);
  if (!slice.just_began && !line.somebody_waiting_fits())
    return {keep_running(view, line), slice.end};
  return {serve_in_order(view, in_turn(view, line, slice)), slice.end};
}

}  // namespace weir::schedule
