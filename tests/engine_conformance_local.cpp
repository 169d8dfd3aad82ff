// SPDX-License-Identifier: Apache-2.0
//
// The local engine in the conformance suite: real processes, in a folder of its own.
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <stdexcept>

#include "engine/local/local_engine.h"
#include "engine/local/local_engine_testing.h"
#include "engine/local/process_table.h"
#include "engine_conformance.h"

namespace weir {
namespace {

class LocalHost : public EngineHost {
 public:
  ~LocalHost() override {
    engine_.reset();
    engine::eventually([this] {
      const auto left = engine::find_run_processes(store());
      for (const auto& process : left) kill(process.pid, SIGKILL);
      while (waitpid(-1, nullptr, WNOHANG) > 0) {
      }
      return left.empty();
    });
  }

  Engine& begin(std::vector<RunOrder> standing, EngineListener& listener) override {
    engine::LocalEngineOptions options;
    options.folder = folder_.path() / "engine";
    auto made = engine::make_local_engine(options);
    if (!made) throw std::runtime_error{to_string(made.error().details)};
    engine_ = std::move(*made);
    engine_->start(std::move(standing), listener);
    return *engine_;
  }
  void crash() override { engine_.reset(); }

  RunOrder job_on(JobId job, std::uint32_t generation, std::vector<std::int32_t> gpus) override {
    return engine::an_order(
        job, generation, gpus,
        engine::a_launch({"claim", folder_ / "trace", "end", end_file(job, generation)}));
  }
  void finish(JobId job, std::uint32_t generation, int code) override {
    const std::string name = end_file(job, generation);
    std::ofstream{name + ".new"} << code << "\n";
    std::filesystem::rename(name + ".new", name);
  }
  bool pass_until(const std::function<bool()>& is_true) override {
    return engine::eventually(is_true);
  }
  std::vector<std::string> begun() override { return lines_of("run "); }
  std::vector<std::string> clashes() override { return lines_of("clash "); }
  bool is_idle() override { return engine::find_run_processes(store()).empty(); }

 private:
  std::string end_file(JobId job, std::uint32_t generation) const {
    return folder_ / ("end." + std::to_string(job.value) + "." + std::to_string(generation));
  }
  std::string store() const {
    std::ifstream file{folder_.path() / "engine/id"};
    std::string id;
    file >> id;
    return id.empty() ? "none" : id;
  }
  std::vector<std::string> lines_of(const std::string& word) const {
    std::vector<std::string> found;
    std::ifstream trace{folder_ / "trace"};
    for (std::string line; std::getline(trace, line);)
      if (line.starts_with(word)) found.push_back(line.substr(word.size()));
    return found;
  }

  engine::TemporaryFolder folder_;
  std::unique_ptr<engine::LocalEngine> engine_;
};

}  // namespace

std::unique_ptr<EngineHost> make_local_host() {
  return std::make_unique<LocalHost>();
}

}  // namespace weir
