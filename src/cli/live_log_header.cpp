// SPDX-License-Identifier: Apache-2.0
#include "cli/live_log_header.h"

#include <sstream>

#include "cli/version.h"
#include "formats/record_log.h"

namespace weir::cli {
namespace {

std::string line_of(const formats::RecordLogHeader& header) {
  std::ostringstream out;
  formats::RecordLogWriter{out, kVersion}.write(header);
  std::string line = out.str();
  while (line.ends_with('\n')) line.pop_back();
  return line;
}

}  // namespace

std::string observed_log_header() {
  formats::RecordLogHeader header;
  header.policy = "observed";
  header.workload = "live";
  return line_of(header);
}

std::string live_log_header(const control::ControllerConfig& config, std::string_view curves,
                            std::string_view reserve) {
  formats::RecordLogHeader header;
  header.pools = formats::log_pools(config.cluster);
  header.rescale_base = config.rescale_cost.base;
  header.rescale_per_doubling = config.rescale_cost.per_doubling;
  header.policy = config.policy;
  header.slot = config.training.slot;
  header.workload = "live";
  header.curves = curves;
  if (config.training.reserve != Reserve{}) header.reserve = reserve;
  return line_of(header);
}

}  // namespace weir::cli
