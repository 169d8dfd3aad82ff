// SPDX-License-Identifier: Apache-2.0
//
// engine_soak [RATE [SECONDS]]: starts RATE short jobs each second on the local engine, waits for
// their ends, forgets them and removes their folders. Fails when anything is left behind: processes,
// descriptors, folders, or memory that grows. Prints what a job costs.
#include <dirent.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <thread>

#include "engine/local/local_engine.h"
#include "engine/local/local_engine_testing.h"

namespace weir {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kGpus = 64;  // jobs at once, at most

long count_entries(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator{folder}, {});
}

long resident_kib() {
  std::ifstream statm{"/proc/self/statm"};
  long total = 0;
  long resident = 0;
  statm >> total >> resident;
  return resident * 4;
}

double cpu_seconds(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](timeval time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Forgets each job as it ends, as the control plane does.
class Forgetter : public EngineListener {
 public:
  void on_report(const RunReport& report) override {
    const auto* end = std::get_if<RunEnded>(&report.what);
    if (end == nullptr) return;
    if (!end->succeeded()) failures.fetch_add(1);
    engine->forget(report.job);
    engine->remove_logs({report.job});
    ended.fetch_add(1);
  }
  Engine* engine = nullptr;
  std::atomic<long> ended{0};
  std::atomic<long> failures{0};
};

int soak(int rate, int seconds) {
  const engine::TemporaryFolder folder;
  engine::LocalEngineOptions options;
  options.folder = folder.path() / "engine";
  auto made = engine::make_local_engine(options);
  if (!made) {
    std::fprintf(stderr, "%s", to_string(made.error().details).c_str());
    return 1;
  }
  Engine& local = **made;
  Forgetter forgetter;
  forgetter.engine = &local;
  local.start({}, forgetter);

  LaunchSpec launch;
  launch.command = {"/bin/true"};
  const auto shared = std::make_shared<const LaunchSpec>(launch);
  const long all = static_cast<long>(rate) * seconds;
  const long descriptors_before = count_entries("/proc/self/fd");
  long early_memory = 0;
  long most_behind = 0;
  const auto begin = Clock::now();
  for (long i = 0; i < all; ++i) {
    std::this_thread::sleep_until(begin + std::chrono::nanoseconds{1'000'000'000LL * i / rate});
    RunOrder order;
    order.job = JobId{static_cast<std::uint64_t>(i + 1)};
    order.generation = 1;
    order.gpus = {{NodeId{0}, static_cast<std::int32_t>(i % kGpus)}};
    order.launch = shared;
    local.order(order);
    most_behind = std::max(most_behind, i + 1 - forgetter.ended.load());
    if (i == all / 5) early_memory = resident_kib();
  }
  if (!engine::eventually([&] { return forgetter.ended.load() == all; })) {
    std::fprintf(stderr, "%ld of %ld jobs ended\n", forgetter.ended.load(), all);
    return 1;
  }
  const double took = std::chrono::duration<double>(Clock::now() - begin).count();
  const bool is_empty = engine::eventually([&] {
    return count_entries(options.folder / "runs") + count_entries(options.folder / "past") == 0;
  });
  const long descriptors = count_entries("/proc/self/fd") - descriptors_before;
  const long growth = resident_kib() - early_memory;
  local.stop();
  const bool has_children = waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD;
  const double own = cpu_seconds(RUSAGE_SELF) * 1000 / static_cast<double>(all);
  const double children = cpu_seconds(RUSAGE_CHILDREN) * 1000 / static_cast<double>(all);
  std::printf(
      "%ld jobs in %.1f s (%.0f/s), at most %ld at once; CPU per job: engine %.2f ms, supervisor "
      "and "
      "job %.2f ms; memory %+ld KiB over the last four fifths, %+ld descriptors\n",
      all, took, static_cast<double>(all) / took, most_behind, own, children, growth, descriptors);

  int mistakes = 0;
  const auto check = [&mistakes](bool is_good, const char* what) {
    if (is_good) return;
    std::fprintf(stderr, "wrong: %s\n", what);
    ++mistakes;
  };
  check(forgetter.failures.load() == 0, "jobs failed");
  check(is_empty, "folders are left");
  check(descriptors <= 0, "descriptors are left open");
  check(!has_children, "processes are left");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they keep what was freed
  check(growth < 2048 + most_behind, "memory grows");  // a job that waits takes some of it
#endif
  return mistakes == 0 ? 0 : 1;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  const int rate = argc > 1 ? std::atoi(argv[1]) : 200;
  const int seconds = argc > 2 ? std::atoi(argv[2]) : 5;
  if (rate < 1 || seconds < 1) {
    std::fprintf(stderr, "engine_soak [RATE [SECONDS]], both 1 or more\n");
    return 2;
  }
  return weir::soak(rate, seconds);
}
