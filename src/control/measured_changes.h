// SPDX-License-Identifier: Apache-2.0
//
// What a change of GPUs really costs, from the changes that were seen: promises are planned with it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "domain/time.h"
#include "schedule/admit/size_table.h"

namespace weir::control {

class MeasuredChanges {
 public:
  static constexpr std::size_t kKept = 32;         // the latest
  static constexpr std::size_t kFewest = 3;        // before any is believed
  static constexpr std::int64_t kPercentile = 80;  // most changes take no longer
  static constexpr std::int64_t kNewsPercent = 25;
  static constexpr Duration kLeast = std::chrono::milliseconds{100};

  // A job that came to so many GPUs did no work for that long. Gives the cost to plan with from now
  // on, if it is quite another than `known`.
  std::optional<schedule::RescaleCost> hear(std::uint32_t gpus, Duration lost,
                                            const schedule::RescaleCost& known);

 private:
  struct Change {
    std::uint32_t gpus = 0;
    Duration lost{};
  };
  std::deque<Change> changes_;
};

}  // namespace weir::control
