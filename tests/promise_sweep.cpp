// SPDX-License-Identifier: Apache-2.0
//
// Promises hold on every kind of cluster: many sizes (also those that are not powers of two, nodes
// of 1 to 8 GPUs, nodes that go away and come back in every third run, slots in every fifth),
// random jobs, and after every single decision an audit of all promises.
//
//   promise_sweep CLUSTERS JOBS_EACH
//
// Prints one line; exit code 1 when a promise was broken, a job without reserve was moved, or the
// audit found anything.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "domain/seeded_rng.h"
#include "made_up_cluster.h"
#include "schedule/admit/audit.h"
#include "schedule/admit/promises.h"
#include "simulate/training_run.h"

namespace weir {
namespace {

// Curves of every temper: nearly linear, with a knee, with a hole, with a least size of 2.
CurveBook made_up_curves() {
  const auto curve = [](std::initializer_list<double> rates, int least = 1) {
    std::vector<CurvePoint> points;
    int gpus = least;
    for (const double rate : rates) {
      points.push_back({gpus, IterationRate{static_cast<std::int64_t>(rate * 1e6)}});
      gpus *= 2;
    }
    return Curve{points, CurveOrigin::assumed};
  };
  CurveBook book{"any", {}};
  book.curves[{"linear", 64}] = curve({1, 1.95, 3.8, 7.3, 14, 26, 48});
  book.curves[{"knee", 64}] = curve({6, 8.6, 10.3, 11, 10.9, 10.6});
  book.curves[{"hole", 64}] = curve({46, 37, 56, 23, 32});
  book.curves[{"slow", 64}] = curve({0.03, 0.07, 0.14, 0.19, 0.36, 0.48});
  book.curves[{"large", 64}] = curve({2, 3.6, 6.1, 9.9, 14}, 2);
  return book;
}

struct Random {
  SeededRng rng;
  double between(double a, double b) {
    return a + (b - a) * static_cast<double>(rng.below(1U << 30)) / static_cast<double>(1U << 30);
  }
};

TrainingWorkload made_up_jobs(Random& random, const CurveBook& book, int count, int gpus) {
  TrainingWorkload workload{"made up", {}};
  std::vector<CurveKey> keys;
  for (const auto& [key, curve] : book.curves) keys.push_back(key);
  double now = 1000;
  const double load = random.between(0.5, 3);
  for (int i = 0; i < count; ++i) {
    TrainingSpec spec;
    spec.name = "job-" + std::to_string(i);
    spec.curve = keys[random.rng.below(keys.size())];
    const Curve& curve = book.curves.at(spec.curve);
    const auto& point = curve.useful()[random.rng.below(curve.useful().size())];
    const double seconds = std::pow(10, random.between(1.5, 4.5));
    spec.asked_gpus = point.gpus;
    spec.iterations =
        1 + static_cast<std::int64_t>(seconds * static_cast<double>(point.rate.value) / 1e6);
    const int kind = static_cast<int>(random.rng.below(10));
    spec.deadline_kind = kind == 0   ? DeadlineKind::none
                         : kind == 1 ? DeadlineKind::soft
                                     : DeadlineKind::hard;
    spec.is_rigid = random.rng.below(8) == 0;
    spec.deadline =
        Time{from_seconds(static_cast<std::int64_t>(now + 1 + seconds * random.between(0.5, 3)))};
    workload.jobs.push_back({Time{from_seconds(static_cast<std::int64_t>(now))}, spec});
    now += -std::log(1 - random.between(0, 0.999)) * seconds * point.gpus / gpus / load;
  }
  return workload;
}

struct Tally {
  std::int64_t promises = 0;
  std::int64_t missed = 0;
  std::int64_t unannounced = 0;
  std::int64_t moves = 0;
  std::int64_t forced_moves = 0;
  std::int64_t audits = 0;
  std::int64_t violations = 0;
};

void run_one(int number, int jobs, const CurveBook& book, Tally& tally) {
  Random random{SeededRng{static_cast<std::uint64_t>(number) * 7919 + 1}};
  static constexpr int kGpus[] = {8, 4, 8, 2, 8, 6, 1, 8};
  const int gpus = kGpus[number % 8];
  const int nodes = 1 + number;
  const Cluster cluster = tests::made_up_cluster(nodes, gpus);
  const TrainingWorkload workload = made_up_jobs(random, book, jobs, nodes * gpus);
  simulate::TrainingRunConfig config;
  config.training.makes_counter_offers = false;
  if (number % 5 == 4) config.training.slot = from_seconds(60);
  const bool loses_nodes = number % 3 == 2 && nodes > 2;
  if (loses_nodes) {
    const Time from = workload.jobs[workload.jobs.size() / 2].submitted;
    config.outages.push_back(
        {static_cast<std::size_t>(nodes / 2), from, from + from_seconds(7200)});
  }
  // A job is moved when it gets other GPUs of the same number. That is forced when it could not
  // have paid for it: what it had to spare before is remembered from the decision before.
  std::map<std::uint64_t, schedule::TrainingJob> before;
  config.after_decision = [&](const schedule::TrainingState& state, Time now) {
    for (const schedule::PoolState& pool : state.pools) {
      for (const JobId id : pool.active) {
        const schedule::TrainingJob& job = state.job(id);
        const auto was = before.find(id.value);
        if (was != before.end() && job.is_promised() && !job.is_at_risk && !job.block.is_none() &&
            was->second.block.size == job.block.size && was->second.block != job.block) {
          ++tally.moves;
          if (schedule::surplus(job, now) < Work{}) ++tally.forced_moves;
        }
        before[id.value] = job;
      }
    }
    for (const schedule::PoolState& pool : state.pools) {
      const auto audit = schedule::audit_promises(state, pool, now);
      ++tally.audits;
      tally.violations += static_cast<std::int64_t>(audit.violations.size());
      for (const std::string& violation : audit.violations)
        std::printf("cluster %d (%dx%d), %.0f s: %s\n", number, nodes, gpus,
                    to_seconds(now.time_since_epoch()), violation.c_str());
    }
  };
  const auto outcome = simulate::run_training(cluster, workload, {book}, config);
  tally.promises += outcome.admitted;
  // A lost node may break promises; absent failures none may be.
  if (!loses_nodes) tally.missed += outcome.missed_after_admission;
  tally.unannounced += outcome.missed_after_admission - outcome.missed_with_warning;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: promise_sweep CLUSTERS JOBS_EACH\n");
    return 2;
  }
  const int clusters = std::atoi(argv[1]);
  const int jobs = std::atoi(argv[2]);
  const weir::CurveBook book = weir::made_up_curves();
  weir::Tally tally;
  for (int number = 0; number < clusters; ++number) weir::run_one(number, jobs, book, tally);
  std::printf(
      "%d cluster sizes, %lld promises, %lld audits: %lld violations, %lld missed, %lld missed "
      "without a warning, %lld moves of jobs with reserve, %lld of jobs without\n",
      clusters, static_cast<long long>(tally.promises), static_cast<long long>(tally.audits),
      static_cast<long long>(tally.violations), static_cast<long long>(tally.missed),
      static_cast<long long>(tally.unannounced), static_cast<long long>(tally.moves),
      static_cast<long long>(tally.forced_moves));
  return tally.violations + tally.missed + tally.unannounced + tally.forced_moves == 0 ? 0 : 1;
}
