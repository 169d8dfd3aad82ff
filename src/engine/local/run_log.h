// SPDX-License-Identifier: Apache-2.0
//
// The output of one rank, in files of limited size named after the place of their first byte:
// rank-0.0.log, rank-0.16777216.log, ... The two newest are kept. So a place in the output means
// the same for ever, whatever was dropped before it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/local/owned_fd.h"
#include "engine/local/run_user.h"

namespace weir::engine {

class RunLogWriter {
 public:
  // 0 or errno. `folder` stays open as long as the writer is used, and so does the owner of the files
  // (null: this process).
  int open(int folder, std::int32_t rank, std::int64_t limit_bytes, const RunUser* owner = nullptr);
  // What cannot be written (a full disk) is dropped: the rank must not wait for it.
  void append(std::string_view bytes);

 private:
  int open_piece();

  int folder_ = -1;
  std::int32_t rank_ = 0;
  std::int64_t limit_ = 0;
  const RunUser* owner_ = nullptr;
  OwnedFd piece_;
  std::int64_t piece_begin_ = 0;
  std::int64_t older_begin_ = -1;  // -1: none
  std::int64_t end_ = 0;
};

struct RunLogPart {
  std::int64_t offset = 0;
  std::string bytes;
  bool reaches_end = false;  // of what is written by now
};

// From `offset` on (negative: that many bytes before the end). Nothing when the rank has no log.
// Never follows a link, and never leaves the folder.
std::optional<RunLogPart> read_run_log(int folder, std::int32_t rank, std::int64_t offset,
                                       std::size_t most_bytes);

// True if `folder` has a log of any rank.
bool has_run_log(int folder);

}  // namespace weir::engine
