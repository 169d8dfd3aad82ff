// SPDX-License-Identifier: Apache-2.0
//
// One thread that does what it is given, in order: work that must not hold up the loop.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace weir::control {

class WorkerThread {
 public:
  explicit WorkerThread(std::size_t most_waiting = 256)
      : most_waiting_{most_waiting}, thread_{[this] { work(); }} {}
  ~WorkerThread() { stop(); }

  // False when too much waits already, or after stop(): the task will not run.
  bool post(std::function<void()> task) {
    const std::lock_guard lock{mutex_};
    if (is_stopping_ || tasks_.size() >= most_waiting_) return false;
    tasks_.push_back(std::move(task));
    changed_.notify_one();
    return true;
  }

  // Finishes the task in hand; the others are dropped.
  void stop() {
    {
      const std::lock_guard lock{mutex_};
      is_stopping_ = true;
      tasks_.clear();
      changed_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  void work() {
    std::unique_lock lock{mutex_};
    while (true) {
      changed_.wait(lock, [&] { return is_stopping_ || !tasks_.empty(); });
      if (is_stopping_) return;
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    }
  }

  std::size_t most_waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace weir::control
