// SPDX-License-Identifier: Apache-2.0
//
// Scenarios of training jobs that share a cluster, as plain text (scenario.h has those of tasks):
//
//   # What is lent comes back when its owner wants it.
//   cluster  1 nodes x 8 gpus
//   tenant   vision guaranteed 4 maximum 8 weight 2
//   tenant   cats below vision guaranteed 2
//   tenants  lease 10m half-life 24h
//   job a    tenant vision gpus 1..8 needs 80 gpu-hours at 0s
//   job b    tenant speech gpus 4 needs 4 gpu-hours at 1h priority 5
//   tenant   vision guaranteed 2 from 2h        # the configuration is read again
//   lose     node-1 at 3h
//   expect   at 0s: a has 8
//   expect   at 1h: a has 4, quota_reclaimed b
//   expect   at 1h: b has 4
//
// A job with sizes 1..8 is elastic and twice as fast on twice the GPUs; one with a single size is
// rigid. Also: deadline T (hard), one-piece, price 1m (what a change of GPUs costs everybody; 0s).
// What happens: `has N`, `has N, REASON [JOB]`, `is stopped, REASON [JOB]`, `is promised`,
// `is refused, REASON`, `is at risk`, `ends`. Reasons are those of the record log; those that only
// say that a job got its GPUs are not shown.
#pragma once

#include "scenario.h"

namespace weir::tests {

Result<ScenarioReport> run_training_scenario(const std::string& file_name, const std::string& text);

}  // namespace weir::tests
