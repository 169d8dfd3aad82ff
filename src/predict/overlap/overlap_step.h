// SPDX-License-Identifier: Apache-2.0
//
// A backward pass whose gradients are sent group by group while it goes on, as data parallelism does: what it takes
// under a choice of groups and of CTAs for each.
//
// Collectives run in order on one stream. One starts when the one before has ended and its last gradient is there;
// meanwhile computing goes on alone. The step ends with the later of both.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "predict/overlap/collective_time.h"
#include "predict/overlap/contention.h"
#include "predict/overlap/overlap_timeline.h"

namespace weir::predict {

struct GradientGroup {
  double ready_ms = 0;  // work done when its last gradient is there
  std::int64_t bytes = 0;
};

// Neighbouring groups sent as one, with a choice of CTAs.
struct SentGroups {
  std::size_t end = 0;     // behind the last group
  std::size_t choice = 0;  // index into OverlapStep::ctas

  friend bool operator==(const SentGroups&, const SentGroups&) = default;
};

struct CollectiveRun {
  std::size_t first_group = 0;
  std::size_t end_group = 0;
  std::size_t choice = 0;
  std::int64_t bytes = 0;
  double alone_ms = 0;
  double start_ms = 0;  // times of the step
  double end_ms = 0;
};

struct OverlapRun {
  std::vector<CollectiveRun> collectives;
  double step_ms = 0;
  double computed_ms = 0;  // when computing was over

  double exposed_ms() const { return step_ms - computed_ms; }
};

class OverlapStep {
 public:
  // Milliseconds alone of a collective of so many bytes under a choice.
  using Duration = std::function<double(std::int64_t bytes, std::size_t choice)>;

  // The choice in the timeline that such a collective slows kernels down like: a small one uses fewer CTAs than asked.
  using Slowing = std::function<std::size_t(std::int64_t bytes, std::size_t choice)>;

  // Requires: groups in the order in which they are ready, none later than timeline.total(); ctas ascend. Without
  // `slowing`, the timeline has the choices of ctas.
  OverlapStep(OverlapTimeline timeline, std::vector<GradientGroup> groups, std::vector<int> ctas,
              Duration duration, Slowing slowing = {});

  const OverlapTimeline& timeline() const { return timeline_; }
  const std::vector<GradientGroup>& groups() const { return groups_; }
  const std::vector<int>& ctas() const { return ctas_; }

  std::int64_t bytes(std::size_t first, std::size_t end) const { return sums_[end] - sums_[first]; }
  double alone_ms(std::int64_t bytes, std::size_t choice) const { return duration_(bytes, choice); }
  std::size_t slows_like(std::int64_t bytes, std::size_t choice) const {
    return slowing_ ? slowing_(bytes, choice) : choice;
  }

  // Requires: `sent` covers all groups, in order.
  OverlapRun run(const std::vector<SentGroups>& sent) const;
  double step_ms(const std::vector<SentGroups>& sent) const { return run(sent).step_ms; }

  // No choice can take less: all work, and all sending after the first gradients. The second also holds for
  // groups that are sent together.
  double lower_bound_ms() const;
  double fused_lower_bound_ms() const;
  // Everything after the other, at the choice that sends fastest.
  double without_overlap_ms() const;

 private:
  double least_alone_ms(std::int64_t bytes) const;
  double sending_ms() const;

  OverlapTimeline timeline_;
  std::vector<GradientGroup> groups_;
  std::vector<int> ctas_;
  Duration duration_;
  Slowing slowing_;
  std::vector<std::int64_t> sums_;  // bytes of the first groups
};

// Every group by itself, all with one choice.
std::vector<SentGroups> all_alike(const OverlapStep& step, std::size_t choice);

// A step on a GPU. `groups` holds for each group the number of kernels after which it is ready, and its bytes.
struct GroupAfterKernels {
  std::size_t kernels = 0;
  std::int64_t bytes = 0;
};
OverlapStep make_overlap_step(const ContendedGpu& gpu, const ContentionCurves& curves,
                              const CollectiveSystem& system,
                              const std::vector<OverlapKernel>& kernels,
                              const std::vector<GroupAfterKernels>& groups,
                              const std::vector<int>& ctas);

}  // namespace weir::predict
