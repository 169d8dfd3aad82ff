// SPDX-License-Identifier: Apache-2.0
#include "simulate/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace weir::simulate {

void parallel_for(std::size_t count, unsigned threads,
                  const std::function<void(std::size_t)>& work) {
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto take_pieces = [&] {
    try {
      for (std::size_t piece = next++; piece < count; piece = next++) work(piece);
    } catch (...) {
      next = count;
      const std::scoped_lock lock{mutex};
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (unsigned i = 1; i < threads && i < count; ++i) helpers.emplace_back(take_pieces);
    take_pieces();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace weir::simulate
