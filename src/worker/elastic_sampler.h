// SPDX-License-Identifier: Apache-2.0
//
// The same samples in the same order on any number of GPUs. The order of an epoch depends on the seed
// and the epoch alone; how far it is, is one number, the samples that all ranks together have consumed.
// It goes into the checkpoint, and whoever comes back, with more ranks or fewer, goes on from there.
//
//   while (auto batch = sampler.next(plan)) { train(*batch); sampler.advance(*batch); }
//
// Looking at a batch consumes nothing: a loader may read ahead with `at`, and a checkpoint still says
// what was trained on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/batch_plan.h"

namespace weir::worker {

// One step's samples, as far as this rank is concerned.
struct GlobalBatch {
  std::int64_t first = 0;             // position in the epoch of the global batch's first sample
  BatchPlan plan;                     // of this batch: the last one of an epoch may be smaller
  std::vector<std::int64_t> indices;  // this rank's samples, in order
};

class ElasticSampler {
 public:
  struct State {
    std::int64_t length = 0;
    std::uint64_t seed = 0;
    bool is_shuffled = true;
    std::uint64_t epoch = 0;
    std::int64_t consumed = 0;
    friend bool operator==(const State&, const State&) = default;
  };

  // Requires: 0 <= length <= kLongestEpoch.
  ElasticSampler(std::int64_t length, std::uint64_t seed, bool is_shuffled = true);

  const State& state() const { return state_; }
  // Goes on where a checkpoint was, in its order. An error when it is of other data.
  [[nodiscard]] Result<bool> restore(const State& state);

  // Begins an epoch. The one that is under way goes on where it is.
  void set_epoch(std::uint64_t epoch);

  // The batch of this epoch that comes next, or the one that begins at a position; nothing at the end.
  std::optional<GlobalBatch> next(const BatchPlan& plan) const { return at(state_.consumed, plan); }
  std::optional<GlobalBatch> at(std::int64_t first, const BatchPlan& plan) const;

  // All ranks have trained on the batch. False, and nothing happens, when it is not the next one.
  [[nodiscard]] bool advance(const GlobalBatch& batch);

 private:
  State state_;
};

// For a checkpoint: one line of text.
std::string encode(const ElasticSampler::State& state);
[[nodiscard]] Result<ElasticSampler::State> decode_sampler_state(std::string_view text);

}  // namespace weir::worker
