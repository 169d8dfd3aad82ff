// SPDX-License-Identifier: Apache-2.0
//
// How long a user waits for an answer, as the number of promised jobs grows to 10,000 on 4,096 GPUs:
// admitted, refused, and refused with a counter-offer. Beside it, in the same run, what ElasticFlow's
// admission test takes with the same jobs: it plans everything anew for every answer.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "bench_inputs.h"
#include "domain/seeded_rng.h"
#include "formats/cluster_shorthand.h"
#include "report/svg_plot.h"
#include "schedule/core/core.h"
#include "schedule/place/policies.h"
#include "schedule/policies/training_policies.h"

namespace weir::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Shapes of measured curves: a knee at 8, one at 16, nearly linear to 64.
std::vector<std::pair<CurveKey, Curve>> curves() {
  const auto curve = [](std::initializer_list<double> rates) {
    std::vector<CurvePoint> points;
    int gpus = 1;
    for (const double rate : rates) {
      points.push_back({gpus, IterationRate{static_cast<std::int64_t>(rate * 1e6)}});
      gpus *= 2;
    }
    return Curve{points, CurveOrigin::assumed};
  };
  return {{{"knee-8", 64}, curve({6, 8.6, 10.4, 11.1})},
          {{"knee-16", 128}, curve({7.3, 11.9, 16.7, 18.7, 19.9})},
          {{"knee-64", 256}, curve({1.8, 3.4, 6.2, 10.4, 15.2, 17.8, 18.8})},
          {{"linear", 256}, curve({1.3, 2.5, 4.6, 8, 12.6, 16.4, 20.7})}};
}

class Load {
 public:
  Load() {
    schedule::CoreConfig config;
    config.policy = schedule::placement_policies().front().policy;
    config.training_policy = schedule::find_training_policy("weir");
    config.training.makes_counter_offers = false;
    config.training.has_gate = false;  // it would turn away what the bench wants to measure
    config_ = config;
    const auto cluster = formats::parse_cluster_shorthand("512x8xA100");
    require(cluster.has_value(), "the cluster can be made");
    core_.emplace(config, schedule::initial_state_for_training(*cluster));
    for (const auto& [key, curve] : curves_) core_->handle({now, CurveUpdated{pool(), key, curve}});
  }

  PoolIndex pool() const { return core_->state().training.pools.front().pool->id; }
  std::size_t active() const { return core_->state().training.pools.front().active.size(); }
  schedule::Core& core() { return *core_; }
  const schedule::CoreConfig& config() const { return config_; }

  // A job of 1 to 30 hours on the GPUs its user would ask for, due in 0.8 to 3 times that.
  TrainingSpec any_job() {
    const auto& [key, curve] = curves_[rng_.below(curves_.size())];
    TrainingSpec spec;
    spec.name = "job";
    spec.curve = key;
    spec.asked_gpus = 1 << rng_.below(4);
    const double seconds = 3600 * std::pow(10, between(0, 1.5));
    spec.iterations = static_cast<std::int64_t>(
        seconds * static_cast<double>(curve.rate_at(spec.asked_gpus).value) / 1e6);
    spec.deadline_kind = DeadlineKind::hard;
    spec.deadline = now + from_seconds(static_cast<std::int64_t>(60 + seconds * between(0.8, 3)));
    return spec;
  }

  void fill_up_to(std::size_t jobs) {
    for (int tried = 0; active() < jobs; ++tried) {
      now += from_seconds(1);
      core_->handle({now, TrainingSubmitted{any_job()}});
      if (tried % 64 == 0) core_->handle({now, TimerFired{}});
    }
    core_->handle({now, TimerFired{}});
  }

  Time now{from_seconds(1'000'000)};

 private:
  double between(double a, double b) {
    return a + (b - a) * static_cast<double>(rng_.below(1U << 30)) / static_cast<double>(1U << 30);
  }

  std::vector<std::pair<CurveKey, Curve>> curves_ = curves();
  schedule::CoreConfig config_;
  std::optional<schedule::Core> core_;
  SeededRng rng_{7};
};

struct Times {
  std::vector<double> ms;
  double at(double share) {
    if (ms.empty()) return 0;
    std::sort(ms.begin(), ms.end());
    return ms[std::min(ms.size() - 1,
                       static_cast<std::size_t>(share * static_cast<double>(ms.size())))];
  }
};

