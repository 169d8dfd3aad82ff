// SPDX-License-Identifier: Apache-2.0
//
// One option for each job, all together on no more GPUs than there are, so that the sum of their
// costs is small: by a genetic search, as Pollux does it. It begins with what the jobs have now and
// with what a greedy choice gives, so it is never worse than either. The work is bounded: a fixed
// population, a fixed number of generations at most, and an end when nothing gets better.
//
// The same problem and seed give the same answer. Costs are integers; no floating point decides.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "domain/seeded_rng.h"

namespace weir::schedule {

struct ShareOption {
  std::int32_t gpus = 0;
  std::int64_t cost = 0;
};

struct SharingJob {
  std::vector<ShareOption> options;  // ascending in GPUs; the first has none. At most 32
  std::uint8_t present = 0;          // which one it has
};

// By job: the place of its option.
struct Sharing {
  std::vector<std::uint8_t> options;
  std::int64_t cost = 0;
  std::int32_t gpus = 0;
  friend bool operator==(const Sharing&, const Sharing&) = default;
};

struct SearchRules {
  std::size_t population = 50;
  int generations = 40;
  int patience = 6;  // generations without anything better, before it ends
};

// The step that saves most for each GPU more, as long as there are GPUs.
Sharing share_greedily(std::span<const SharingJob> jobs, std::int32_t gpus);

// Where GPUs are short, jobs earlier in the list come first. Requires: what the jobs have now is no
// more than `gpus`, or else they are cut, the last in the list first.
Sharing search_sharing(std::span<const SharingJob> jobs, std::int32_t gpus,
                       const SearchRules& rules, SeededRng rng);

}  // namespace weir::schedule
