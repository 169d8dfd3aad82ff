// SPDX-License-Identifier: Apache-2.0
//
// The step times behind Pollux's simulator: a folder with two tables per model, as its authors
// publish them (T4, four GPUs on a node).
//
//   bert_placements.csv                          bert_scalability.csv
//   placement,local_bsz,step_time,sync_time      num_nodes,num_replicas,local_bsz,step_time,sync_time
//   1,4,0.455,0.014                              8,32,4,1.072,0.824
//   44,12,1.2,0.6
//
// A placement has a digit for each node: how many replicas are there. The second table is for more
// nodes, over which the replicas are spread evenly. Times are seconds per step, and what of it is waiting for others. A
// global batch that is too large for the GPUs' memory is taken in several steps, of which only the
// last waits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/curve.h"
#include "domain/goodput.h"
#include "domain/result.h"
#include "domain/time.h"
#include "formats/input_file.h"

namespace weir::formats {

struct StepTime {
  Duration step;
  Duration sync;
  friend bool operator==(const StepTime&, const StepTime&) = default;
};

// Replicas by node: {4, 4}.
using ReplicasByNode = std::vector<std::int32_t>;

class PolluxProfile {
 public:
  // False when that was measured before.
  bool add(ReplicasByNode placement, std::int64_t local_batch, const StepTime& time);

  // How long an iteration with that global batch takes; between two measured local batches on a
  // straight line. Nothing where the placement was not measured, or the batch is too small for it.
  std::optional<Duration> iteration_time(const ReplicasByNode& placement,
                                         std::int64_t global_batch) const;

  // Over 1, 2, 4, ... GPUs on as few nodes as possible, at a fixed global batch: what its user gets.
  Curve curve_at(std::int64_t global_batch) const;
  // The same where the batch may grow from the user's up to `most`, as is best for each size: in
  // iterations of the user's batch.
  Curve adaptive_curve(const GradientNoise& noise, std::int64_t most) const;

  std::size_t placement_count() const { return measured_.size(); }

 private:
  using ByLocalBatch = std::map<std::int64_t, StepTime>;
  std::vector<BatchRate> batches_on(std::int32_t gpus, std::int64_t least, std::int64_t most) const;

  std::map<ReplicasByNode, ByLocalBatch> measured_;
};

// By model.
using PolluxProfiles = std::map<std::string, PolluxProfile>;

// All pairs of tables in the folder. Other files are ignored.
Result<PolluxProfiles> read_pollux_profiles(const std::filesystem::path& directory);

// One table, added to a profile.
Result<void> read_placements(InputFile input, PolluxProfile& profile);
Result<void> read_scalability(InputFile input, PolluxProfile& profile);

}  // namespace weir::formats
