// SPDX-License-Identifier: Apache-2.0
//
// Circuits for a job whose GPUs are decided, where leaves and spines meet in optical circuit switches:
// two leaves are joined directly; else one spine carries the job, or s spines, and a leaf has as many
// links to each of them as its share of what can leave it at once. Circuits of other jobs move only
// where no switch is free at both ends (network/partition/circuit_wiring.h).
#pragma once

#include <map>
#include <vector>

#include "network/partition/circuit_wiring.h"
#include "schedule/place/pool_network.h"

namespace weir::schedule {

// Nothing is wired yet.
network::CircuitWiring no_circuits(const PoolNetwork& network);

// Requires: the circuits are free (can_have).
void hold_circuits(network::CircuitWiring& wiring, JobId job,
                   const std::vector<OpticalCircuit>& circuits);

// False, and nothing changed, when there are no ports for them.
bool wire(network::CircuitWiring& wiring, const PoolNetwork& network, JobId job, GpuBlock block);

// Who has which circuits now, each list by switch and leaf.
std::map<JobId, std::vector<OpticalCircuit>> circuits_by_job(const network::CircuitWiring& wiring);

}  // namespace weir::schedule
