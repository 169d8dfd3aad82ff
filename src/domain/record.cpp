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
  }
  return "unknown reason";
}

}  // namespace weir
