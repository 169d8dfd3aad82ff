// SPDX-License-Identifier: Apache-2.0
//
// What the log of a live run says of energy: how much each job used on each day. The events are decided
// again; between them what jobs draw is constant and the supply is as it was known then. What nodes draw
// while nobody has a GPU of their pool is nobody's.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "domain/ids.h"
#include "domain/result.h"
#include "domain/supply_kind.h"
#include "domain/time.h"
#include "formats/record_log.h"

namespace weir::simulate {

inline constexpr JobId kNobodysJob{0};

struct UsedEnergy {
  double joules = 0;
  double units = 0;  // grams of CO2, or money
};

struct EnergyHistory {
  struct Job {
    std::string name;
    std::string tenant;  // empty: the default one
  };
  SupplyKind kind;
  bool was_asked = false;        // somebody asked about energy at all
  bool has_other_kinds = false;  // before, the supply was of another kind: not counted in units
  std::map<JobId, Job> jobs;     // that used any
  std::map<std::pair<Time, JobId>, UsedEnergy> uses;  // by day (UTC, the wall clock's) and job
};

// Of the time between `since` and `until`, on the wall clock.
Result<EnergyHistory> read_energy_history(formats::RecordLogReader log, const std::string& name,
                                          Time since, Time until);

}  // namespace weir::simulate
