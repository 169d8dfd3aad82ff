// SPDX-License-Identifier: Apache-2.0
#include "network_workload.h"

#include <time.h>

#include <algorithm>
#include <bit>

#include "domain/seeded_rng.h"
#include "network/collective.h"
#include "network/flow_run.h"
#include "network/path_classes.h"
#include "network/routes.h"

namespace weir::bench {
namespace {

namespace net = weir::network;

constexpr std::uint64_t kMeanBytes = 1'000'000'000;

std::vector<net::LinkIndex> path_of(const net::Router& router, net::GpuIndex from, net::GpuIndex to,
                                    std::uint64_t connection) {
  std::vector<net::RoutedFlow> flows;
  std::vector<std::uint32_t> lost;
  const std::vector<net::Transfer> transfer{{from, to, 1, connection}};
  router.route(transfer, {}, flows, lost);
  std::vector<net::LinkIndex> links;
  for (const net::Hop& hop : flows.at(0).path) links.push_back(hop.link);
  return links;
}

net::Fabric made_fabric(std::uint32_t leaves, std::uint32_t gpus, std::uint32_t spines) {
  return *net::build_fabric(net::leaf_spine_spec(static_cast<std::int32_t>(leaves),
                                                 static_cast<std::int32_t>(gpus),
                                                 static_cast<std::int32_t>(spines)));
}

std::uint64_t random_bytes(SeededRng& rng) {
  return kMeanBytes / 2 + rng.below(kMeanBytes);
}

// More than enough flows for every slot.
std::size_t flows_per_slot(std::uint64_t ends, std::size_t slots) {
  return 20 + 4 * ends / slots;
}

}  // namespace

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

NetworkWorkload unsynchronised(std::uint32_t leaves, std::uint32_t gpus, std::uint32_t flows,
                               std::uint64_t ends) {
  const net::Fabric fabric = made_fabric(leaves, gpus, gpus);
  const net::Router router{fabric, {net::Routing::ecmp, 1}};
  SeededRng rng{flows};
  NetworkWorkload made;
  made.capacities = fabric.capacities();
  constexpr std::uint32_t kPaths = 20'000;
  for (std::uint32_t i = 0; i < kPaths; ++i) {
    const auto from = static_cast<net::GpuIndex>(rng.below(fabric.gpus()));
    const auto to =
        static_cast<net::GpuIndex>((from + 1 + rng.below(fabric.gpus() - 1)) % fabric.gpus());
    made.paths.push_back(path_of(router, from, to, i));
  }
  made.slots.resize(flows);
  for (auto& slot : made.slots) {
    for (std::size_t i = 0; i < flows_per_slot(ends, flows); ++i)
      slot.push_back({static_cast<std::uint32_t>(rng.below(kPaths)), random_bytes(rng)});
  }
  made.ends = ends;
  return made;
}

NetworkWorkload crowded_paths(std::uint64_t ends) {
  const net::Fabric fabric = made_fabric(4, 4, 4);
  const net::Router router{fabric, {net::Routing::ecmp, 1}};
  SeededRng rng{240};
  NetworkWorkload made;
  made.capacities = fabric.capacities();
  for (net::GpuIndex from = 0; from < fabric.gpus(); ++from) {
    for (net::GpuIndex to = 0; to < fabric.gpus(); ++to) {
      if (to != from) made.paths.push_back(path_of(router, from, to, 0));
    }
  }
  made.slots.resize(2048);
  for (auto& slot : made.slots) {
    for (std::size_t i = 0; i < flows_per_slot(ends, made.slots.size()); ++i) {
      slot.push_back({static_cast<std::uint32_t>(rng.below(made.paths.size())), random_bytes(rng)});
    }
  }
  made.ends = ends;
  return made;
}

NetworkWorkload isolated_jobs(std::uint64_t ends) {
  constexpr std::uint32_t kGpus = 8192;
  constexpr std::uint32_t kPerLeaf = 64;
  constexpr std::uint32_t kPathsPerGpu = 4;
  const net::Fabric fabric = made_fabric(kGpus / kPerLeaf, kPerLeaf, kPerLeaf);
  // Jobs are aligned blocks, so by source index no uplink or downlink has flows of two of them.
  const net::Router router{fabric, {net::Routing::source_index}};
  SeededRng rng{8192};
  NetworkWorkload made;
  made.capacities = fabric.capacities();
  for (std::uint32_t first = 0; first < kGpus;) {
    std::uint32_t size = std::uint32_t{8} << rng.below(6);
    while (first % size != 0 || first + size > kGpus) size /= 2;
    for (std::uint32_t gpu = first; gpu < first + size; ++gpu) {
      for (std::uint32_t i = 0; i < kPathsPerGpu; ++i) {
        const auto offset = static_cast<std::uint32_t>(1 + rng.below(size - 1));
        made.paths.push_back(path_of(router, gpu, first + (gpu - first + offset) % size, 0));
      }
    }
    first += size;
  }
  made.slots.resize(kGpus);
  for (std::uint32_t gpu = 0; gpu < kGpus; ++gpu) {
    for (std::size_t i = 0; i < flows_per_slot(ends, kGpus); ++i) {
      made.slots[gpu].push_back(
          {gpu * kPathsPerGpu + static_cast<std::uint32_t>(rng.below(kPathsPerGpu)),
           random_bytes(rng)});
    }
  }
  made.ends = ends;
  return made;
}

NetworkWorkload stepped(SteppedKind kind, std::uint32_t leaves, std::uint32_t gpus) {
  const net::Fabric fabric = made_fabric(leaves, gpus, gpus);
  const net::Router router{fabric, {net::Routing::ecmp, 1}};
  SeededRng rng{256};
  std::vector<net::GpuIndex> order(fabric.gpus());
  for (net::GpuIndex i = 0; i < order.size(); ++i) order[i] = i;
  if (kind == SteppedKind::ring_shuffled) rng.shuffle(order);
  NetworkWorkload made;
  made.capacities = fabric.capacities();
  std::vector<std::uint32_t> path_at(order.size() * order.size(), ~std::uint32_t{0});
  const auto collective = net::make_collective(
      kind == SteppedKind::all_to_all           ? CollectiveKind::all_to_all
      : kind == SteppedKind::all_to_all_at_once ? CollectiveKind::all_to_all_at_once
                                                : CollectiveKind::ring_all_reduce,
      fabric.gpus());
  for (const auto& moves : collective.steps) {
    auto& step = made.steps.emplace_back();
    for (const net::Move& move : moves) {
      std::uint32_t& path = path_at[move.from * order.size() + move.to];
      if (path == ~std::uint32_t{0}) {
        path = static_cast<std::uint32_t>(made.paths.size());
        made.paths.push_back(path_of(router, order[move.from], order[move.to], 0));
      }
      step.push_back({path, kMeanBytes});
    }
  }
  return made;
}

namespace {

void play_slots(const NetworkWorkload& workload, const std::vector<std::vector<net::Hop>>& paths,
                net::FlowRun& run, bool notes_rates, NetworkRun& result) {
  std::vector<std::uint32_t> slot_of;
  std::vector<std::uint32_t> done(workload.slots.size(), 0);
  std::vector<net::FlowIndex> flow_of(workload.slots.size(), 0);
  const auto start = [&](std::uint32_t slot) {
    const PlayedFlow& next = workload.slots[slot][done[slot]++];
    const net::FlowIndex flow = run.start(paths[next.path], static_cast<double>(next.bytes));
    if (flow >= slot_of.size()) slot_of.resize(flow + 1);
    slot_of[flow] = slot;
    flow_of[slot] = flow;
  };
  for (std::uint32_t slot = 0; slot < workload.slots.size(); ++slot) start(slot);
  for (std::uint64_t ended = 0; ended < workload.ends;) {
    if (notes_rates) {
      run.commit();
      auto& interval = result.intervals.emplace_back();
      interval.from = run.now();
      for (const net::FlowIndex flow : flow_of) interval.rates.push_back(run.rate(flow));
    }
    const auto flows = run.advance();
    if (notes_rates) result.intervals.back().to = run.now();
    ended += flows.size();
    for (const net::FlowIndex flow : flows) start(slot_of[flow]);
  }
}

}  // namespace

NetworkRun play(const NetworkWorkload& workload, bool notes_rates) {
  std::vector<std::vector<net::Hop>> paths;
  for (const auto& links : workload.paths) {
    auto& path = paths.emplace_back();
    for (const net::LinkIndex link : links) path.push_back({link, 1});
  }
  NetworkRun result;
  net::FlowRun run{workload.capacities};
  const double begin = cpu_seconds();
  if (!workload.slots.empty()) play_slots(workload, paths, run, notes_rates, result);
  for (const auto& step : workload.steps) {
    for (const PlayedFlow& flow : step)
      run.start(paths[flow.path], static_cast<double>(flow.bytes));
    while (run.active() > 0) run.advance();
  }
  result.cpu_seconds = cpu_seconds() - begin;
  result.end_time = run.now();
  result.events = run.events() - workload.slots.size();  // the first of each slot start at once
  return result;
}

NetworkRun play_classed(const NetworkWorkload& workload) {
  net::PathClasses run{workload.capacities};
  for (const auto& links : workload.paths) run.add_path(links);
  std::vector<std::uint32_t> slot_of;
  std::vector<std::uint32_t> done(workload.slots.size(), 0);
  const auto start = [&](std::uint32_t slot) {
    const PlayedFlow& next = workload.slots[slot][done[slot]++];
    run.start(next.path, static_cast<double>(next.bytes));
    slot_of.push_back(slot);  // by member
  };
  NetworkRun result;
  const double begin = cpu_seconds();
  for (std::uint32_t slot = 0; slot < workload.slots.size(); ++slot) start(slot);
  for (std::uint64_t ended = 0; ended < workload.ends;) {
    const auto members = run.advance();
    ended += members.size();
    for (const auto member : members) start(slot_of[member]);
  }
  result.cpu_seconds = cpu_seconds() - begin;
  result.end_time = run.now();
  result.events = run.events() - workload.slots.size();
  return result;
}

}  // namespace weir::bench
