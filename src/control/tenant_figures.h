// SPDX-License-Identifier: Apache-2.0
//
// How the tenants stand, as the API shows it (docs/openapi.yaml, Tenants): what each is given, what it
// has now, and what it has had beside what its weight would give it. A group's figures are of all below it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "domain/cluster.h"
#include "domain/tenants.h"
#include "domain/time.h"
#include "schedule/core/training_state.h"

namespace weir::control {

struct TenantInPool {
  std::string pool;
  std::int32_t guaranteed = 0;
  std::int32_t maximum = kNoMaximum;
  std::int32_t gpus = 0;      // it holds now
  std::int32_t promised = 0;  // of these, by jobs with a promise
  std::int32_t borrowed = 0;  // of these, beyond its guarantee
  friend bool operator==(const TenantInPool&, const TenantInPool&) = default;
};

struct TenantFigures {
  std::string name;
  std::string parent;  // empty: none
  std::int64_t weight = 1;
  double share_of_weight = 0;  // of the cluster, if everybody wanted more than they get
  double share_of_use = 0;     // of the GPU-time that still counts; 0 when nobody had any
  std::int64_t waiting = 0;    // jobs that could run and have no GPUs
  std::vector<TenantInPool> pools;
  friend bool operator==(const TenantFigures&, const TenantFigures&) = default;
};

struct ShownTenants {
  Duration half_life{0};
  Duration lease{0};
  std::vector<TenantFigures> tenants;  // parents before their children; none: nobody has a share
  friend bool operator==(const ShownTenants&, const ShownTenants&) = default;
};

// Requires: `now` is not before anything the state knows.
ShownTenants tenant_figures(const schedule::TrainingState& state, const Cluster& cluster, Time now);

std::string to_json(const ShownTenants& shown);

}  // namespace weir::control
