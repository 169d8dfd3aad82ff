// SPDX-License-Identifier: Apache-2.0
//
// How many requests were made, by verb and answer, and how long they took.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "engine/kubernetes/latency_histogram.h"

namespace weir::engine::kubernetes {

// From any thread.
class RequestCounts {
 public:
  // code: of HTTP; 0: there was no answer.
  void add(std::string_view verb, int code, Duration took) {
    const std::lock_guard lock{mutex_};
    const auto key = std::pair{std::string{verb}, code};
    all_[key].add(took);
  }
  std::map<std::pair<std::string, int>, LatencyHistogram> all() const {
    const std::lock_guard lock{mutex_};
    return all_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, LatencyHistogram> all_;
};

}  // namespace weir::engine::kubernetes
