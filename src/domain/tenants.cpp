// SPDX-License-Identifier: Apache-2.0
#include "domain/tenants.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace weir {
namespace {

constexpr Duration kShortest = std::chrono::seconds{1};
constexpr Duration kLongest = std::chrono::hours{24 * 366};
constexpr std::int64_t kLargestWeight = 1'000'000;

bool is_time(Duration duration) {
  return duration >= kShortest && duration <= kLongest;
}

bool is_sound(const TenantQuota& quota) {
  return quota.guaranteed >= 0 && quota.maximum >= quota.guaranteed;
}

}  // namespace

TenantQuota Tenant::quota_in(PoolIndex pool) const {
  for (const TenantQuota& quota : quotas)
    if (quota.pool == pool) return quota;
  return {pool, 0, kNoMaximum};
}

std::size_t TenantTable::index_of(std::string_view name) const {
  const auto find = [&](std::string_view wanted) {
    return static_cast<std::size_t>(
        std::find_if(tenants.begin(), tenants.end(),
                     [&](const Tenant& tenant) { return tenant.name == wanted; }) -
        tenants.begin());
  };
  const std::size_t found = find(name);
  return found < tenants.size() ? found : find(kDefaultTenant);
}

bool is_well_formed(const TenantTable& table) {
  if (!is_time(table.half_life) || !is_time(table.lease)) return false;
  std::set<std::string_view> names;
  std::map<std::pair<std::int32_t, PoolIndex>, std::int64_t> of_children;
  for (std::size_t i = 0; i < table.tenants.size(); ++i) {
    const Tenant& tenant = table.tenants[i];
    if (tenant.name.empty() || !names.insert(tenant.name).second) return false;
    if (tenant.weight < 1 || tenant.weight > kLargestWeight) return false;
    if (tenant.parent < kNoParent || tenant.parent >= static_cast<std::int32_t>(i)) return false;
    std::set<PoolIndex> pools;
    for (const TenantQuota& quota : tenant.quotas) {
      if (!is_sound(quota) || !pools.insert(quota.pool).second) return false;
      of_children[{tenant.parent, quota.pool}] += quota.guaranteed;
    }
  }
  return std::all_of(of_children.begin(), of_children.end(), [&](const auto& each) {
    const auto& [parent, pool] = each.first;
    if (parent == kNoParent) return true;
    return each.second <= table.tenants[static_cast<std::size_t>(parent)].quota_in(pool).guaranteed;
  });
}

TenantTable with_default_tenant(TenantTable table) {
  const auto is_default = [](const Tenant& tenant) { return tenant.name == kDefaultTenant; };
  if (table.empty() || std::any_of(table.tenants.begin(), table.tenants.end(), is_default))
    return table;
  table.tenants.push_back({std::string{kDefaultTenant}, kNoParent, 1, {}});
  return table;
}

}  // namespace weir
