// SPDX-License-Identifier: Apache-2.0
//
// How decisions and memory grow with the cluster: from 1,000 to 100,000 nodes, tasks in proportion.
// And what a fork of the largest state costs.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <vector>

#include "bench_inputs.h"
#include "report/svg_plot.h"
#include "schedule/core/core.h"
#include "schedule/place/policies.h"
#include "simulate/inflation.h"

namespace weir::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Measured {
  double us_per_task = 0;
  double fork_ms = 0;
  std::size_t nodes = 0;
  std::size_t tasks = 0;
};

double worst_fork_ms(schedule::Core& core) {
  double worst = 0;
  for (int i = 0; i < 20; ++i) {
    const auto start = Clock::now();
    const schedule::State fork = core.fork_state();
    worst =
        std::max(worst, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    require(fork.nodes.size() == core.state().nodes.size(), "a fork has all nodes");
  }
  return worst;
}

Measured measure(const Inputs& inputs, int times, const char* policy) {
  const Cluster cluster = replicated(inputs.cluster, times);
  const Workload workload = replicated(inputs.workloads.front(), times);
  const TargetWorkload oracle = simulate::oracle_target(workload);
  const std::vector<std::uint32_t> submissions =
      simulate::inflate(workload, cluster.gpu_capacity(), 42);
  schedule::Core core{{schedule::find_placement_policy(policy), 42, schedule::QueueRule::drop},
                      simulate::initial_state_for(cluster, simulate::NodeOrder::permuted, 42,
                                                  simulate::Expectation::oracle, oracle)};
  std::size_t placed = 0;
  const auto start = Clock::now();
  for (const std::uint32_t submission : submissions) {
    const JobSpec& spec = workload.jobs[submission].spec;
    const auto records = core.handle({Time{}, JobSubmitted{spec.shape, spec.replicas}});
    placed += std::holds_alternative<JobPlaced>(records.back().what) ? 1 : 0;
  }
  Measured measured;
  measured.us_per_task = std::chrono::duration<double, std::micro>(Clock::now() - start).count() /
                         static_cast<double>(submissions.size());
  require(placed * 2 > submissions.size(), "most tasks must be placed");
  measured.fork_ms = worst_fork_ms(core);
  measured.nodes = cluster.nodes.size();
  measured.tasks = submissions.size();
  return measured;
}

void write_plot(const std::vector<report::PlotSeries>& series) {
  report::LinePlot plot;
  plot.title = "Time per decision as the cluster grows";
  plot.x_label = "nodes (thousands)";
  plot.y_label = "microseconds per task";
  plot.series = series;
  plot.y_least = 0.0;
  std::filesystem::create_directories("out");
  std::ofstream page{"out/scale.html"};
  page << "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>" << plot.title
       << "</title><style>" << report::plot_style() << "</style></head><body>"
       << report::to_svg(plot) << "</body></html>\n";
}

int run_bench() {
  const Inputs inputs = default_inputs();
  fmt::print("{}, nodes and tasks replicated; one thread; event in, records out\n\n",
             inputs.source);
  fmt::print("{:<10} {:>8} {:>9} {:>12} {:>12} {:>10} {:>10}\n", "policy", "nodes", "tasks",
             "us per task", "to smallest", "peak MB", "fork ms");
  std::vector<report::PlotSeries> series;
  for (const char* policy : {"fgd", "fgd-plus"}) {
    series.push_back({policy, series.size(), {}});
    double smallest = 0;
    for (const int times : {1, 2, 4, 8, 17, 33, 83}) {
      const Measured measured = measure(inputs, times, policy);
      if (smallest == 0) smallest = measured.us_per_task;
      fmt::print("{:<10} {:>8} {:>9} {:>12.2f} {:>11.2f}x {:>10.0f} {:>10.3f}\n", policy,
                 measured.nodes, measured.tasks, measured.us_per_task,
                 measured.us_per_task / smallest, peak_memory_mb(), measured.fork_ms);
      std::fflush(stdout);
      const double thousands = static_cast<double>(measured.nodes) / 1000.0;
      series.back().points.push_back(
          {thousands, measured.us_per_task, measured.us_per_task, measured.us_per_task});
    }
  }
  write_plot(series);
  fmt::print(
      "\nplot: out/scale.html. fork: the longest of 20, with all jobs in the state. peak MB: of "
      "the process so far.\n");
  return 0;
}

}  // namespace
}  // namespace weir::bench

int main() {
  return weir::bench::run_bench();
}
