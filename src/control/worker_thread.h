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

  // False when too much waits already, or after stop(): the task will not run. `dropped` is called instead of a task
  // that was accepted when stop() came first.
  bool post(std::function<void()> task, std::function<void()> dropped = {}) {
    const std::lock_guard lock{mutex_};
    if (is_stopping_ || tasks_.size() >= most_waiting_) return false;
    tasks_.push_back({std::move(task), std::move(dropped)});
    changed_.notify_one();
    return true;
  }

  // Finishes the task in hand; the others are dropped.
  void stop() {
    std::deque<Task> dropped;
    {
      const std::lock_guard lock{mutex_};
      is_stopping_ = true;
      dropped.swap(tasks_);
      changed_.notify_one();
    }
    for (const Task& task : dropped) {
      if (task.dropped) task.dropped();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  struct Task {
    std::function<void()> run;
    std::function<void()> dropped;
  };

  void work() {
    std::unique_lock lock{mutex_};
    while (true) {
      changed_.wait(lock, [&] { return is_stopping_ || !tasks_.empty(); });
      if (is_stopping_) return;
      Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task.run();
      task = {};
      lock.lock();
    }
  }

  std::size_t most_waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace weir::control
