// SPDX-License-Identifier: Apache-2.0
//
// What `weir run` shows while a job runs: the lines of its ranks, remarks of its own, and how far it
// is. On a terminal the last is a line at the bottom that is drawn again and again; elsewhere a plain
// line now and then.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "domain/engine.h"
#include "domain/time.h"

namespace weir::cli {

class RunDisplay {
 public:
  struct Settings {
    bool shows_lines = true;       // of the job
    bool has_colour = false;       // `lines` is a terminal
    bool has_status_line = false;  // `remarks` is a terminal
  };
  RunDisplay(std::ostream& lines, std::ostream& remarks, Settings settings)
      : lines_{lines}, remarks_{remarks}, settings_{settings} {}
  RunDisplay(const RunDisplay&) = delete;
  RunDisplay& operator=(const RunDisplay&) = delete;
  ~RunDisplay() { wipe(); }

  // `text` is without its end of line.
  void line(std::int32_t rank, std::string_view text);
  void remark(std::string_view text);
  // The rate counts from the first progress of a generation.
  void progress(std::uint32_t generation, std::int32_t gpus, const RunProgress& progress,
                Duration now);
  // After a number of lines.
  void flush();
  // False when nobody can read what is shown any more.
  bool is_read() const { return lines_.good(); }

 private:
  std::string status(std::int32_t gpus, const RunProgress& progress, Duration now) const;
  void wipe();

  std::ostream& lines_;
  std::ostream& remarks_;
  const Settings settings_;
  bool has_status_ = false;
  std::optional<Duration> shown_at_;
  struct Origin {
    std::uint32_t generation = 0;
    std::int64_t step = 0;
    Duration at{};
  };
  Origin origin_;
};

}  // namespace weir::cli
