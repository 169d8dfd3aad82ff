// SPDX-License-Identifier: Apache-2.0
//
// Whole-system behaviour as plain text, so that anyone can add a case without C++. A scenario
// describes a cluster, a policy and jobs, plays them through the scheduler core in virtual time,
// and says what must happen:
//
//   # An idle island is kept whole for a waiting gang.
//   cluster  2 nodes x 8 gpus x 64 cpus
//   policy   best-fit
//   queue    backfill
//   job a    gpus 1 cpus 4 at 0s runs 10m
//   job b    gpus 8 cpus 4 at 1s runs 5m
//   lose     node-1 at 2m
//   return   node-1 at 3m
//   expect   at 1s: b starts on node-2
//
// A job line takes: gpus N or share 0.5, cpus N, replicas N, model X, at T, runs T. Expectations
// are: `starts on NODE [NODE...]`, `waits`, `is rejected`, `is interrupted`, `ends`; each must
// appear at that instant. `expect nothing else` demands that every line of the log was expected.
#pragma once

#include <string>
#include <vector>

#include "domain/result.h"

namespace weir::tests {

struct ScenarioReport {
  std::vector<std::string> log;      // "at 1s: b starts on node-2"
  std::vector<std::string> missing;  // expected, but did not happen
  std::vector<std::string> surplus;  // happened unexpectedly, where nothing else is allowed
};

// What was expected of what happened.
struct Expectations;  // scenario_lines.h
ScenarioReport compared(std::vector<std::string> log, const Expectations& expected);

Result<ScenarioReport> run_scenario(const std::string& file_name, const std::string& text);

}  // namespace weir::tests
