// SPDX-License-Identifier: Apache-2.0
//
// Where long work tells how far it is. The command line draws a bar on a terminal and lines in a
// log; tests listen or ignore. Calls may come from several threads.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir {

class ProgressSink {
 public:
  virtual ~ProgressSink() = default;
  // `done` of `total` steps of the work called `what` are finished.
  virtual void advance(std::string_view what, std::uint64_t done, std::uint64_t total) = 0;
};

// For callers that do not care.
class NoProgress final : public ProgressSink {
 public:
  void advance(std::string_view, std::uint64_t, std::uint64_t) override {}
};

}  // namespace weir
