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

#include "engine/local/run_token.h"

namespace weir::engine {

// The largest "step" in the lines, {"step": 12, "loss": 0.5}; anything else in them is ignored.
std::optional<std::int64_t> parse_steps(std::string_view lines);

struct RunNews {
  RunKey run;
  bool is_ready = false;
  std::int64_t progress = -1;  // -1: it never said
  friend bool operator==(const RunNews&, const RunNews&) = default;
};
std::string encode(const RunNews& news);
std::optional<RunNews> decode_run_news(std::string_view bytes);

}  // namespace weir::engine
