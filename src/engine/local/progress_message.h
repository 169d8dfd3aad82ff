// SPDX-License-Identifier: Apache-2.0
//
// The two small messages on the way of a job's progress: JSON lines from the job to its supervisor,
// and the run as the supervisor sees it, to the engine. The second says all there is each time, so
// one that is lost is made up for by the next.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "domain/engine.h"
#include "engine/local/run_token.h"

namespace weir::engine {

// What the lines of one datagram say together: {"step": 12, "loss": 0.5, "batch": [256, 32, 4]} and
// {"event": "saved", "seconds": 0.8}. Anything else in them is ignored.
struct JobMessage {
  std::optional<std::int64_t> step;  // the largest
  std::optional<double> loss;        // of that step
  BatchDivision batch;
  bool has_started = false;
  bool has_loaded = false;
  std::optional<Duration> saved;  // how long it took
  friend bool operator==(const JobMessage&, const JobMessage&) = default;
};
JobMessage read_job_message(std::string_view lines);

struct RunNews {
  RunKey run;
  bool is_ready = false;
  ChangeTimes start;           // from `start` on; the rest is not the supervisor's to know
  std::int64_t progress = -1;  // -1: it never said
  Duration progress_at{};      // since the run was ordered
  std::optional<double> loss;
  BatchDivision batch;
  Duration longest_save{};
  friend bool operator==(const RunNews&, const RunNews&) = default;
};
std::string encode(const RunNews& news);
std::optional<RunNews> decode_run_news(std::string_view bytes);

}  // namespace weir::engine
