// SPDX-License-Identifier: Apache-2.0
//
// Training runs for programs: JSON with one line for each run, and CSV with one row. Only `timing`
// (JSON) and `seconds` (CSV), present when asked for, differ from run to run.
//
//   {"runs":[{"policy":"weir","jobs":195,"met":158,"met_without_promise":0,"admitted":158,
//     "missed_after_admission":0,"mean_jct_s":4321.5,"rescales":1700,...}]}
//
// Policies that promise nothing have null for admitted and missed_after_admission. Means are null
// when no job finished. `seed` is there where seeds were asked for, `tenants` (JSON only) where there are
// some, `planned_models` (JSON only) where the curves of some models are of plans that nobody measured.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "domain/result.h"
#include "report/training_summary.h"

namespace weir::report {

Result<std::string> training_json(std::span<const TrainingSummary> summaries);
// The same runs with what made them: {"version":"0.1.0","recipe":"weir simulate ...","runs":[...]};
// a run also has its cluster.
Result<std::string> comparison_json(std::string_view version, std::string_view recipe,
                                    std::span<const TrainingSummary> summaries);
std::string training_csv(std::span<const TrainingSummary> summaries);

}  // namespace weir::report
