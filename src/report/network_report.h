// SPDX-License-Identifier: Apache-2.0
//
// What `weir network simulate` shows: how long each job's iterations take beside what its GPUs' own
// ports would allow, and which links carried the most. One value feeds the text, the JSON and the
// page, which adds a map of the links and the rates over time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "domain/result.h"
#include "network/fabric.h"
#include "network/fabric_run.h"
#include "report/html_page.h"
#include "report/table.h"

namespace weir::report {

struct NetworkJobResult {
  std::string name;
  std::uint32_t gpus = 0;
  std::string collective;
  std::string mode;
  double bytes = 0;
  double start_seconds = 0;
  double end_seconds = 0;
  std::uint64_t iterations = 0;
  double iteration_seconds = 0;      // mean
  double ideal_seconds = 0;          // of an iteration if only the GPUs' own ports counted
  double communication_seconds = 0;  // mean of an iteration
  double bus_bytes_per_second = 0;   // bus bandwidth while it communicates

  double slowdown() const { return ideal_seconds > 0 ? iteration_seconds / ideal_seconds : 1; }
};

struct NetworkResult {
  const network::Fabric* fabric = nullptr;
  std::string routing;
  std::vector<NetworkJobResult> jobs;
  network::FabricOutcome outcome;
};

Table network_jobs_table(const NetworkResult& result);
// The `most` links with the highest use, of those that were used.
Table busiest_links_table(const NetworkResult& result, std::size_t most);
Result<std::string> network_json(const NetworkResult& result);
std::string network_page(const ReportHeader& header, const NetworkResult& result);

}  // namespace weir::report
