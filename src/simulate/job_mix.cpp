// SPDX-License-Identifier: Apache-2.0
#include "simulate/job_mix.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "domain/seeded_rng.h"
#include "domain/whole_numbers.h"

namespace weir::simulate {
namespace {

struct SizeShare {
  int hosts = 0;
  std::int64_t permille = 0;
};

// TPUv4-like. The published cumulative list is not monotone at 8, 16 and 32; its values are sorted.
constexpr std::array kSizes{SizeShare{4, 50},    SizeShare{16, 40},   SizeShare{32, 10},
                            SizeShare{64, 330},  SizeShare{128, 175}, SizeShare{192, 7},
                            SizeShare{256, 117}, SizeShare{384, 1},   SizeShare{512, 119},
                            SizeShare{768, 7},   SizeShare{1024, 37}, SizeShare{1536, 2},
                            SizeShare{2048, 105}};

// All-reduce as a part of an iteration: VGG16 with batch 4 to 96, ResNet50, ResNet101, BERT.
constexpr std::array kAllReduceShares{0.25, 0.23, 0.16, 0.10, 0.07, 0.04, 0.05,
                                      0.04, 0.02, 0.05, 0.02, 0.12, 0.08};
constexpr double kVgg16Batch8 = 0.23;

void communicate_like_pangu(MixedJob& job) {
  job.all_reduce = 0.0737;
  job.all_to_all = 0.258;
  job.all_gather = 0.0158;
}

}  // namespace

std::vector<MixedJob> draw_job_mix(const JobMixSetup& setup) {
  assert(!setup.durations.empty());
  const SeededRng rng{setup.seed};
  SeededRng arrivals = rng.fork("arrivals");
  SeededRng durations = rng.fork("durations");
  SeededRng sizes = rng.fork("sizes");
  SeededRng models = rng.fork("models");
  std::array<std::int64_t, kSizes.size()> weights{};
  std::transform(kSizes.begin(), kSizes.end(), weights.begin(),
                 [](const SizeShare& size) { return size.permille; });
  std::vector<MixedJob> jobs;
  double now = 0;
  for (std::int64_t i = 0; i < setup.jobs; ++i) {
    MixedJob job;
    now += setup.arrival_gap * arrivals.exponential();
    job.at = now;
    job.seconds = std::clamp(setup.durations[durations.below(setup.durations.size())],
                             setup.shortest, setup.longest);
    job.hosts = std::min(kSizes[sizes.weighted(weights)].hosts, setup.largest);
    job.iteration_seconds = 0.2 + 0.8 * models.uniform();
    job.halves_and_doubles = models.uniform() < 0.5 && is_power_of_two(job.hosts);
    const double kind = models.uniform();
    const double model = models.uniform();
    if (setup.mix == JobMix::heavy) {
      job.all_reduce = kVgg16Batch8;
      if (kind < 0.5) communicate_like_pangu(job);
    } else {
      job.all_reduce = kAllReduceShares[static_cast<std::size_t>(
          model * static_cast<double>(kAllReduceShares.size()))];
      if (kind < 0.3) communicate_like_pangu(job);
    }
    jobs.push_back(job);
  }
  return jobs;
}

double offered_load(std::span<const MixedJob> jobs, int hosts) {
  if (jobs.empty() || jobs.back().at <= 0) return 0;
  double work = 0;
  for (const MixedJob& job : jobs) work += job.seconds * job.hosts;
  return work / (jobs.back().at * hosts);
}

}  // namespace weir::simulate