struct Measured {
  Times admitted;
  Times refused;
  Times offered;
  Times rival;
};

double ms_to_handle(schedule::Core& core, const Event& event, std::vector<Record>& records) {
  const auto start = Clock::now();
  records = core.handle(event);
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Measured measure(Load& load, int samples) {
  Measured measured;
  schedule::CoreConfig with_offers = load.config();
  with_offers.training.makes_counter_offers = true;
  schedule::CoreConfig rival = load.config();
  rival.training_policy = schedule::find_training_policy("elasticflow");
  for (int i = 0; i < samples; ++i) {
    load.now += from_seconds(1);
    const Event event{load.now, TrainingSubmitted{load.any_job()}};
    schedule::State before = load.core().fork_state();
    std::vector<Record> records;
    const double ms = ms_to_handle(load.core(), event, records);
    if (std::holds_alternative<PromiseMade>(records.back().what)) {
      measured.admitted.ms.push_back(ms);
      const JobId job{load.core().state().jobs.size()};
      load.core().handle({load.now, JobCancelled{job}});
    } else if (records.back().reason.code != ReasonCode::too_slow_alone) {
      measured.refused.ms.push_back(ms);
      if (measured.offered.ms.size() < 40) {
        schedule::Core what_if{with_offers, before.fork()};
        measured.offered.ms.push_back(ms_to_handle(what_if, event, records));
      }
    }
    if (i % (samples / 4) == 0) {
      schedule::Core other{rival, std::move(before)};
      measured.rival.ms.push_back(ms_to_handle(other, event, records));
    }
  }
  return measured;
}

int run_bench() {
  fmt::print("512 nodes of 8 GPUs; ms for an answer, event in, records out; one thread\n\n");
  fmt::print("{:>7} {:>20} {:>20} {:>20} {:>12} {:>7}\n", "", "admitted", "refused",
             "with counter-offer", "elasticflow", "");
  fmt::print("{:>7} {:>9} {:>10} {:>9} {:>10} {:>9} {:>10} {:>12} {:>7}\n", "jobs", "p50", "p99",
             "p50", "p99", "p50", "max", "p50", "ratio");
  Load load;
  std::vector<report::PlotSeries> series{{"admitted, p50", 0, {}},
                                         {"admitted, p99", 1, {}},
                                         {"refused, p50", 2, {}},
                                         {"refused, p99", 3, {}}};
  for (const std::size_t jobs : {100U, 300U, 1000U, 3000U, 10'000U}) {
    load.fill_up_to(jobs);
    Measured measured = measure(load, 400);
    const double p50 = measured.admitted.at(0.5);
    fmt::print(
        "{:>7} {:>9.3f} {:>10.3f} {:>9.3f} {:>10.3f} {:>9.1f} {:>10.1f} {:>12.1f} {:>6.0f}x\n",
        jobs, p50, measured.admitted.at(0.99), measured.refused.at(0.5), measured.refused.at(0.99),
        measured.offered.at(0.5), measured.offered.at(1), measured.rival.at(0.5),
        p50 > 0 ? measured.rival.at(0.5) / p50 : 0);
    std::fflush(stdout);
    const double x = static_cast<double>(jobs) / 1000;
    const double values[] = {p50, measured.admitted.at(0.99), measured.refused.at(0.5),
                             measured.refused.at(0.99)};
    for (std::size_t i = 0; i < 4; ++i)
      if (values[i] > 0) series[i].points.push_back({x, values[i], values[i], values[i]});
  }
  report::LinePlot plot;
  plot.title = "Time to answer a submission as promises grow";
  plot.x_label = "promised jobs (thousands)";
  plot.y_label = "milliseconds";
  plot.series = series;
  plot.y_least = 0.0;
  std::filesystem::create_directories("out");
  std::ofstream page{"out/admission.html"};
  page << "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>" << plot.title
       << "</title><style>" << report::plot_style() << "</style></head><body>"
       << report::to_svg(plot) << "</body></html>\n";
  fmt::print("\nplot: out/admission.html. refused: not those that would be too slow alone.\n");
  return 0;
}

}  // namespace
}  // namespace weir::bench

int main() {
  return weir::bench::run_bench();
}
