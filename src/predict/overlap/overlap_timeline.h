// SPDX-License-Identifier: Apache-2.0
//
// Computation beside collectives, exactly: kernels run one after the other, each at the rate that the collective
// beside it leaves, and the collective at the share of its speed that the kernel leaves.
//
// Where a collective lies on the GPU, and so what it leaves each kernel, may be settled by the kernel that runs when it
// starts. Then there is a set of rates for each such kind of start.
//
// Work is measured in milliseconds of computing alone, so a place in the computation is a number from 0 to total().
// Sums over prefixes of the kernels, one for each choice of CTAs and kind of start, make a step a search in them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace weir::predict {

// For each kernel, under one choice of CTAs.
struct SharedRates {
  std::vector<double> compute;     // in (0, 1]
  std::vector<double> collective;  // in (0, 1]
};

struct StepMoment {
  double time_ms = 0;
  double work_ms = 0;  // computed so far

  friend bool operator==(const StepMoment&, const StepMoment&) = default;
};

class OverlapTimeline {
 public:
  // Requires: as many rates as kernels in every choice, kernel times >= 0.
  OverlapTimeline(std::vector<double> kernel_ms, std::vector<SharedRates> choices);
  // `starts`: rates by kind of start, then by choice; `start_of`: the kind of a start during each kernel.
  OverlapTimeline(std::vector<double> kernel_ms, std::vector<std::vector<SharedRates>> starts,
                  std::vector<std::size_t> start_of);

  double total() const { return work_.back(); }
  std::size_t choices() const { return starts_.front().size(); }
  std::size_t starts() const { return starts_.size(); }
  // Work done when the first `kernels` kernels are over.
  double work_after(std::size_t kernels) const { return work_[kernels]; }

  // A collective that takes `alone_ms` by itself runs from `from` to its end.
  StepMoment advance(StepMoment from, double alone_ms, std::size_t choice) const;
  // Nothing is sent until this much work is done.
  static StepMoment wait_for(StepMoment from, double work_ms);
  // Time that computing needs from here to its end beside a collective that starts here and does not end before.
  double ms_to_finish(double work_ms, std::size_t choice) const;

 private:
  struct Prefix {
    std::vector<double> time;  // wall time of the first kernels beside a collective
    std::vector<double>
        collective;  // what the collective gets done meanwhile, in its own time alone
  };

  static Prefix sum_up(const std::vector<double>& kernel_ms, const SharedRates& rates);
  std::size_t kernel_at(double work_ms) const;
  const Prefix& started_at(std::size_t kernel, std::size_t choice) const;
  double within(const std::vector<double>& prefix, std::size_t k, double work_ms) const;

  std::vector<double> work_;  // of the first kernels; one longer than there are kernels
  std::vector<std::vector<Prefix>> starts_;  // by kind of start, then by choice
  std::vector<std::size_t> start_of_;        // by kernel
};

}  // namespace weir::predict
