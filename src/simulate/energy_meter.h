// SPDX-License-Identifier: Apache-2.0
//
// What a simulated cluster really draws and what that costs, from the scheduler's records alone: it
// keeps its own book of who is where at which clock.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "domain/curve.h"
#include "domain/ids.h"
#include "domain/power_table.h"
#include "domain/supply_series.h"
#include "domain/timeline.h"

namespace weir::simulate {

struct PowerStep {
  Time at;
  double watts = 0;  // of the whole site, from then on
};

// A tenant with a budget of its own: what its jobs used, with their shares of their nodes.
struct TenantEnergyOutcome {
  std::string name;
  double units = 0;
  double budget = 0;
};

struct EnergyOutcome {
  double units = 0;     // grams of CO2, or money
  double site_kwh = 0;  // with nodes, idle GPUs and the site's overhead
  double jobs_kwh = 0;  // of GPUs with jobs alone
  double peak_watts = 0;
  std::vector<PowerStep> trace;
  std::vector<TenantEnergyOutcome> tenants;
};

class EnergyMeter {
 public:
  // Pools by position, with the number of nodes and of GPUs on each (all alike).
  struct Pool {
    PowerBook book;
    std::vector<std::int32_t> gpus;  // of each node
    std::uint32_t stride = 1;
  };
  EnergyMeter(std::vector<Pool> pools, SupplySeries supply, Time begin);

  void hold(Time at, std::size_t pool, JobId job, const CurveKey& kind, GpuBlock block);
  void set_clock(Time at, JobId job, std::int32_t clock_permille);
  void release(Time at, JobId job);

  double watts() const;
  // Until then.
  EnergyOutcome outcome(Time end);
  double units_of(JobId job) const;

 private:
  struct Holding {
    std::size_t pool = 0;
    const PowerTable* table = nullptr;
    GpuBlock block;
    std::int32_t clock_permille = kFullClock;
    std::int64_t milliwatts = 0;
    double units = 0;
    Time since;
  };
  struct Occupancy {
    std::vector<std::int32_t> busy;  // GPUs of each node
    // Whole numbers: what comes and goes leaves nothing behind.
    std::int64_t jobs_milliwatts = 0;
    std::int64_t nodes_milliwatts = 0;
  };
  void advance(Time at);
  void occupy(Holding& holding, std::int32_t sign);
  void set_power(Time at, Holding& holding, std::int64_t milliwatts);
  static std::int64_t node_milliwatts(const Pool& pool, std::size_t node, std::int32_t busy);
  void note(Time at);

  std::vector<Pool> pools_;
  std::vector<Occupancy> occupancies_;
  SupplySeries supply_;
  std::map<JobId, Holding> holdings_;
  EnergyOutcome outcome_;
  Time since_;
};

}  // namespace weir::simulate
