// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/source_status.h"

namespace weir::engine::kubernetes {

std::string_view to_string(SourceState state) {
  switch (state) {
    case SourceState::listing:
      return "listing";
    case SourceState::watching:
      return "watching";
    case SourceState::retrying:
      return "retrying";
    case SourceState::forbidden:
      return "forbidden";
    case SourceState::absent:
      break;
  }
  return "absent";
}

}  // namespace weir::engine::kubernetes
