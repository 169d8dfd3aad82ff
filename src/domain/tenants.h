// SPDX-License-Identifier: Apache-2.0
//
// Who shares the cluster: groups in a tree, each with what it is guaranteed, what it may have at
// most, and its weight when GPUs are left over (docs/models/tenants.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "domain/ids.h"
#include "domain/time.h"

namespace weir {

inline constexpr std::int32_t kNoMaximum = std::numeric_limits<std::int32_t>::max();
// The tenant of jobs whose own is not in the table.
inline constexpr std::string_view kDefaultTenant = "default";
inline constexpr std::int32_t kNoParent = -1;

// Of one pool. In a pool without one nothing is guaranteed and there is no maximum.
struct TenantQuota {
  PoolIndex pool;
  std::int32_t guaranteed = 0;  // GPUs it has whenever it wants them
  std::int32_t maximum = kNoMaximum;
  friend bool operator==(const TenantQuota&, const TenantQuota&) = default;
};

struct Tenant {
  std::string name;
  std::int32_t parent = kNoParent;  // its place in the table; parents come before their children
  std::int64_t weight = 1;          // of GPUs nobody is guaranteed, beside its siblings
  std::vector<TenantQuota> quotas;

  TenantQuota quota_in(PoolIndex pool) const;
  friend bool operator==(const Tenant&, const Tenant&) = default;
};

struct TenantTable {
  std::vector<Tenant> tenants;
  Duration half_life = std::chrono::hours{24};  // after which GPU-time counts half
  Duration lease = std::chrono::minutes{10};    // nobody gives way for fairness alone before

  bool empty() const { return tenants.empty(); }
  // The tenant of that name; else the default one, which adopted tables have.
  std::size_t index_of(std::string_view name) const;
  friend bool operator==(const TenantTable&, const TenantTable&) = default;
};

// Names are unique, parents come first, weights are 1 or more, nothing is negative, guarantees are
// within maxima and children's guarantees within their parent's, and times are longer than a second.
bool is_well_formed(const TenantTable& table);

// The table, with a default tenant if it has none. An empty one stays empty.
TenantTable with_default_tenant(TenantTable table);

}  // namespace weir
