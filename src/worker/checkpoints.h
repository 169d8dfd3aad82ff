// SPDX-License-Identifier: Apache-2.0
//
// Numbered checkpoints in a folder, of which the newest whole one counts. Each is a file
// `checkpoint-00000007` and a manifest `checkpoint-00000007.manifest` with its step, size and CRC-32,
// written last. One that has no manifest or does not fit it is no checkpoint: the one before it is
// taken. One process at a time writes to a folder: rank 0. Python writes and reads the same files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <optional>
#include <vector>

#include "domain/result.h"

namespace weir::worker {

struct Checkpoint {
  std::int64_t number = 0;
  std::int64_t step = 0;
  std::filesystem::path path;
};

class Checkpoints {
 public:
  using Write = std::function<void(std::ostream&)>;

  // `keep` of them stay. Requires: keep >= 1.
  explicit Checkpoints(std::filesystem::path folder, int keep = 2);
  // In WEIR_CHECKPOINT_DIR, or in ./checkpoints outside weir.
  static Checkpoints from_environment(int keep = 2);

  // Writes a new checkpoint, then removes the oldest. On any error, also when `write` leaves its stream
  // failed, those that were there still are. Requires: step >= 0.
  [[nodiscard]] Result<Checkpoint> save(std::int64_t step, const Write& write) const;

  // The newest whole one. Open its path to read it.
  [[nodiscard]] std::optional<Checkpoint> latest() const;

 private:
  std::filesystem::path path_of(std::int64_t number) const;
  // Of all there is, whole or not, the newest first.
  std::vector<std::int64_t> numbers() const;
  void remove_old() const;

  std::filesystem::path folder_;
  int keep_;
};

}  // namespace weir::worker
