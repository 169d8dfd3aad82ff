// SPDX-License-Identifier: Apache-2.0
//
// How it stands with what is watched of one kind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "domain/time.h"
#include "engine/kubernetes/resource_kinds.h"

namespace weir::engine::kubernetes {

enum class SourceState : std::uint8_t {
  listing,    // the first list is on its way, or another after the history was lost
  watching,   // all is well
  retrying,   // something failed; what is known is getting old
  forbidden,  // the server does not let us
  absent,     // the server has no such kind
};
// "listing"
std::string_view to_string(SourceState state);

struct SourceStatus {
  ResourceKind kind = ResourceKind::nodes;
  SourceState state = SourceState::listing;
  std::string detail;     // why, when it is not watching
  Time since;             // in this state
  bool is_known = false;  // listed once, or known to be absent or forbidden
  std::uint64_t objects = 0;
  std::optional<Time> last_event;
  std::uint64_t lists = 0;    // completed; all but the first are repeats
  std::uint64_t watches = 0;  // begun
  std::uint64_t lost = 0;    // times the server no longer had the history from our version on (410)
  std::uint64_t errors = 0;  // failed requests and broken streams
  std::uint64_t mistakes = 0;  // objects and lines that could not be read
  std::uint64_t bytes = 0;     // of bodies

  std::uint64_t relists() const { return lists == 0 ? 0 : lists - 1; }
  std::uint64_t restarts() const { return watches == 0 ? 0 : watches - 1; }
};

}  // namespace weir::engine::kubernetes
