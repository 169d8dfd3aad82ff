// SPDX-License-Identifier: Apache-2.0
#include "network/partition/defragment.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace weir::network {
namespace {

std::optional<Defragmentation> with_other_spines(const LogicalClos& clos,
                                                 const RunningPartition& job, int hosts) {
  if (job.partition.spines.empty()) return std::nullopt;
  LogicalClos trial = clos;
  trial.release_links(job.partition);
  const auto admitted = trial.find(hosts);
  if (!admitted) return std::nullopt;
  trial.take(*admitted);
  auto after = trial.reroute(job.partition);
  if (!after) return std::nullopt;
  return Defragmentation{job.job, false, *std::move(after), *admitted};
}

std::optional<Defragmentation> with_other_hosts(const LogicalClos& clos,
                                                const RunningPartition& job, int hosts) {
  LogicalClos trial = clos;
  trial.release(job.partition);
  const auto admitted = trial.find(hosts);
  if (!admitted) return std::nullopt;
  trial.take(*admitted);
  const auto after = trial.find(job.partition.hosts);
  if (!after) return std::nullopt;
  return Defragmentation{job.job, true, *after, *admitted};
}

}  // namespace

std::optional<Defragmentation> defragment(const LogicalClos& clos,
                                          std::span<const RunningPartition> running, int hosts,
                                          int most_moved) {
  if (hosts > clos.free_hosts()) return std::nullopt;  // nobody leaves, so nothing would help
  std::vector<const RunningPartition*> smallest_first;
  for (const RunningPartition& job : running) smallest_first.push_back(&job);
  std::sort(smallest_first.begin(), smallest_first.end(),
            [](const RunningPartition* a, const RunningPartition* b) {
              return std::tie(a->partition.hosts, a->job) < std::tie(b->partition.hosts, b->job);
            });
  for (const RunningPartition* job : smallest_first) {
    if (auto found = with_other_spines(clos, *job, hosts)) return found;
  }
  for (const RunningPartition* job : smallest_first) {
    if (job->partition.hosts > most_moved) break;
    if (auto found = with_other_hosts(clos, *job, hosts)) return found;
  }
  return std::nullopt;
}

}  // namespace weir::network
