// SPDX-License-Identifier: Apache-2.0
//
// The whole published comparison: 17 lists x all policies x 10 seeds, on all cores, with live
// progress. One list on one thread beside it.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <thread>

#include "bench_inputs.h"
#include "schedule/place/policies.h"
#include "simulate/sweep.h"

namespace weir::bench {
namespace {

class Bar final : public ProgressSink {
 public:
  void advance(std::string_view what, std::uint64_t done, std::uint64_t total) override {
    if (isatty(2) == 0 || done % 16 != 0) return;
    const std::scoped_lock lock{mutex_};
    fmt::print(stderr, "\r{} {}/{}", what, done, total);
  }

 private:
  std::mutex mutex_;
};

double seconds_for(const Inputs& inputs, const std::vector<Workload>& workloads, unsigned threads) {
  simulate::SweepConfig config;
  for (const auto& row : schedule::placement_policies()) config.policies.emplace_back(row.name);
  for (std::uint64_t seed = 42; seed <= 51; ++seed) config.seeds.push_back(seed);
  config.threads = threads;
  Bar progress;
  const auto start = std::chrono::steady_clock::now();
  const auto outcomes = sweep_inflation(inputs.cluster, workloads, config, progress);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  require(outcomes.size() == workloads.size() * config.policies.size() * config.seeds.size(),
          "every run must come back");
  for (const auto& outcome : outcomes)
    require(outcome.allocated_percent(100).value_or(0) > 50, "runs must place tasks");
  return seconds;
}

int run_bench() {
  const Inputs inputs = published_inputs();
  const unsigned cores = std::thread::hardware_concurrency();
  const std::size_t policies = schedule::placement_policies().size();
  const double alone = seconds_for(inputs, {inputs.workloads.front()}, 1);
  const double one_list = seconds_for(inputs, {inputs.workloads.front()}, 0);
  const double all = seconds_for(inputs, inputs.workloads, 0);
  fmt::print("{}: {} lists x {} policies x 10 seeds = {} runs on {} cores: {:.1f} s\n",
             inputs.source, inputs.workloads.size(), policies,
             inputs.workloads.size() * policies * 10, cores, all);
  fmt::print("one list: {:.2f} s on one thread, {:.2f} s on {} ({:.2f}x)\n", alone, one_list, cores,
             alone / one_list);
  return 0;
}

}  // namespace
}  // namespace weir::bench

int main() {
  return weir::bench::run_bench();
}
