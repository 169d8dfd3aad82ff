// SPDX-License-Identifier: Apache-2.0
//
// The simulator's modelled engine in the conformance suite. It speaks records and a virtual clock, so
// a small port stands in front of it: ModelledPort is what dies with the control plane, the model and
// what it has seen stay. A modelled run pays its start, works until it is told to finish, stops in no
// time and knows no exit codes.
#include <algorithm>
#include <map>

#include "engine_conformance.h"
#include "simulate/modelled_engine.h"

namespace weir {
namespace {

constexpr PoolIndex kPool{0};
// Long enough that no run ends unless it is told to.
const Work kEndless = work_of_iterations(1'000'000'000);

Curve a_curve() {
  return Curve{{{1, IterationRate{1'000'000}},
                {2, IterationRate{2'000'000}},
                {4, IterationRate{4'000'000}}}};
}

// The world: which run of each job is there, and how it ended.
struct ModelledRun {
  std::uint32_t generation = 0;
  GpuBlock block;  // none: it does not run
  bool is_ready = false;
  bool has_ended = false;
};
struct ModelledWorld {
  simulate::ModelledEngine model{schedule::RescaleCost{}};
  Time now{};
  std::map<JobId, ModelledRun> runs;
  std::vector<std::string> begun;
  std::vector<std::string> clashes;
};

class ModelledPort : public Engine {
 public:
  explicit ModelledPort(ModelledWorld& world) : world_{world} {}

  void start(std::vector<RunOrder> standing, EngineListener& listener) override {
    listener_ = &listener;
    std::map<JobId, RunOrder> wanted;
    for (RunOrder& order : standing) wanted.insert_or_assign(order.job, std::move(order));
    for (auto& [job, run] : world_.runs) {
      const auto found = wanted.find(job);
      if (run.has_ended) {
        if (found == wanted.end() || found->second.generation == run.generation)
          report(job, run.generation, RunEnded{RunEndKind::exited, 0, "exit code 0"});
      } else if (found == wanted.end()) {
        place(job, run.generation, {});
        report(job, run.generation, RunStopped{});
      } else if (found->second.generation == run.generation && run.is_ready) {
        report(job, run.generation, RunReady{});
      }
    }
    for (const auto& [job, order] : wanted) this->order(order);
  }

  void order(const RunOrder& order) override {
    const auto found = world_.runs.find(order.job);
    if (found != world_.runs.end() && order.generation <= found->second.generation) {
      // A stop that was not confirmed before the control plane died.
      if (order.gpus.empty() && order.generation == found->second.generation)
        report(order.job, order.generation, RunStopped{});
      return;
    }
    GpuBlock block;
    if (!order.gpus.empty())
      block = {static_cast<std::uint32_t>(order.gpus.front().gpu),
               static_cast<std::uint32_t>(order.gpus.size())};
    if (found == world_.runs.end())
      world_.model.add(order.job, a_curve(), kEndless, 1000);
    else if (!found->second.has_ended)
      place(order.job, found->second.generation, {});
    waiting_.insert_or_assign(order.job, std::pair{order.generation, block});
    place_waiting();
  }
  void forget(JobId job) override { world_.runs.erase(job); }
  Result<LogChunk> read_log(const LogPlace&, std::size_t) override {
    return bad_input(Diagnostic{"", 0, "log", "none", "an engine with processes"});
  }
  void remove_logs(const std::vector<JobId>&) override {}
  void stop() override { listener_ = nullptr; }

  // The next thing that happens in the model. False when nothing will.
  bool step() {
    if (world_.model.next_at() == Time::max()) return false;
    const auto next = world_.model.take_next();
    world_.now = next.at;
    if (next.is_finish) return true;
    world_.runs.at(next.job).is_ready = true;
    report(next.job, next.generation, RunReady{});
    return true;
  }
  void on_finished(JobId job) {
    ModelledRun& run = world_.runs.at(job);
    report(job, run.generation, RunEnded{RunEndKind::exited, 0, "exit code 0"});
    place_waiting();
  }

 private:
  bool is_free(JobId job, GpuBlock block) const {
    return std::ranges::all_of(world_.runs, [&](const auto& entry) {
      return entry.first == job || entry.second.has_ended || !entry.second.block.overlaps(block);
    });
  }

  void place_waiting() {
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      const auto [generation, block] = it->second;
      if (!block.is_none() && !is_free(it->first, block)) {
        ++it;
        continue;
      }
      place(it->first, generation, block);
      if (block.is_none()) report(it->first, generation, RunStopped{});
      waiting_.erase(it);
      it = waiting_.begin();
    }
  }

  void place(JobId job, std::uint32_t generation, GpuBlock block) {
    if (!is_free(job, block) && !block.is_none())
      world_.clashes.push_back(std::to_string(job.value));
    world_.runs.insert_or_assign(job, ModelledRun{generation, block, false, false});
    world_.model.resize(world_.now, kPool, JobResized{job, generation, block});
    if (!block.is_none())
      world_.begun.push_back(std::to_string(job.value) + "." + std::to_string(generation));
  }

  void report(JobId job, std::uint32_t generation, decltype(RunReport::what) what) {
    if (listener_ != nullptr) listener_->on_report({job, generation, std::move(what)});
  }

  ModelledWorld& world_;
  EngineListener* listener_ = nullptr;
  std::map<JobId, std::pair<std::uint32_t, GpuBlock>> waiting_;
};

class ModelledHost : public EngineHost {
 public:
  bool has_exit_codes() const override { return false; }
  Engine& begin(std::vector<RunOrder> standing, EngineListener& listener) override {
    port_ = std::make_unique<ModelledPort>(world_);
    port_->start(std::move(standing), listener);
    return *port_;
  }
  void crash() override { port_.reset(); }
  RunOrder job_on(JobId job, std::uint32_t generation, std::vector<std::int32_t> gpus) override {
    RunOrder order;
    order.job = job;
    order.generation = generation;
    for (const std::int32_t gpu : gpus) order.gpus.push_back({NodeId{0}, gpu});
    if (!gpus.empty()) order.launch = std::make_shared<const LaunchSpec>();
    return order;
  }
  void finish(JobId job, std::uint32_t generation, int) override {
    finishing_.emplace_back(job, generation);
    if (port_ == nullptr) finish_due();
  }
  bool pass_until(const std::function<bool()>& is_true) override {
    constexpr int kSteps = 1000;
    for (int i = 0; i < kSteps; ++i) {
      finish_due();
      if (is_true()) return true;
      if (port_ == nullptr || !port_->step()) return is_true();
    }
    return is_true();
  }
  std::vector<std::string> begun() override { return world_.begun; }
  std::vector<std::string> clashes() override { return world_.clashes; }
  bool is_idle() override {
    return std::ranges::all_of(world_.runs, [](const auto& entry) {
      return entry.second.has_ended || entry.second.block.is_none();
    });
  }

 private:
  // A run that was told to finish does so once it is there; an older one is gone already.
  void finish_due() {
    std::erase_if(finishing_, [this](const auto& finishing) {
      const auto found = world_.runs.find(finishing.first);
      if (found == world_.runs.end()) return false;
      ModelledRun& run = found->second;
      if (run.generation > finishing.second) return true;
      if (run.generation < finishing.second || run.block.is_none()) return false;
      world_.model.resize(world_.now, kPool, JobResized{finishing.first, run.generation, {}});
      run.block = {};
      run.has_ended = true;
      if (port_ != nullptr) port_->on_finished(finishing.first);
      return true;
    });
  }

  ModelledWorld world_;
  std::unique_ptr<ModelledPort> port_;
  std::vector<std::pair<JobId, std::uint32_t>> finishing_;
};

}  // namespace

std::unique_ptr<EngineHost> make_modelled_host() {
  return std::make_unique<ModelledHost>();
}

}  // namespace weir
