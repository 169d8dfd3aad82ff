// SPDX-License-Identifier: Apache-2.0
//
// How long one decision takes when energy has a price: 1,000 jobs of 20 configurations each, all to
// be decided anew. The price found for a budget, sizes, clocks and places. Beside it, in the same
// run, what `weir` takes with the same jobs, which looks at sizes alone; and the limit.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench_inputs.h"
#include "domain/seeded_rng.h"
#include "formats/cluster_shorthand.h"
#include "schedule/core/core.h"
#include "schedule/place/policies.h"
#include "schedule/policies/training_policies.h"

namespace weir::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kLimitMs = 5;
constexpr int kRounds = 200;

// Ten kinds of jobs: five sizes, four clocks, none worse than another in all respects.
struct Kind {
  CurveKey key;
  Curve curve;
  PowerTable power;
};

std::vector<Kind> kinds() {
  std::vector<Kind> made;
  for (int k = 0; k < 10; ++k) {
    Kind kind;
    kind.key = {fmt::format("model-{}", k), 64};
    std::vector<CurvePoint> points;
    double rate = 2 + k;
    for (int gpus = 1; gpus <= 16; gpus *= 2) {
      const auto full = IterationRate{static_cast<std::int64_t>(rate * 1e6)};
      points.push_back({gpus, full});
      for (const int clock : {500, 650, 800, 1000}) {
        const double speed = 0.6 + 0.4 * clock / 1000.0;
        const double cube = clock / 1000.0 * clock / 1000.0 * clock / 1000.0;
        kind.power.push_back(
            {gpus, clock,
             clock == 1000 ? full : IterationRate{static_cast<std::int64_t>(rate * speed * 1e6)},
             static_cast<std::int64_t>(gpus * (140 + 260 * cube) * 1000)});
      }
      rate *= 1.5 + 0.04 * k;
    }
    kind.curve = Curve{points, CurveOrigin::assumed};
    made.push_back(std::move(kind));
  }
  return made;
}

class Load {
 public:
  Load(const std::string& policy, int nodes, std::int64_t jobs, bool has_budget) {
    schedule::CoreConfig config;
    config.policy = schedule::placement_policies().front().policy;
    config.training_policy = schedule::find_training_policy(policy);
    const auto cluster = formats::parse_cluster_shorthand(fmt::format("{}x8xA100", nodes));
    require(cluster.has_value(), "the cluster can be made");
    schedule::State state = schedule::initial_state_for_training(*cluster);
    for (const Kind& kind : kinds_)
      state.training.pools.front().power[kind.key] = std::make_shared<const PowerTable>(kind.power);
    EnergyTerms terms;
    terms.pools.push_back({state.training.pools.front().pool->id, 55'000, 800'000, 0, 1000});
    if (has_budget) {
      terms.budget_micros = std::int64_t{3'000'000} * 1'000'000;
      terms.from = now;
      terms.until = now + std::chrono::hours{24 * 30};
    } else {
      terms.price_nanos = 1'000'000'000;
    }
    std::vector<double> day;
    for (int hour = 0; hour < 24; ++hour) day.push_back(200 + 20 * std::abs(hour - 12));
    state.training.energy.terms = std::make_shared<const EnergyTerms>(terms);
    state.training.energy.supply =
        std::make_shared<const SupplySeries>(now, std::chrono::hours{1}, day);
    core_.emplace(config, std::move(state));
    const PoolIndex pool = core_->state().training.pools.front().pool->id;
    for (const Kind& kind : kinds_) core_->handle({now, CurveUpdated{pool, kind.key, kind.curve}});
    for (std::int64_t i = 0; i < jobs; ++i) {
      const Kind& kind = kinds_[rng_.below(kinds_.size())];
      TrainingSpec spec;
      spec.name = "job";
      spec.curve = kind.key;
      spec.iterations = static_cast<std::int64_t>(100'000 + rng_.below(3'000'000));
      core_->handle({now, TrainingSubmitted{spec}});
    }
  }

  // Ten minutes later, everything again.
  double decide_ms() {
    now += from_seconds(600);
    const auto start = Clock::now();
    core_->handle({now, TimerFired{}});
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  }

  std::size_t active() const { return core_->state().training.pools.front().active.size(); }

 private:
  Time now{from_seconds(1'000'000)};
  std::vector<Kind> kinds_ = kinds();
  std::optional<schedule::Core> core_;
  SeededRng rng_{7};
};

struct Measured {
  double median = 0;
  double p99 = 0;
  std::size_t jobs = 0;
};

Measured measure(const std::string& policy, int nodes, std::int64_t jobs, bool has_budget) {
  Load load{policy, nodes, jobs, has_budget};
  load.decide_ms();
  std::vector<double> ms;
  for (int i = 0; i < kRounds; ++i) ms.push_back(load.decide_ms());
  std::sort(ms.begin(), ms.end());
  return {ms[ms.size() / 2], ms[ms.size() * 99 / 100], load.active()};
}

int run_bench() {
  fmt::print("one decision, 20 configurations a job, {} decisions ten minutes apart\n\n", kRounds);
  fmt::print("{:>6} {:>6}  {:<26} {:>10} {:>10} {:>10}\n", "jobs", "GPUs", "policy", "median ms",
             "p99 ms", "limit ms");
  bool is_met = true;
  struct Size {
    std::int64_t jobs;
    int nodes;
  };
  // GPUs for everybody, and half as many as there are jobs.
  for (const auto& [jobs, nodes] :
       {Size{250, 64}, Size{1000, 256}, Size{1000, 64}, Size{4000, 1024}, Size{4000, 256}}) {
    struct Row {
      const char* name;
      const char* policy;
      bool has_budget;
    };
    for (const Row& row :
         {Row{"green, one price", "green", false}, Row{"green, steered to a budget", "green", true},
          Row{"weir", "weir", false}}) {
      const Measured seen = measure(row.policy, nodes, jobs, row.has_budget);
      const bool has_limit = jobs == 1000 && std::string{row.policy} == "green";
      fmt::print("{:>6} {:>6}  {:<26} {:>10.2f} {:>10.2f} {:>10}\n", jobs, 8 * nodes, row.name,
                 seen.median, seen.p99, has_limit ? fmt::format("{:.0f}", kLimitMs) : "-");
      std::fflush(stdout);
      require(seen.jobs == static_cast<std::size_t>(jobs), "all jobs are still there");
      if (has_limit && seen.median > kLimitMs) is_met = false;
    }
  }
  if (!is_met) fmt::print("\nNOT MET: a decision takes longer than {:.0f} ms\n", kLimitMs);
  return is_met ? 0 : 1;
}

}  // namespace
}  // namespace weir::bench

int main() {
  return weir::bench::run_bench();
}
