// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/fgd.h"

#include <algorithm>
#include <cassert>

#include "schedule/place/cpu_shortage.h"
#include "schedule/place/fragmentation.h"
#include "schedule/place/sigmoid_scale.h"

namespace weir::schedule {
namespace {

// For a share: the lowest-numbered GPU whose score is the best. Scores, not gains, are compared.
template <class GainOn>
GpuMask first_best_gpu(const NodeState& node, const Shape& shape, const SigmoidScale& scale,
                       GainOn gain_on) {
  int best_gpu = -1;
  int best_score = -1;
  for (int gpu = 0; gpu < node.gpu_count; ++gpu) {
    if (node.free_gpu[static_cast<std::size_t>(gpu)] < shape.gpu_share.value) continue;
    const int score = scale.score(gain_on(gpu));
    if (score <= best_score) continue;
    best_score = score;
    best_gpu = gpu;
  }
  assert(best_gpu >= 0 && "the task must fit");
  GpuMask mask;
  mask.insert(best_gpu);
  return mask;
}

class FgdScorer final : public NodeScorer {
 public:
  explicit FgdScorer(const TargetWorkload& target)
      : fragmentation_{target}, scale_{fragmentation_.total_weight()} {}

  Score score(const NodeState& node, const Shape& shape) const override {
    return scale_.score(fragmentation_.gain(node, shape));
  }

  GpuMask choose_gpus(const NodeState& node, const Shape& shape, std::uint64_t) const override {
    if (!shape.shares_gpu()) return first_whole_gpus(node, shape.gpu_count);
    return first_best_gpu(node, shape, scale_,
                          [&](int gpu) { return fragmentation_.gain_on(node, shape, gpu); });
  }

 private:
  Fragmentation fragmentation_;
  SigmoidScale scale_;
};

// Weights are counts in units of 1/kFine, so that C / C_m keeps its fraction.
constexpr std::int64_t kFine = 1024;
// A model that is nearly absent must not outweigh everything: C_m counts as at least C / kScarcest.
constexpr std::int64_t kScarcest = 50;
// The CPU term's weight: a tenth.
constexpr std::int64_t kShortageDivisor = 10;
// The most that breaking a block of whole GPUs may cost, in milli-GPU: half of what the CPU term
// can give for one GPU, and still more than one score point (40).
constexpr std::int64_t kMaxBlockStep = kWholeGpu.value / (2 * kShortageDivisor);

// What taking one GPU from a block of f whole free ones does to W F_n, for the f where it does
// most: tasks of f GPUs lose the whole block, smaller ones that GPU only.
std::int64_t block_step(const TargetWorkload& target) {
  std::int64_t highest = 0;
  for (int block = 2; block <= kMaxGpusPerNode; ++block) {
    std::int64_t step = 0;
    for (const ExpectedShape& expected : target.shapes) {
      const int gpus = expected.shape.gpu_count;
      if (gpus < 2 || gpus > block) continue;
      step += expected.count * (gpus == block ? block : 1);
    }
    highest = std::max(highest, step);
  }
  return highest * kWholeGpu.value;
}

// Counts, corrected twice:
//
//   by supply   times C / C_m, C = GPU of the cluster, C_m = GPU of the models m accepts. F knows
//               the demand only; this keeps tasks that can run anywhere off scarce models.
//   by block    for shapes with several GPUs, times min(1, kMaxBlockStep / block step). The step is
//               paid once, but the GPUs left on the broken node serve many tasks. In full it would
//               outweigh the CPU term when such shapes are common: all small tasks, even those that
//               need little CPU, would fill the small nodes first and waste the spare CPU there. A
//               step of a good score point is enough to keep small tasks on nodes already broken.
std::vector<std::int64_t> corrected_counts(const Outlook& outlook) {
  const std::int64_t all = outlook.supply.total.value;
  const std::int64_t step = std::max(block_step(outlook.target), std::int64_t{1});
  const std::int64_t kept = std::min(step, outlook.target.total * kMaxBlockStep);
  std::vector<std::int64_t> weights;
  for (const ExpectedShape& expected : outlook.target.shapes) {
    const std::int64_t served = std::max(
        {outlook.supply.on(expected.shape.models).value, all / kScarcest, std::int64_t{1}});
    WideProduct weight = static_cast<WideProduct>(expected.count) * kFine * all / served;
    if (expected.shape.gpu_count > 1) weight = weight * kept / step;
    weights.push_back(static_cast<std::int64_t>(weight));
  }
  return weights;
}

class FgdPlusScorer final : public NodeScorer {
 public:
  explicit FgdPlusScorer(const Outlook& outlook)
      : fragmentation_{outlook.target, corrected_counts(outlook), outlook.target.total * kFine},
        scale_{fragmentation_.total_weight()},
        shortage_{outlook.target} {}

  Score score(const NodeState& node, const Shape& shape) const override {
    return scale_.score(fragmentation_.gain(node, shape) - penalty(node, shape));
  }

  GpuMask choose_gpus(const NodeState& node, const Shape& shape, std::uint64_t) const override {
    if (!shape.shares_gpu()) return first_whole_gpus(node, shape.gpu_count);
    const std::int64_t same_on_all = penalty(node, shape);
    return first_best_gpu(node, shape, scale_, [&](int gpu) {
      return fragmentation_.gain_on(node, shape, gpu) - same_on_all;
    });
  }

 private:
  std::int64_t penalty(const NodeState& node, const Shape& shape) const {
    return shortage_.increase(node, shape) * fragmentation_.total_weight() /
           (kShortageDivisor * CpuShortage::kUnitsPerMilli);
  }

  Fragmentation fragmentation_;
  SigmoidScale scale_;
  CpuShortage shortage_;
};

}  // namespace

std::unique_ptr<NodeScorer> FgdPolicy::prepare(const Outlook& outlook) const {
  return std::make_unique<FgdScorer>(outlook.target);
}

std::unique_ptr<NodeScorer> FgdPlusPolicy::prepare(const Outlook& outlook) const {
  return std::make_unique<FgdPlusScorer>(outlook);
}

}  // namespace weir::schedule
