// SPDX-License-Identifier: Apache-2.0
#include "control/tenant_figures.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "domain/tenant_shares.h"
#include "formats/quantity_text.h"
#include "formats/rounded_number.h"

namespace weir::control {
namespace {

void add_jobs(ShownTenants& shown, const schedule::TrainingState& state,
              const schedule::PoolState& pool, std::size_t place) {
  for (const JobId id : pool.active) {
    const schedule::TrainingJob& job = state.job(id);
    const auto gpus = static_cast<std::int32_t>(job.block.size);
    for_each_group(*state.tenants, job.tenant, [&](std::size_t at) {
      TenantFigures& tenant = shown.tenants[at];
      if (gpus == 0) ++tenant.waiting;
      tenant.pools[place].gpus += gpus;
      if (job.is_promised()) tenant.pools[place].promised += gpus;
    });
  }
}

}  // namespace

ShownTenants tenant_figures(const schedule::TrainingState& state, const Cluster& cluster,
                            Time now) {
  const TenantTable table = state.tenants ? *state.tenants : TenantTable{};
  ShownTenants shown{table.half_life, table.lease, {}};
  const std::vector<double> shares = shares_of_weight(table);
  for (std::size_t i = 0; i < table.tenants.size(); ++i) {
    const Tenant& tenant = table.tenants[i];
    TenantFigures figures;
    figures.name = tenant.name;
    if (tenant.parent != kNoParent)
      figures.parent = table.tenants[static_cast<std::size_t>(tenant.parent)].name;
    figures.weight = tenant.weight;
    figures.share_of_weight = formats::ten_thousandths(shares[i]);
    for (const schedule::PoolState& pool : state.pools) {
      const TenantQuota quota = tenant.quota_in(pool.pool->id);
      figures.pools.push_back(
          {cluster.pools[pool.pool->id.value].name, quota.guaranteed, quota.maximum, 0, 0, 0});
    }
    shown.tenants.push_back(std::move(figures));
  }
  std::vector<double> used(table.tenants.size(), 0);
  double all_used = 0;
  for (std::size_t place = 0; place < state.pools.size(); ++place) {
    const schedule::PoolState& pool = state.pools[place];
    if (!table.empty()) add_jobs(shown, state, pool, place);
    for (std::size_t i = 0; i < table.tenants.size(); ++i) {
      const auto own = static_cast<double>(pool.usage[i].at(now, table.half_life));
      all_used += own;
      for_each_group(table, i, [&](std::size_t at) { used[at] += own; });
    }
  }
  for (std::size_t i = 0; i < table.tenants.size(); ++i) {
    if (all_used > 0) shown.tenants[i].share_of_use = formats::ten_thousandths(used[i] / all_used);
    for (TenantInPool& pool : shown.tenants[i].pools)
      pool.borrowed = std::max(0, pool.gpus - pool.guaranteed);
  }
  return shown;
}

std::string to_json(const ShownTenants& shown) {
  nlohmann::ordered_json json{{"half_life", formats::format_duration(shown.half_life)},
                              {"lease", formats::format_duration(shown.lease)},
                              {"tenants", nlohmann::ordered_json::array()}};
  for (const TenantFigures& tenant : shown.tenants) {
    nlohmann::ordered_json one{{"name", tenant.name}};
    if (!tenant.parent.empty()) one["parent"] = tenant.parent;
    one["weight"] = tenant.weight;
    one["share_of_weight"] = tenant.share_of_weight;
    one["share_of_use"] = tenant.share_of_use;
    one["waiting"] = tenant.waiting;
    one["pools"] = nlohmann::ordered_json::array();
    for (const TenantInPool& pool : tenant.pools) {
      nlohmann::ordered_json in{{"pool", pool.pool}, {"guaranteed", pool.guaranteed}};
      if (pool.maximum != kNoMaximum) in["maximum"] = pool.maximum;
      in["gpus"] = pool.gpus;
      in["promised"] = pool.promised;
      in["borrowed"] = pool.borrowed;
      one["pools"].push_back(std::move(in));
    }
    json["tenants"].push_back(std::move(one));
  }
  return json.dump();
}

}  // namespace weir::control
