// SPDX-License-Identifier: Apache-2.0
//
// A stage whose operators may be spread differently over its GPUs. The path that is fastest may not fit, so memory has
// a price: each price gives another option, and the search over pipelines takes what serves it. A last option is none that could be run: it
// bounds from below what any stage of these GPUs takes.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <vector>

#include "plan/training/mixed_paths.h"
#include "plan/training/own_recompute.h"
#include "plan/training/stage_option.h"

namespace weir::plan {

// One price of memory: `rate` microseconds per MiB; activations of each microbatch in flight pay `share` of it.
struct PriceRule {
  double rate = 0;
  double share = 1;
  bool recomputes = false;
  bool counts_workspace =
      false;  // weights once more, since workspace is never smaller than they are
};

// The paths of one price: as many as there can be stages behind, since that many more microbatches are in flight.
class PricedPaths {
 public:
  PricedPaths(const MixedOps& ops, PriceRule rule);
  MixedPaths& behind(int stages);
  const PriceRule& rule() const { return rule_; }

 private:
  const MixedOps& ops_;
  PriceRule rule_;
  std::vector<std::unique_ptr<MixedPaths>> by_stages_;
};

// All the options of stages of one number of GPUs at one microbatch.
class MixedStages {
 public:
  MixedStages(const predict::IterationCosts& costs, int gpus, int microbatch,
              const std::vector<int>& allowed, double limit_mib, RecomputeRule rule);

  std::vector<std::unique_ptr<StageOption>> options();
  // Never slower to run and never larger than any stage of these GPUs, mixed or not.
  std::unique_ptr<StageOption> bound();

 private:
  friend class MixedStage;
  friend class MixedBound;
  void find_least_links();

  MixedOps ops_;
  MixedPaths fastest_;
  std::vector<std::unique_ptr<PricedPaths>> priced_;
  OwnRecompute own_;
  double limit_mib_;
  RecomputeRule rule_;
  std::vector<double> receive_[2];  // by operator: with the variant that sends least
  std::vector<double> send_[2];
};

}  // namespace weir::plan
