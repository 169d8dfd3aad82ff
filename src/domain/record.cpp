// SPDX-License-Identifier: Apache-2.0
#include "domain/record.h"

#include <fmt/format.h>

namespace weir {

std::string to_string(const Reason& reason) {
  switch (reason.code) {
    case ReasonCode::best_score:
      return fmt::format("score {} is the highest; ties go to the first node in the fixed order",
                         reason.detail);
    case ReasonCode::no_node_fits:
      return "no node has room now";
    case ReasonCode::never_fits:
      return "no node could hold it even if the cluster were empty";
    case ReasonCode::malformed:
      return "the request breaks the rules of a shape or has no replica";
    case ReasonCode::waits_for_earlier:
      return fmt::format("waits behind job {}, which came earlier", reason.detail);
    case ReasonCode::node_lost:
      return fmt::format("node {} was lost", reason.detail);
    case ReasonCode::as_reported:
      return "as reported";
    case ReasonCode::unknown_job:
      return fmt::format("there is no job {}", reason.detail);
    case ReasonCode::not_running:
      return fmt::format("job {} is not running", reason.detail);
    case ReasonCode::unknown_node:
      return fmt::format("there is no node {}", reason.detail);
    case ReasonCode::already_so:
      return "it is so already";
    case ReasonCode::workload_drifted:
      return fmt::format("the mix of tasks has drifted; {} submissions observed", reason.detail);
    case ReasonCode::fits_beside_promises:
      return "there is room for it beside all promises";
    case ReasonCode::fits_after_replan:
      return fmt::format("there is room for it once {} other jobs are planned anew", reason.detail);
    case ReasonCode::makes_room:
      return fmt::format("planned anew to make room for job {}", reason.detail);
    case ReasonCode::ahead_of_plan:
      return "it is ahead of its plan and needs less";
    case ReasonCode::too_slow_alone:
      return "it could not be done by then even with the pool to itself";
    case ReasonCode::no_room:
      return "it cannot be done by then beside the promises already made";
    case ReasonCode::no_block:
      return "the GPUs would be there, but only by moving a job that cannot afford a move";
    case ReasonCode::spares_cheaper_jobs:
      return fmt::format("it would take the room of cheaper jobs; {} of them were refused lately",
                         reason.detail);
    case ReasonCode::no_promise_asked:
      return "it runs when there are GPUs for it; no deadline is promised";
    case ReasonCode::waits_for_a_curve:
      return "nobody knows yet how fast it runs; it waits for a measurement";
    case ReasonCode::as_promised:
      return "its promise needs these GPUs";
    case ReasonCode::left_over:
      return "nobody was promised these GPUs, and they save most here";
    case ReasonCode::reclaimed:
      return "others need its GPUs";
    case ReasonCode::policy_order:
      return fmt::format("place {} in the policy's order", reason.detail);
    case ReasonCode::behind_plan:
      return "it runs slower than its curve says";
    case ReasonCode::back_on_plan:
      return "its promise can be kept after all";
    case ReasonCode::gives_way:
      return fmt::format("it was not promised yet and gives way to job {}", reason.detail);
    case ReasonCode::larger_than_most:
      return "it is much larger than most; it is promised once more of it is done";
    case ReasonCode::ranks_failed:
      return fmt::format("its processes of generation {} failed; they are started again",
                         reason.detail);
    case ReasonCode::foreign_use:
      return "somebody else uses its GPUs";
    case ReasonCode::cancelled:
      return "cancelled by its user";
    case ReasonCode::failed:
      return "its processes failed";
    case ReasonCode::observed:
      return "the cluster's own scheduler did it";
    case ReasonCode::overcommitted:
      return fmt::format("node {} is said to run it, but has no such GPUs free", reason.detail);
    case ReasonCode::over_quota:
      return fmt::format("its tenant may have {} GPUs at most, and has none of them left",
                         reason.detail);
    case ReasonCode::guaranteed_others:
      return "the GPUs it would need are guaranteed to other tenants";
    case ReasonCode::its_share:
      return "nobody was promised these GPUs, and it is its tenant's turn";
    case ReasonCode::outranked:
      return fmt::format("job {} has a higher priority and takes its GPUs", reason.detail);
    case ReasonCode::quota_reclaimed:
      return fmt::format("its GPUs were lent; job {} is of a tenant they are guaranteed to",
                         reason.detail);
    case ReasonCode::had_its_turn:
      return fmt::format("job {} is of a tenant that had less than its share", reason.detail);
    case ReasonCode::at_this_price:
      return "at the present price of energy this size and clock cost least";
    case ReasonCode::waits_for_cleaner:
      return "energy is expected to be better soon, so that waiting pays";
    case ReasonCode::over_power_cap:
      return "with it the cluster would draw more than it may";
    case ReasonCode::budget_spent:
      return "the budget of energy is spent";
    case ReasonCode::own_links:
      return fmt::format("{} links between its leaves are its own", reason.detail);
    case ReasonCode::shares_links:
      return fmt::format("it shares links; by itself that costs {}.{} % of its time",
                         reason.detail / 10, reason.detail % 10);
    case ReasonCode::rewired:
      return "its circuits went elsewhere to let another job in";
    case ReasonCode::waits_for_links:
      return "GPUs are free, but not the links between them";
  }
  return "unknown reason";
}

}  // namespace weir
