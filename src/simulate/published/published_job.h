// SPDX-License-Identifier: Apache-2.0
//
// A job as the public simulator of ElasticFlow sees it: whole seconds, and iterations as real
// numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/throughput_table.h"

namespace weir::simulate::published {

using Seconds = std::int64_t;
inline constexpr Seconds kNever = INT64_MAX / 2;

using RateTable = std::vector<formats::ExactRate>;
using RateBook = formats::ExactRates;

struct PublishedJob {
  Seconds submitted = 0;
  Seconds deadline = 0;
  Seconds duration = 0;  // on the GPUs asked for
  double left = 0;       // iterations
  std::int32_t asked = 1;
  std::int32_t most = 1;  // GPUs it may have
  const RateTable* rates = nullptr;

  std::int32_t gpus = 0;  // now
  Seconds end = 0;        // when its GPUs are free again
  Seconds overhead = 0;   // seconds of the coming step in which it makes no progress

  double rate_at(std::int32_t size) const {
    for (const formats::ExactRate& option : *rates) {
      if (option.gpus == size) return option.rate;
    }
    return 0;
  }
  double rate() const { return rate_at(gpus); }
  // The next larger size it may have; the same when there is none.
  std::int32_t next_size(std::int32_t size) const {
    for (const formats::ExactRate& option : *rates) {
      if (option.gpus > most) break;
      if (option.gpus > size) return option.gpus;
    }
    return size;
  }
  // The largest size it may have on that many GPUs; 0 when there is none.
  std::int32_t largest_on(std::int32_t free) const {
    std::int32_t size = 0;
    for (const formats::ExactRate& option : *rates) {
      if (option.gpus > most || option.gpus > free) break;
      size = option.gpus;
    }
    return size;
  }
};

// How many times a slot fits between, rounded up: events fall on whole slots after the present.
constexpr Seconds aligned(Seconds from, Seconds time, Seconds slot) {
  const Seconds length = time - from;
  Seconds slots = length / slot;
  if (length % slot > 0) ++slots;
  return from + slots * slot;
}

// What a scheduling event costs a job with GPUs, changed or not.
struct OverheadRule {
  std::int32_t cluster_gpus = 0;

  Seconds of(std::int32_t gpus, bool restarts, bool is_cached) const;
};

}  // namespace weir::simulate::published
