// SPDX-License-Identifier: Apache-2.0
//
// Adds up how long pieces of work take. Only for timings the user asked for; nothing decides by it.
#pragma once

#include <chrono>
#include <cstdint>

namespace weir::simulate {

class Stopwatch {
 public:
  template <class Work>
  auto time(Work&& work) {
    const auto start = std::chrono::steady_clock::now();
    auto result = work();
    total_ += std::chrono::steady_clock::now() - start;
    return result;
  }

  double mean_us(std::int64_t pieces) const {
    return pieces == 0 ? 0.0
                       : std::chrono::duration<double, std::micro>(total_).count() /
                             static_cast<double>(pieces);
  }

 private:
  std::chrono::steady_clock::duration total_{0};
};

}  // namespace weir::simulate
