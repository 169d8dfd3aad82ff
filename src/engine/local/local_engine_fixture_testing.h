// SPDX-License-Identifier: Apache-2.0
//
// A local engine in a folder of its own, for tests: what it reported, what runs, what was logged. Nothing is
// left when it goes.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "engine/local/local_engine.h"
#include "engine/local/local_engine_testing.h"
#include "engine/local/process_table.h"

namespace weir::engine {

inline const JobId kJob{7};

class LocalEngineTest : public ::testing::Test {
 protected:
  ~LocalEngineTest() override {
    engine.reset();
    kill_what_is_left();
  }

  void begin(std::vector<RunOrder> standing = {}) {
    auto made = make_local_engine(options());
    ASSERT_TRUE(made.has_value()) << to_string(made.error().details);
    engine = std::move(*made);
    engine->start(std::move(standing), reports);
  }
  // As after kill -9 of the server: runs go on, and what was reported may not have been stored.
  void crash() {
    engine.reset();
    reports.clear();
  }

  LocalEngineOptions options() const {
    LocalEngineOptions made;
    made.folder = folder.path() / "engine";
    made.log_limit_bytes = log_limit;
    made.gpu_uuids = gpu_uuids;
    made.stuck_after = stuck_after;
    made.most_starting = most_starting;
    return made;
  }

  RunEnded run(const LaunchSpec& launch, std::vector<std::int32_t> gpus = {0}) {
    begin();
    engine->order(an_order(kJob, 1, gpus, launch));
    return reports.wait_for<RunEnded>(kJob, 1).value_or(RunEnded{RunEndKind::lost, -1, "timeout"});
  }

  std::string log(std::int32_t rank = 0, std::uint32_t generation = 0) {
    std::string all;
    while (true) {
      const auto chunk = engine->read_log(
          {kJob, generation, rank, static_cast<std::int64_t>(all.size())}, 1 << 16);
      if (!chunk) return "no log";
      all += chunk->bytes;
      if (chunk->is_over) return all;
    }
  }

  std::string store() const {
    std::ifstream file{folder.path() / "engine/id"};
    std::string id;
    file >> id;
    return id;
  }
  std::vector<RunProcess> processes() const { return find_run_processes(store()); }
  pid_t supervisor_pid() const {
    for (const RunProcess& process : processes())
      if (process.is_supervisor) return process.pid;
    return 0;
  }
  bool is_dead(pid_t pid) const {
    const auto stat = stat_of(pid);
    return !stat || stat->is_dead();
  }
  void kill_what_is_left() {
    if (store().empty()) return;
    EXPECT_TRUE(eventually([this] {
      const auto left = processes();
      for (const RunProcess& process : left) kill(process.pid, SIGKILL);
      while (waitpid(-1, nullptr, WNOHANG) > 0) {
      }
      return left.empty();
    }));
  }
  std::string file(const std::string& name) const { return folder / name; }
  void make_file(const std::string& name) { std::ofstream{file(name)} << "1"; }
  std::string content(const std::string& name) const {
    std::ifstream in{file(name)};
    std::stringstream all;
    all << in.rdbuf();
    return all.str();
  }

  TemporaryFolder folder;
  std::int64_t log_limit = 16 << 20;
  std::vector<std::string> gpu_uuids;
  Duration stuck_after = from_seconds(10);
  std::size_t most_starting = 0;
  ReportLog reports;
  std::unique_ptr<LocalEngine> engine;
};

}  // namespace weir::engine
