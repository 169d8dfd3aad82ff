// SPDX-License-Identifier: Apache-2.0
//
// The same global batch on any number of GPUs. Its samples are dealt to the ranks as evenly as they can
// be (they differ by one at most), one stretch of the batch to each, in the order of the ranks. What a
// rank cannot hold at once it takes in several micro-batches and adds the gradients up.
//
// A mean loss over a micro-batch of m samples counts m / global_batch; over all ranks that adds up to 1,
// also where the division is uneven. What averages over ranks needs it times world_size.
#pragma once

#include <cstdint>
#include <vector>

#include "domain/result.h"

namespace weir::worker {

// Which of how many processes this one is.
struct Place {
  std::int64_t world_size = 1;
  std::int64_t rank = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

// From WORLD_SIZE and RANK; alone it is rank 0 of 1.
[[nodiscard]] Result<Place> place_from_environment();

class BatchPlan {
 public:
  // The samples a GPU can hold at once.
  static constexpr std::int64_t kAllFit = 0;

  [[nodiscard]] static Result<BatchPlan> make(std::int64_t global_batch, Place place,
                                              std::int64_t most_local = kAllFit);

  std::int64_t global_batch() const { return global_batch_; }
  Place place() const { return place_; }
  // Where this rank's samples begin within the global batch.
  std::int64_t first() const;
  // How many of them there are: 0 when there are more ranks than samples.
  std::int64_t samples() const;
  // How many the busiest rank takes.
  std::int64_t most_samples() const;

  // The sizes of this rank's micro-batches, none of them empty; synchronise in the last one. A rank
  // with fewer samples than passes skips a pass. One without samples has none, and takes part in the
  // reduction with zeros.
  std::vector<std::int64_t> micro_batches() const;
  // What the mean loss of a micro-batch of this size counts in the mean of the global batch.
  double weight_of(std::int64_t micro_batch) const;
  // How much longer the busiest rank takes than if the batch could be divided evenly: 0.1 is 10 %.
  double imbalance() const;

  // The same for another batch: the last one of an epoch is smaller. Requires: global_batch >= 1.
  BatchPlan of(std::int64_t global_batch) const;

  friend bool operator==(const BatchPlan&, const BatchPlan&) = default;

 private:
  BatchPlan(std::int64_t global_batch, Place place, std::int64_t most_local)
      : global_batch_{global_batch}, place_{place}, most_local_{most_local} {}

  // The same on all ranks, so that they reach the reduction together.
  std::int64_t passes() const;

  std::int64_t global_batch_;
  Place place_;
  std::int64_t most_local_;
};

}  // namespace weir::worker
