// SPDX-License-Identifier: Apache-2.0
//
// partition_bench: how long the search for contention-free partitions takes, where jobs come and go
// (nearly every state) and where links are free at random (the hardest states we know). CPU time.
//
//   under load         mean at most 10 us
//   random link states p99 under 10 ms
#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

#include "domain/seeded_rng.h"
#include "network/partition/logical_clos.h"

namespace {

using weir::SeededRng;
using weir::network::ClosShape;
using weir::network::LogicalClos;
using weir::network::NoPartition;
using weir::network::Partition;

// Of this thread: the machine may have other work.
double cpu_micros() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

struct Timings {
  std::vector<double> micros;
  std::int64_t found = 0;
  std::int64_t none = 0;
  std::int64_t undecided = 0;

  void time(const LogicalClos& clos, int hosts, Partition* result = nullptr) {
    const double start = cpu_micros();
    const auto answer = clos.find(hosts);
    micros.push_back(cpu_micros() - start);
    if (answer) {
      ++found;
      if (result != nullptr) *result = *answer;
    } else if (answer.error() == NoPartition::not_found_in_time) {
      ++undecided;
    } else {
      ++none;
    }
  }

  void print(const char* what) {
    std::sort(micros.begin(), micros.end());
    const double mean =
        std::accumulate(micros.begin(), micros.end(), 0.0) / static_cast<double>(micros.size());
    fmt::print("{:<44}{:>8}{:>8}{:>8}{:>10}{:>10.1f}{:>10.1f}{:>10.1f}{:>10.1f}\n", what,
               micros.size(), found, none, undecided, mean, micros[micros.size() / 2],
               micros[micros.size() * 99 / 100], micros.back());
  }
};

// First in, first out at a load of GPUs, sizes up to half the fabric.
void under_load(const char* what, const ClosShape& shape, std::vector<int> sizes, double load,
                int jobs) {
  SeededRng rng{1};
  LogicalClos clos{shape};
  Timings timings;
  std::multimap<double, Partition> ends;
  const double mean_size =
      std::accumulate(sizes.begin(), sizes.end(), 0.0) / static_cast<double>(sizes.size());
  double now = 0;
  for (int i = 0; i < jobs; ++i) {
    now += rng.exponential() * mean_size / (load * shape.hosts());
    const int hosts = sizes[rng.below(sizes.size())];
    const auto release_until = [&](double time) {
      while (!ends.empty() && ends.begin()->first <= time) {
        clos.release(ends.begin()->second);
        ends.erase(ends.begin());
      }
    };
    release_until(now);
    while (true) {
      Partition partition;
      const auto before = timings.found;
      timings.time(clos, hosts, &partition);
      if (timings.found > before) {
        clos.take(partition);
        ends.emplace(now + rng.exponential(), std::move(partition));
        break;
      }
      now = ends.begin()->first;
      release_until(now);
    }
  }
  timings.print(what);
}

void random_links(const char* what, int free_percent, int states) {
  SeededRng rng{2};
  Timings timings;
  for (int state = 0; state < states; ++state) {
    LogicalClos clos{{.leaves = 128, .hosts_per_leaf = 64, .spines = 64}};
    for (int leaf = 0; leaf < 128; ++leaf) {
      Partition taken;
      taken.leaves = {{.leaf = leaf}};
      for (int node = 0; node < 64; ++node) {
        if (rng.below(100) < 50) taken.leaves[0].nodes.push_back(node);
      }
      clos.take(taken);
      for (int spine = 0; spine < 64; ++spine) {
        if (rng.below(100) >= static_cast<std::uint64_t>(free_percent))
          clos.block_link(leaf, spine);
      }
    }
    for (const int hosts : {64, 96, 128, 256, 512, 1024}) timings.time(clos, hosts);
  }
  timings.print(what);
}

}  // namespace

int main() {
  fmt::print("{:<44}{:>8}{:>8}{:>8}{:>10}{:>10}{:>10}{:>10}{:>10}\n", "", "asked", "found", "none",
             "undecided", "mean us", "p50", "p99", "max");
  const std::vector<int> small{1, 2, 4, 8, 8, 8, 16, 16, 24, 32, 64, 128};
  const std::vector<int> large{8, 8, 16, 32, 64, 64, 96, 128, 256, 512};
  under_load("16 x 16, load 0.7", {.leaves = 16, .hosts_per_leaf = 16, .spines = 16}, small, 0.7,
             50'000);
  under_load("128 x 64, load 0.9", {.leaves = 128, .hosts_per_leaf = 64, .spines = 64}, large, 0.9,
             50'000);
  under_load("128 x 64, nodes of 4, load 0.9",
             {.leaves = 128, .hosts_per_leaf = 64, .spines = 64, .hosts_per_node = 4}, large, 0.9,
             50'000);
  random_links("128 x 64, half of the links free at random", 50, 100);
  random_links("128 x 64, 70 % of the links free at random", 70, 100);
  return 0;
}
