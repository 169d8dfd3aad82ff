// SPDX-License-Identifier: Apache-2.0
//
// Follows what the ranks of one job print, generation after generation, line by line. A generation
// is shown when all of the one before it was.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/engine.h"

namespace weir::cli {

// Cuts what one rank prints into lines. Of a line that was written over with carriage returns, as
// progress bars are, the last state is the line.
class LineCutter {
 public:
  using Use = std::function<void(std::string_view line)>;
  void add(std::string_view bytes, const Use& use);
  // What has no end of line yet.
  void finish(const Use& use);

 private:
  std::string begun_;
};

class RunOutput {
 public:
  using Use = std::function<void(std::int32_t rank, std::string_view line)>;
  // Requires: the engine outlives it.
  RunOutput(Engine& engine, JobId job, Use use);

  // A generation of so many ranks will come.
  void expect(std::uint32_t generation, std::int32_t ranks);
  // Shows what is new.
  void look();
  // No process of a generation before this one lives: shows the rest of them.
  void finish_before(std::uint32_t generation);

 private:
  struct Rank {
    std::int32_t number = 0;
    std::int64_t offset = 0;
    bool is_over = false;
    LineCutter lines;
  };
  struct Generation {
    std::uint32_t number = 0;
    std::vector<Rank> ranks;
  };

  void read(std::uint32_t generation, Rank& rank);
  bool read_chunk(std::uint32_t generation, Rank& rank);
  void close(Generation& generation);

  Engine& engine_;
  const JobId job_;
  const Use use_;
  std::deque<Generation> generations_;
};

}  // namespace weir::cli
