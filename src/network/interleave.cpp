// SPDX-License-Identifier: Apache-2.0
#include "network/interleave.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

namespace weir::network {
namespace {

constexpr std::int64_t kStepsOfShortest = 96;  // of the shortest circle
constexpr std::int64_t kMostSteps = 4096;      // of the common one; longer ones are cut off

// What one job asks of one link in each step of its own circle.
using LinkProfile = std::map<int, std::vector<double>>;

class CommonCircle {
 public:
  CommonCircle(const JobTraffic& job, std::span<const TurningJob> others) {
    double shortest = job.alone_seconds();
    for (const TurningJob& other : others)
      shortest = std::min(shortest, other.traffic->alone_seconds());
    step_ = shortest / static_cast<double>(kStepsOfShortest);
    own_steps_ = steps_of(job);
    steps_ = own_steps_;
    for (const TurningJob& other : others) {
      const std::int64_t common = std::lcm(steps_, steps_of(*other.traffic));
      if (common <= kMostSteps) steps_ = common;
    }
    std::map<int, double> asked;
    for (const LinkLoad& demand : job.demands)
      asked[demand.link] = static_cast<double>(demand.flows);
    for (const TurningJob& other : others) {
      for (const LinkLoad& demand : other.traffic->demands) {
        const auto found = asked.find(demand.link);
        if (found != asked.end()) found->second += static_cast<double>(demand.flows);
      }
    }
    std::erase_if(asked, [](const auto& link) { return link.second <= 1 + 1e-6; });
    own_ = profile(job, asked);
    for (const auto& [link, most] : asked)
      others_[link].assign(static_cast<std::size_t>(steps_), 0);
    for (const TurningJob& other : others) {
      const std::int64_t length = steps_of(*other.traffic);
      const auto shift = std::llround(other.shift / step_);
      for (const auto& [link, arcs] : profile(*other.traffic, asked)) {
        std::vector<double>& all = others_[link];
        for (std::int64_t at = 0; at < steps_; ++at)
          all[static_cast<std::size_t>(at)] += arcs[wrapped(at - shift, length)];
      }
    }
  }

  std::int64_t own_steps() const { return own_steps_; }
  double step() const { return step_; }

  double excess(std::int64_t shift) const {
    double sum = 0;
    for (const auto& [link, arcs] : own_) {
      const std::vector<double>& all = others_.at(link);
      for (std::int64_t at = 0; at < steps_; ++at) {
        const double mine = arcs[wrapped(at - shift, own_steps_)];
        if (mine > 0) sum += std::max(0.0, all[static_cast<std::size_t>(at)] + mine - 1);
      }
    }
    return sum / static_cast<double>(steps_);
  }

 private:
  static std::size_t wrapped(std::int64_t at, std::int64_t length) {
    return static_cast<std::size_t>(((at % length) + length) % length);
  }

  std::int64_t steps_of(const JobTraffic& job) const {
    return std::clamp<std::int64_t>(std::llround(job.alone_seconds() / step_), 1, kMostSteps);
  }

  LinkProfile profile(const JobTraffic& job, const std::map<int, double>& links) const {
    LinkProfile profile;
    const std::int64_t steps = steps_of(job);
    const double length = job.alone_seconds();
    // Arcs are rounded up, by half a step at each end at least: shifts are rounded too.
    const auto step_at = [&](double seconds) {
      return seconds / length * static_cast<double>(steps);
    };
    double from = job.quiet_seconds;
    for (const TrafficPhase& phase : job.phases) {
      const double until = from + phase.seconds / phase.rate;
      for (const LinkLoad& load : phase.loads) {
        if (!links.contains(load.link)) continue;
        auto& arcs = profile[load.link];
        arcs.resize(static_cast<std::size_t>(steps));
        const auto first = static_cast<std::int64_t>(std::floor(step_at(from) - 0.5));
        const auto end = static_cast<std::int64_t>(std::ceil(step_at(until) + 0.5));
        for (std::int64_t at = first; at < std::min(end, first + steps); ++at) {
          double& arc = arcs[wrapped(at, steps)];
          arc = std::max(arc, static_cast<double>(load.flows) * phase.rate);
        }
      }
      from = until;
    }
    return profile;
  }

  double step_ = 1;
  std::int64_t own_steps_ = 1;
  std::int64_t steps_ = 1;
  LinkProfile own_;
  LinkProfile others_;
};

}  // namespace

double excess_demand(const TurningJob& job, std::span<const TurningJob> others) {
  const CommonCircle circle{*job.traffic, others};
  return circle.excess(std::llround(job.shift / circle.step()));
}

double best_shift(const JobTraffic& job, std::span<const TurningJob> others) {
  if (others.empty() || job.phases.empty()) return 0;
  const CommonCircle circle{job, others};
  std::int64_t best = 0;
  double least = circle.excess(0);
  for (std::int64_t shift = 1; shift < circle.own_steps() && least > 0; ++shift) {
    const double excess = circle.excess(shift);
    if (excess >= least - 1e-12) continue;
    least = excess;
    best = shift;
  }
  return static_cast<double>(best) * circle.step();
}

}  // namespace weir::network
