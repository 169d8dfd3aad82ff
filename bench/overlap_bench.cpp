// SPDX-License-Identifier: Apache-2.0
//
// How long the search for CTAs takes: 200 groups of gradients, 2,400 kernels, 8 choices.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "domain/seeded_rng.h"
#include "plan/overlap/overlap_search.h"

namespace {

using namespace weir;  // NOLINT: a small program
using Clock = std::chrono::steady_clock;

constexpr int kGroups = 200;
constexpr int kKernelsPerGroup = 12;
constexpr int kRepeats = 9;

predict::OverlapStep made_up_step() {
  SeededRng rng{7};
  std::vector<predict::OverlapKernel> kernels;
  std::vector<predict::GroupAfterKernels> groups;
  for (int g = 0; g < kGroups; ++g) {
    for (int k = 0; k < kKernelsPerGroup; ++k) {
      kernels.push_back({.ms = 0.02 + 0.1 * rng.uniform(),
                         .curve = {},
                         .blocks = 64 + static_cast<int>(rng.below(1200)),
                         .blocks_per_sm = 1,
                         .memory_gbps = 4500 * rng.uniform()});
    }
    groups.push_back(
        {kernels.size(), 1'000'000 + static_cast<std::int64_t>(rng.below(30'000'000))});
  }
  return predict::make_overlap_step(
      {}, {}, {.ranks = 64, .nodes = 8, .network_gbps = 50, .channel_gbps = 12}, kernels, groups,
      {1, 2, 4, 8, 12, 16, 24, 32});
}

// Milliseconds of the fastest of some runs, and the step that was found.
double measure(const predict::OverlapStep& step, const plan::OverlapSearchLimits& limits,
               const char* what) {
  double best = 1e9;
  plan::OverlapPlan found;
  for (int i = 0; i < kRepeats; ++i) {
    const auto start = Clock::now();
    found = plan::search_overlap(step, limits);
    best = std::min(best, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  fmt::print("{:<34}{:>10.1f} ms {:>12} transitions   step {:.3f} ms\n", what, best,
             found.transitions, found.step_ms);
  if (found.sent.empty()) std::exit(1);
  return found.step_ms;
}

}  // namespace

int main() {
  const predict::OverlapStep step = made_up_step();
  fmt::print("{} groups, {} kernels, {} choices of CTAs; fastest of {}\n\n", kGroups,
             kGroups * kKernelsPerGroup, step.ctas().size(), kRepeats);
  const double thinned = measure(step, {}, "fronts of 256");
  const double exact = measure(step, {.front = 0}, "exact");
  measure(step, {.window = 8}, "fronts of 256, 8 sent together");
  fmt::print("\nthinning costs {:.4f} % of the step\n", 100 * (thinned / exact - 1));
  return 0;
}
