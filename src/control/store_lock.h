// SPDX-License-Identifier: Apache-2.0
//
// The file beside the store that says who uses it, so that a second writer is refused. It also
// remembers the last entry that was committed: a store that comes back with less has lost some,
// whoever took it (a deleted write-ahead log, say, is not noticed by SQLite).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "domain/result.h"

namespace weir::control {

// The last entry known to be committed, in the store of that id.
struct CommittedMark {
  std::string store;
  std::uint64_t entry = 0;
  std::uint64_t chain = 0;
  friend bool operator==(const CommittedMark&, const CommittedMark&) = default;
};

class StoreLock {
 public:
  // `<store>.lock`. An error names the process that holds it.
  static Result<StoreLock> take(const std::filesystem::path& store);

  StoreLock(StoreLock&& other) noexcept;
  StoreLock& operator=(StoreLock&& other) noexcept;
  ~StoreLock();

  // What the last holder wrote.
  const std::optional<CommittedMark>& mark_found() const { return found_; }
  // After a commit. Not synced: it may be behind, it is never ahead.
  void mark(std::string_view store, std::uint64_t entry, std::uint64_t chain);

 private:
  StoreLock() = default;
  int descriptor_ = -1;
  std::optional<CommittedMark> found_;
};

}  // namespace weir::control
