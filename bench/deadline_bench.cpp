// SPDX-License-Identifier: Apache-2.0
//
// Whole runs of the ElasticFlow traces, one thread: weir's policy with all its promises, and beside
// it, in the same run, ElasticFlow's own algorithm on the same core. Also how much of the time the
// simulation spends without any policy to speak of (fifo): the least a run can cost here.
#include <fmt/format.h>

#include <chrono>
#include <string>
#include <vector>

#include "bench_inputs.h"
#include "formats/cluster_shorthand.h"
#include "formats/data_dir.h"
#include "formats/throughput_table.h"
#include "formats/training_trace.h"
#include "simulate/training_run.h"

namespace weir::bench {
namespace {

struct Trace {
  const char* name;
  const char* cluster;
};

// The rival's algorithm is slow on the largest; there it is left out.
constexpr Trace kTraces[] = {
    {"elasticVpollux_e", "16x4xT4"}, {"195job", "16x8xA100"},     {"cluster10", "32x8xA100"},
    {"philly_103959", "32x8xA100"},  {"cluster06", "64x8xA100"},  {"cluster03", "64x8xA100"},
    {"cluster01", "64x8xA100"},      {"cluster02", "64x8xA100"},  {"cluster05", "64x8xA100"},
    {"cluster04", "128x8xA100"},     {"cluster07", "128x8xA100"}, {"cluster08", "128x8xA100"},
    {"cluster09", "128x8xA100"},
};

double seconds_of(const Cluster& cluster, const TrainingWorkload& workload, const CurveBook& curves,
                  const char* policy, simulate::TrainingOutcome& outcome) {
  simulate::TrainingRunConfig config;
  config.policy = policy;
  const auto start = std::chrono::steady_clock::now();
  outcome = simulate::run_training(cluster, workload, {curves}, config);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int run_bench() {
  const auto folder = formats::data_dir();
  const auto data = folder.value_or("") / "elasticflow";
  if (!folder || !std::filesystem::is_directory(data)) {
    fmt::print("skipped: the ElasticFlow traces were not found (WEIR_DATA)\n");
    return 0;
  }
  fmt::print("{:<18} {:>7} {:>7} {:>9} {:>11} {:>12} {:>8} {:>10}\n", "trace", "jobs", "met",
             "weir s", "us per job", "elasticflow", "ratio", "fifo s");
  double total = 0;
  for (const Trace& trace : kTraces) {
    const bool is_t4 = std::string{trace.cluster}.ends_with("T4");
    const auto curves =
        formats::read_throughput_tables(data / (is_t4 ? "throughput_t4" : "throughput_a100"));
    require(curves.has_value(), "the throughput tables can be read");
    const auto workload = formats::read_training_trace(
        data / "traces" / (std::string{trace.name} + ".csv.gz"), *curves);
    const auto cluster = formats::parse_cluster_shorthand(trace.cluster);
    require(workload.has_value() && cluster.has_value(), "the trace can be read");
    simulate::TrainingOutcome ours;
    simulate::TrainingOutcome other;
    const double seconds = seconds_of(*cluster, *workload, *curves, "weir", ours);
    require(ours.missed_after_admission == 0, "promises hold");
    total += seconds;
    const bool is_small = workload->jobs.size() < 4000;
    const double rival =
        is_small ? seconds_of(*cluster, *workload, *curves, "elasticflow", other) : 0;
    const double least = seconds_of(*cluster, *workload, *curves, "fifo", other);
    fmt::print("{:<18} {:>7} {:>7} {:>9.3f} {:>11.1f} {:>12} {:>8} {:>10.3f}\n", trace.name,
               ours.jobs, ours.met, seconds, 1e6 * seconds / static_cast<double>(ours.jobs),
               is_small ? fmt::format("{:.3f}", rival) : "-",
               is_small ? fmt::format("{:.1f}x", rival / seconds) : "-", least);
    std::fflush(stdout);
  }
  fmt::print(
      "\nall 13 traces with weir's policy: {:.1f} s. Refusals are answered with counter-offers, "
      "which is most of the time where many are refused.\n",
      total);
  return 0;
}

}  // namespace
}  // namespace weir::bench

int main() {
  return weir::bench::run_bench();
}
