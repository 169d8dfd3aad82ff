// SPDX-License-Identifier: Apache-2.0
#include "control/energy_figures.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "domain/tenants.h"
#include "formats/time_text.h"
#include "schedule/energy/power_use.h"

namespace weir::control {
namespace {

constexpr double kJoulesPerKwh = 3.6e6;
constexpr Duration kShownAhead = std::chrono::hours{24};
constexpr std::size_t kMostHours = 96;  // quarters of an hour in a day

std::string_view name_of_rule(WhenSpent rule) {
  switch (rule) {
    case WhenSpent::overdraw:
      return "overdraw";
    case WhenSpent::min_power:
      return "min-power";
    case WhenSpent::pause:
      return "pause";
  }
  return "";
}

nlohmann::ordered_json json_of_budget(const ShownEnergy& shown) {
  const double budget = static_cast<double>(*shown.terms->budget_micros) / 1e6;
  return {{"amount", budget},
          {"used", shown.used},
          {"left", budget - shown.used},
          {"is_spent", shown.used >= budget},
          {"from", formats::format_time(shown.terms->from)},
          {"until", formats::format_time(shown.terms->until)},
          {"when_spent", name_of_rule(shown.terms->when_spent)}};
}

std::string shown_name(const std::string& tenant) {
  return tenant.empty() ? std::string{kDefaultTenant} : tenant;
}

nlohmann::ordered_json json_of_feed(const ShownEnergy& shown) {
  const SupplyState& feed = shown.feed;
  nlohmann::ordered_json json{{"source", feed.source},
                              {"state", !shown.per_kwh     ? "none"
                                        : feed.stale_since ? "stale"
                                                           : "fresh"}};
  if (feed.read_at) json["read_at"] = formats::format_time(*feed.read_at);
  if (feed.stale_since) json["stale_since"] = formats::format_time(*feed.stale_since);
  if (!feed.problem.empty()) json["problem"] = feed.problem;
  if (!feed.repairs.empty()) json["repairs"] = feed.repairs;
  return json;
}

}  // namespace

std::string amount_unit(const SupplyKind& kind) {
  return is_carbon(kind.quantity) ? "g CO2" : kind.currency;
}

ShownEnergy energy_figures(const schedule::TrainingState& state, const Cluster& cluster, Time now,
                           Duration wall_ahead) {
  const schedule::EnergyAccount& account = state.energy;
  ShownEnergy shown;
  shown.is_on = account.terms != nullptr;
  if (account.supply != nullptr) {
    shown.unit = amount_unit(account.kind);
    shown.kind = to_string(account.kind);
  }
  shown.kwh = account.total.joules / kJoulesPerKwh;
  shown.amount = account.total.units;
  std::map<std::string, schedule::EnergyUse> tenants;
  for (const auto& [name, use] : account.tenants) {
    tenants[shown_name(name)].joules += use.joules;
    tenants[shown_name(name)].units += use.units;
  }
  std::map<std::string, ShownTenantBudget> budgets;
  if (shown.is_on) {
    const Duration since = std::max(now - account.since, Duration{0});
    const Time until = account.since + since;
    const double units = emitted(*account.supply, 1, account.since, until);
    const Time from = std::max(account.since, account.terms->from);
    const double of_budget = until > from ? emitted(*account.supply, 1, from, until) : 0;
    shown.used = account.budget.used;
    std::vector<double> tenant_watts(account.of_tenants.size());
    for (const schedule::PoolState& pool : state.pools) {
      const double watts = pool_watts(state, pool);
      shown.watts += watts;
      shown.used += watts * of_budget;
      for (const schedule::JobDraw& draw : job_draws(state, pool)) {
        schedule::EnergyUse& use = tenants[shown_name(state.job(draw.job).spec->tenant)];
        use.joules += draw.watts * to_seconds(since);
        use.units += draw.watts * units;
        if (const auto payer = account.terms->payer_of(state.job(draw.job).spec->tenant))
          tenant_watts[*payer] += draw.watts;
      }
    }
    shown.kwh += shown.watts * to_seconds(since) / kJoulesPerKwh;
    shown.amount += shown.watts * units;
    shown.per_kwh = account.supply->at(now);
    for (Time at = now; at < now + kShownAhead && shown.next.size() < kMostHours;
         at = account.supply->next_step(at))
      shown.next.push_back({at + wall_ahead, account.supply->at(at)});
    shown.terms = *account.terms;
    shown.terms->from += wall_ahead;
    shown.terms->until += wall_ahead;
    shown.price_seconds =
        static_cast<double>(account.terms->price_nanos.value_or(account.budget.price_nanos)) / 1e9;
    for (std::size_t i = 0; i < tenant_watts.size(); ++i) {
      const TenantBudget& budget = account.terms->tenants[i];
      const schedule::BudgetAccount& own = account.of_tenants[i];
      budgets[budget.tenant] = {static_cast<double>(budget.budget_micros) / 1e6,
                                own.used + tenant_watts[i] * of_budget,
                                static_cast<double>(own.price_nanos) / 1e9};
      tenants.try_emplace(budget.tenant);
    }
    for (const PoolPower& power : account.terms->pools)
      shown.pools.push_back(cluster.pools[power.pool.value].name);
  }
  for (const auto& [name, use] : tenants) {
    TenantEnergy tenant{name, use.joules / kJoulesPerKwh, use.units};
    if (const auto budget = budgets.find(name); budget != budgets.end())
      tenant.budget = budget->second;
    shown.tenants.push_back(std::move(tenant));
  }
  return shown;
}

std::string stale_line(const SupplyState& state) {
  if (!state.stale_since) return {};
  return fmt::format("supply is stale since {}: {}", formats::format_time(*state.stale_since),
                     state.problem);
}

std::string to_json(const ShownEnergy& shown) {
  nlohmann::ordered_json json{{"enabled", shown.is_on}};
  if (shown.is_wanted || shown.is_on) json["feed"] = json_of_feed(shown);
  if (shown.is_on) {
    json["unit"] = shown.unit;
    json["supply"] = {{"kind", shown.kind}, {"now", *shown.per_kwh}};
    auto next = nlohmann::ordered_json::array();
    for (const SupplyHour& hour : shown.next)
      next.push_back({{"at", formats::format_time(hour.at)}, {"per_kwh", hour.per_kwh}});
    json["supply"]["next"] = std::move(next);
    json["watts"] = shown.watts;
  }
  json["kwh"] = shown.kwh;
  if (!shown.unit.empty()) json["amount"] = shown.amount;
  if (shown.is_on) {
    if (shown.terms->budget_micros) json["budget"] = json_of_budget(shown);
    if (shown.terms->budget_micros || shown.terms->price_nanos) json["price"] = shown.price_seconds;
    if (shown.terms->cap_milliwatts)
      json["power_cap_watts"] = static_cast<double>(*shown.terms->cap_milliwatts) / 1000;
    auto pools = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < shown.pools.size(); ++i) {
      const PoolPower& power = shown.terms->pools[i];
      pools.push_back({{"pool", shown.pools[i]},
                       {"idle_gpu_watts", static_cast<double>(power.idle_milliwatts) / 1000},
                       {"node_watts", static_cast<double>(power.node_milliwatts) / 1000},
                       {"asleep_node_watts", static_cast<double>(power.asleep_milliwatts) / 1000},
                       {"pue", power.overhead_permille / 1000.0}});
    }
    json["pools"] = std::move(pools);
    json["assumed"] = shown.assumed;
  }
  auto tenants = nlohmann::ordered_json::array();
  for (const TenantEnergy& tenant : shown.tenants) {
    nlohmann::ordered_json one{
        {"name", tenant.name}, {"kwh", tenant.kwh}, {"amount", tenant.amount}};
    if (tenant.budget) {
      const ShownTenantBudget& budget = *tenant.budget;
      one["budget"] = {{"amount", budget.amount},
                       {"used", budget.used},
                       {"left", budget.amount - budget.used},
                       {"is_spent", budget.used >= budget.amount},
                       {"price", budget.price_seconds}};
    }
    tenants.push_back(std::move(one));
  }
  json["tenants"] = std::move(tenants);
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace weir::control
