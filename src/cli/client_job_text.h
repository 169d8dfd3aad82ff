// SPDX-License-Identifier: Apache-2.0
//
// Jobs of the API's answers, for people.
#pragma once

#include <string>

#include "cli/client_api.h"
#include "report/table.h"

namespace weir::cli {

// Finished, failed, cancelled or refused.
bool is_over(const ApiJson& job);

// "bert is job 7: promised by 2026-11-15T09:00:00Z, expected to finish 2026-11-15T08:10:00Z."
std::string answer_sentence(const ApiJson& job);
// The same for a dry run, in which the job has a name only.
std::string dry_run_sentence(const std::string& name, const ApiJson& answer);
// "job 7 (bert) failed after 2h5m: exit code 1"
std::string end_sentence(const ApiJson& job);

report::Table job_table(const ApiJson& jobs);
// One field per line.
std::string job_details(const ApiJson& job);

// "63 %"; empty when it does not count iterations.
std::string share_done(const ApiJson& job);

}  // namespace weir::cli
