// SPDX-License-Identifier: Apache-2.0
//
// What tests of engines share: a listener that can be waited on, a folder that goes away, orders.
// Jobs are the program weir-sample-job (tests/sample_job.cpp).
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "domain/engine.h"

namespace weir::engine {

// Far longer than anything takes, also on a machine that does much else.
inline constexpr std::chrono::seconds kPatience{60};

class ReportLog : public EngineListener {
 public:
  void on_report(const RunReport& report) override {
    const std::lock_guard guard{mutex_};
    reports_.push_back(report);
    changed_.notify_all();
  }

  std::vector<RunReport> all() const {
    const std::lock_guard guard{mutex_};
    return reports_;
  }
  void clear() {
    const std::lock_guard guard{mutex_};
    reports_.clear();
  }

  template <class What>
  std::vector<What> of(JobId job, std::uint32_t generation) const {
    std::vector<What> found;
    for (const RunReport& report : all())
      if (report.job == job && report.generation == generation)
        if (const auto* what = std::get_if<What>(&report.what)) found.push_back(*what);
    return found;
  }

  // Nothing when it never comes.
  template <class What>
  std::optional<What> wait_for(JobId job, std::uint32_t generation) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    std::unique_lock guard{mutex_};
    while (true) {
      for (const RunReport& report : reports_)
        if (report.job == job && report.generation == generation)
          if (const auto* what = std::get_if<What>(&report.what)) return *what;
      if (changed_.wait_until(guard, until) == std::cv_status::timeout) return std::nullopt;
    }
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<RunReport> reports_;
};

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "weir-engine-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline std::string sample_job() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "weir-sample-job";
}

inline LaunchSpec a_launch(std::vector<std::string> steps) {
  LaunchSpec launch;
  launch.command = std::move(steps);
  launch.command.insert(launch.command.begin(), sample_job());
  launch.grace = kPatience;
  return launch;
}

inline RunOrder an_order(JobId job, std::uint32_t generation, const std::vector<std::int32_t>& gpus,
                         LaunchSpec launch = {}) {
  RunOrder order;
  order.job = job;
  order.generation = generation;
  for (const std::int32_t gpu : gpus) order.gpus.push_back({NodeId{0}, gpu});
  if (!gpus.empty()) order.launch = std::make_shared<const LaunchSpec>(std::move(launch));
  return order;
}

// For what no report tells. False when it never becomes true.
inline bool eventually(const std::function<bool()>& is_true) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!is_true()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  return true;
}

}  // namespace weir::engine
