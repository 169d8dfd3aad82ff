// SPDX-License-Identifier: Apache-2.0
//
// How the cluster stands with its energy, as the API shows it (docs/openapi.yaml, Energy): what was
// used and by whom, what is left of the budget, what a kilowatt-hour costs and how well that is known.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "control/supply_feed.h"
#include "domain/cluster.h"
#include "domain/curve.h"
#include "domain/energy_terms.h"
#include "domain/power_table.h"
#include "schedule/core/training_state.h"

namespace weir::control {

// What an operator wants, and how jobs' power is told from their curves.
struct EnergyWish {
  EnergyTerms terms;  // times of the wall clock
  std::function<PowerBook(PoolIndex pool, const CurveBook& curves)> model;
  std::vector<std::string> assumed;        // for people
  std::optional<bool> budget_is_carbon{};  // a supply of anything else is not taken
};

// What is left of a tenant's own budget, and at which price it lasts.
struct ShownTenantBudget {
  double amount = 0;
  double used = 0;
  double price_seconds = 0;
};

struct TenantEnergy {
  std::string name;
  double kwh = 0;
  double amount = 0;
  std::optional<ShownTenantBudget> budget{};
};

struct SupplyHour {
  Time at;  // on the wall clock
  double per_kwh = 0;
};

struct ShownEnergy {
  bool is_on = false;  // somebody asks, and a supply is known
  bool is_wanted = false;
  std::string unit;  // of amounts: "g CO2", "EUR"
  std::string kind;  // of the supply, for people
  double watts = 0;
  double kwh = 0;  // since energy was first asked about
  double amount = 0;
  std::optional<double> per_kwh;  // now
  std::vector<SupplyHour> next;   // as far as 24 h ahead
  SupplyState feed;
  std::optional<EnergyTerms> terms;  // times of the wall clock
  double used = 0;                   // of the budget
  double price_seconds = 0;          // of a job's time, for one unit
  std::vector<std::string> pools;    // names, in the order of terms->pools
  std::vector<std::string> assumed;
  std::vector<TenantEnergy> tenants;  // by name
};

// "g CO2", "EUR"
std::string amount_unit(const SupplyKind& kind);

// Requires: `now` is not before anything the state knows. `wall_ahead`: of the state's time.
ShownEnergy energy_figures(const schedule::TrainingState& state, const Cluster& cluster, Time now,
                           Duration wall_ahead);

// "supply is stale since 2026-11-16T09:00:00Z: ..."; empty when it is not.
std::string stale_line(const SupplyState& state);

std::string to_json(const ShownEnergy& shown);

}  // namespace weir::control
