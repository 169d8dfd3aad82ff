// SPDX-License-Identifier: Apache-2.0
#include "simulate/fragmentation_study.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <utility>

#include "domain/seeded_rng.h"
#include "domain/whole_numbers.h"
#include "network/partition/optical_clos.h"
#include "simulate/parallel_for.h"

namespace weir::simulate {
namespace {

struct ArrivingJob {
  double at = 0;
  double duration = 0;
  int hosts = 0;
};

std::vector<ArrivingJob> draw_jobs(const FragmentationSetup& setup, double load,
                                   std::uint64_t seed) {
  const SeededRng rng{seed};
  SeededRng arrivals = rng.fork("arrivals");
  SeededRng durations = rng.fork("durations");
  SeededRng sizes = rng.fork("sizes");
  std::vector<std::int64_t> weights;
  double hosts = 0;
  double all = 0;
  for (const SizeWeight& size : setup.sizes) {
    weights.push_back(size.weight);
    hosts += static_cast<double>(size.hosts) * static_cast<double>(size.weight);
    all += static_cast<double>(size.weight);
  }
  const double gap = hosts / all / (load * setup.shape.hosts());
  std::vector<ArrivingJob> jobs;
  double now = 0;
  for (std::int64_t i = 0; i < setup.jobs; ++i) {
    now += gap * arrivals.exponential();
    jobs.push_back({now, durations.exponential(), setup.sizes[sizes.weighted(weights)].hosts});
  }
  return jobs;
}

// One fabric under one rule.
class RuledFabric {
 public:
  RuledFabric(const network::ClosShape& shape, FabricRule rule)
      : rule_{rule}, free_{shape.hosts()}, clos_{shape}, optical_{optical_shape(shape)} {}

  int free_hosts() const { return free_; }
  std::int64_t circuits_moved() const { return moved_; }
  std::int64_t jobs_paused() const { return paused_; }

  bool start(std::uint64_t job, int hosts) {
    if (hosts > free_) return false;
    if (rule_ == FabricRule::logical_clos) {
      const auto found = clos_.find(hosts);
      if (!found) return false;
      clos_.take(*found);
      partitions_.emplace(job, *found);
    } else if (rule_ == FabricRule::optical_circuits) {
      const auto started = optical_.start(JobId{job}, hosts);
      if (!started) return false;
      moved_ += started->circuits_moved;
      paused_ += std::ssize(started->jobs_paused);
    }
    free_ -= hosts;
    return true;
  }

  void release(std::uint64_t job, int hosts) {
    if (rule_ == FabricRule::logical_clos) {
      const auto found = partitions_.find(job);
      clos_.release(found->second);
      partitions_.erase(found);
    } else if (rule_ == FabricRule::optical_circuits) {
      optical_.release(JobId{job});
    }
    free_ += hosts;
  }

 private:
  // As many spine ports as leaf ports; two of each spine at each switch, as published.
  static network::OpticalShape optical_shape(const network::ClosShape& shape) {
    return {.leaves = shape.leaves,
            .hosts_per_leaf = shape.hosts_per_leaf,
            .spines = static_cast<int>(divide_up(shape.leaves, 2)),
            .spine_ports_per_switch = 2,
            .hosts_per_node = shape.hosts_per_node};
  }

  FabricRule rule_;
  int free_;
  network::LogicalClos clos_;
  network::OpticalClos optical_;
  std::map<std::uint64_t, network::Partition> partitions_;
  std::int64_t moved_ = 0;
  std::int64_t paused_ = 0;
};

FragmentationResult play_queue(const FragmentationSetup& setup, FabricRule rule, double load,
                               std::uint64_t seed) {
  const std::vector<ArrivingJob> jobs = draw_jobs(setup, load, seed);
  RuledFabric fabric{setup.shape, rule};
  using End = std::pair<double, std::size_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  FragmentationResult result{rule, load, seed};
  std::size_t head = 0;  // jobs before it have started
  std::size_t next = 0;  // jobs from here on have not come
  double now = 0;
  double wait = 0;
  double blocked = 0;
  while (head < jobs.size()) {
    // At one instant: free what ends, admit what arrives, then start what can.
    double later = next < jobs.size() ? jobs[next].at : ends.top().first;
    if (!ends.empty()) later = std::min(later, ends.top().first);
    if (head < next && jobs[head].hosts <= fabric.free_hosts()) blocked += later - now;
    now = later;
    for (; !ends.empty() && ends.top().first <= now; ends.pop())
      fabric.release(ends.top().second, jobs[ends.top().second].hosts);
    while (next < jobs.size() && jobs[next].at <= now) ++next;
    for (; head < next && fabric.start(head, jobs[head].hosts); ++head) {
      wait += now - jobs[head].at;
      ends.emplace(now + jobs[head].duration, head);
    }
  }
  const auto count = static_cast<double>(jobs.size());
  result.mean_wait = wait / count;
  result.blocked_share = blocked / now;
  result.circuits_moved_per_job = static_cast<double>(fabric.circuits_moved()) / count;
  result.jobs_paused_per_job = static_cast<double>(fabric.jobs_paused()) / count;
  return result;
}

MeanAndSpread over_seeds(const std::vector<FragmentationResult>& results, FabricRule rule,
                         double load, double FragmentationResult::*field) {
  std::optional<MeanAndSpread> spread;
  int count = 0;
  for (const FragmentationResult& result : results) {
    if (result.rule != rule || result.load != load) continue;
    const double value = result.*field;
    if (!spread) spread = {0, value, value};
    spread->mean += value;
    spread->least = std::min(spread->least, value);
    spread->most = std::max(spread->most, value);
    ++count;
  }
  if (!spread) return {};
  spread->mean /= count;
  return *spread;
}

}  // namespace

std::string_view name_of(FabricRule rule) {
  switch (rule) {
    case FabricRule::gpus_only:
      return "GPUs only";
    case FabricRule::logical_clos:
      return "logical Clos";
    case FabricRule::optical_circuits:
      break;
  }
  return "optical circuits";
}

std::vector<FragmentationResult> study_fragmentation(const FragmentationSetup& setup) {
  std::vector<FragmentationResult> results;
  for (const double load : setup.loads) {
    for (const FabricRule rule :
         {FabricRule::gpus_only, FabricRule::logical_clos, FabricRule::optical_circuits}) {
      for (const std::uint64_t seed : setup.seeds) results.push_back({rule, load, seed});
    }
  }
  parallel_for(results.size(), setup.threads, [&](std::size_t i) {
    results[i] = play_queue(setup, results[i].rule, results[i].load, results[i].seed);
  });
  return results;
}

MeanAndSpread mean_wait(const std::vector<FragmentationResult>& results, FabricRule rule,
                        double load) {
  return over_seeds(results, rule, load, &FragmentationResult::mean_wait);
}

MeanAndSpread blocked_share(const std::vector<FragmentationResult>& results, FabricRule rule,
                            double load) {
  return over_seeds(results, rule, load, &FragmentationResult::blocked_share);
}

}  // namespace weir::simulate
