// SPDX-License-Identifier: Apache-2.0
#include "simulate/synth.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "domain/seeded_rng.h"

namespace weir::simulate {
namespace {

struct NodeKind {
  const char* model;
  std::int64_t cores;
  std::int64_t memory_gib;
  std::int32_t gpus;
  std::int64_t weight;  // nodes of 1213
};

// The GPU nodes of openb. Models G2 and G3 are undisclosed there; the names are kept.
constexpr std::array kNodeKinds{
    NodeKind{"G2", 96, 384, 8, 549},     NodeKind{"T4", 104, 512, 2, 387},
    NodeKind{"P100", 16, 120, 2, 112},   NodeKind{"G3", 128, 768, 8, 39},
    NodeKind{"V100M16", 32, 128, 4, 28}, NodeKind{"P100", 64, 256, 2, 22},
    NodeKind{"V100M32", 96, 768, 8, 21}, NodeKind{"V100M16", 8, 32, 1, 19},
    NodeKind{"T4", 96, 384, 4, 17},      NodeKind{"V100M32", 48, 368, 4, 9},
    NodeKind{"V100M16", 64, 256, 8, 8},  NodeKind{"A10", 128, 1024, 1, 2},
};

struct ShapeKind {
  std::int64_t milli_cpu;
  std::int64_t memory_mib;
  std::int32_t gpus;
  std::int64_t share;
  std::int64_t weight;  // jobs of 10,000
};

// The popular shapes, weights rounded; together they stand for the whole mix: 13 % CPU-only, 38 %
// shares, 48 % one GPU, 1 % more.
constexpr std::array kShapeKinds{
    ShapeKind{12'500, 57'344, 0, 0, 450},    ShapeKind{32'000, 49'152, 0, 0, 350},
    ShapeKind{8'000, 30'517, 0, 0, 230},     ShapeKind{15'400, 51'200, 0, 0, 180},
    ShapeKind{16'500, 51'200, 0, 0, 125},    ShapeKind{3'152, 5'600, 1, 810, 1'320},
    ShapeKind{11'908, 47'104, 1, 470, 520},  ShapeKind{8'000, 30'517, 1, 470, 480},
    ShapeKind{11'908, 47'104, 1, 650, 320},  ShapeKind{4'000, 22'888, 1, 320, 270},
    ShapeKind{4'000, 30'517, 1, 230, 170},   ShapeKind{4'152, 10'600, 1, 550, 160},
    ShapeKind{8'000, 30'517, 1, 320, 140},   ShapeKind{3'152, 5'600, 1, 590, 120},
    ShapeKind{6'000, 12'288, 1, 460, 110},   ShapeKind{4'000, 15'258, 1, 160, 100},
    ShapeKind{4'152, 10'600, 1, 370, 70},    ShapeKind{11'300, 49'152, 1, 1000, 1'200},
    ShapeKind{11'400, 48'128, 1, 1000, 780}, ShapeKind{3'152, 5'600, 1, 1000, 630},
    ShapeKind{18'708, 64'512, 1, 1000, 340}, ShapeKind{12'000, 24'576, 1, 1000, 350},
    ShapeKind{9'810, 41'560, 1, 1000, 260},  ShapeKind{15'700, 58'368, 1, 1000, 240},
    ShapeKind{8'000, 16'384, 1, 1000, 240},  ShapeKind{11'908, 47'104, 1, 1000, 220},
    ShapeKind{4'000, 24'576, 1, 1000, 190},  ShapeKind{16'000, 32'768, 1, 1000, 170},
    ShapeKind{24'200, 93'184, 1, 1000, 110}, ShapeKind{14'200, 58'368, 1, 1000, 80},
    ShapeKind{16'200, 66'560, 2, 1000, 20},  ShapeKind{32'200, 132'096, 4, 1000, 18},
    ShapeKind{88'000, 327'680, 8, 1000, 27}, ShapeKind{64'200, 263'168, 8, 1000, 27},
};

// Run times: lognormal with the published median and 95th percentile; arrivals at the published
// mean rate.
constexpr double kMedianRunSeconds = 540.0;
constexpr double kLogSigma = 2.0;
constexpr double kMeanGapSeconds = 1583.0;
constexpr double kLongestTraceSeconds = 20.0 * 365 * 24 * 3600;
constexpr double kLongestRunSeconds = 30.0 * 24 * 3600;

template <class Kinds>
std::vector<std::int64_t> weights_of(const Kinds& kinds) {
  std::vector<std::int64_t> weights;
  for (const auto& kind : kinds) weights.push_back(kind.weight);
  return weights;
}

// `total` split in proportion to the weights, largest remainders rounded up: no draw, so small
// clusters keep the mix too.
std::vector<std::int64_t> split(std::int64_t total, std::span<const std::int64_t> weights) {
  std::int64_t sum = 0;
  for (const std::int64_t weight : weights) sum += weight;
  std::vector<std::int64_t> parts;
  std::vector<std::pair<std::int64_t, std::size_t>> remainders;
  std::int64_t left = total;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    parts.push_back(total * weights[i] / sum);
    left -= parts.back();
    remainders.emplace_back(-(total * weights[i] % sum), i);
  }
  std::sort(remainders.begin(), remainders.end());
  for (std::size_t i = 0; left > 0; ++i, --left) ++parts[remainders[i].second];
  return parts;
}

Duration from_real_seconds(double seconds) {
  return Duration{std::llround(seconds * 1e3) * 1'000'000};
}

// One or two models, the more likely the more of its GPUs there are.
GpuModelSet draw_models(const Cluster& cluster, SeededRng& rng) {
  GpuModelSet models;
  for (std::uint64_t picks = 1 + rng.below(2); picks > 0; --picks) {
    models.insert(cluster.nodes[rng.below(cluster.nodes.size())].model);
  }
  return models;
}

}  // namespace

Cluster synth_cluster(const SynthConfig& config) {
  Cluster cluster;
  const std::vector<std::int64_t> counts = split(config.nodes, weights_of(kNodeKinds));
  for (std::size_t kind = 0; kind < kNodeKinds.size(); ++kind) {
    const NodeKind& like = kNodeKinds[kind];
    for (std::int64_t i = 0; i < counts[kind]; ++i) {
      const std::size_t number = cluster.nodes.size();
      cluster.nodes.push_back(Node{NodeId{number + 1}, fmt::format("node-{:05}", number),
                                   cluster.pool_named(like.model), MilliCpu{like.cores * 1000},
                                   Mebibytes{like.memory_gib * 1024}, like.gpus,
                                   *cluster.models.intern(like.model)});
    }
  }
  return cluster;
}

Workload synth_workload(const SynthConfig& config, const Cluster& cluster) {
  const SeededRng rng{config.seed};
  SeededRng shapes = rng.fork("shapes");
  SeededRng times = rng.fork("times");
  SeededRng extras = rng.fork("constraints and gangs");
  const std::vector<std::int64_t> weights = weights_of(kShapeKinds);
  const auto percent = [&extras](int chance) {
    return extras.below(100) < static_cast<std::uint64_t>(chance);
  };

  Workload workload;
  workload.name = "synthetic";
  // A very long list comes faster instead of lasting longer than a file may say.
  const double mean_gap =
      std::min(kMeanGapSeconds, kLongestTraceSeconds / std::max(1, config.jobs));
  double now = 0;
  for (std::int32_t i = 0; i < config.jobs; ++i) {
    const ShapeKind& kind = kShapeKinds[shapes.weighted(weights)];
    WorkloadJob job;
    job.spec.name = fmt::format("job-{:06}", i);
    job.spec.shape = Shape{
        MilliCpu{kind.milli_cpu}, Mebibytes{kind.memory_mib}, kind.gpus, MilliGpu{kind.share}, {}};
    if (kind.gpus > 0 && percent(config.constrained_percent))
      job.spec.shape.models = draw_models(cluster, extras);
    if (kind.share == kWholeGpu.value && percent(config.gang_percent))
      job.spec.replicas = 2 << extras.below(3);
    const double run =
        std::min(kLongestRunSeconds, times.lognormal(std::log(kMedianRunSeconds), kLogSigma));
    job.timing = JobTiming{from_real_seconds(now), from_real_seconds(std::max(1.0, run))};
    now += mean_gap * times.exponential();
    workload.jobs.push_back(std::move(job));
  }
  return workload;
}

}  // namespace weir::simulate
