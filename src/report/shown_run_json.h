// SPDX-License-Identifier: Apache-2.0
//
// What a page shows of a run in detail, for programs, as finely as the page draws it: GPUs in use in
// equal stretches, and the rectangles of its chart. Times are seconds since the run began.
//
//   {"run":0,"name":"weir, night","gpus":16,"length_s":49665.412,
//    "usage":{"promised":[2.5,...],"left_over":[0,...]},
//    "part":{"from_s":0,"to_s":49665.412,"is_all":true},
//    "pools":[{"name":"T4","nodes":4,"gpus_per_node":4,"stride":4}],
//    "jobs":[{"job":7,"name":"bert","came_s":0,"deadline_s":3600,"answer":"promised","ended_s":3100}],
//    "reasons":["..."],"bars":[[job,from_s,to_s,row,gpus,promised,reason],...]}
//
// `job` and `reason` of a bar are positions among `jobs` and `reasons`, `row` is that of its first
// GPU (gantt_rows). A refused job may have `earliest_s`.
#pragma once

#include <cstdint>
#include <string>

#include "domain/result.h"
#include "report/training_report.h"

namespace weir::report {

Result<std::string> shown_run_json(const ShownRun& shown, const std::string& name,
                                   std::int64_t gpus);

}  // namespace weir::report
