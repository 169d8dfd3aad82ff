// SPDX-License-Identifier: Apache-2.0
#include "domain/energy_terms.h"

#include <algorithm>

#include "domain/tenants.h"

namespace weir {
namespace {

bool is_well_formed(const PoolPower& power) {
  return power.idle_milliwatts >= 0 && power.node_milliwatts >= 0 && power.asleep_milliwatts >= 0 &&
         power.overhead_permille >= 1;
}

}  // namespace

std::optional<std::size_t> EnergyTerms::payer_of(std::string_view tenant) const {
  if (tenants.empty()) return std::nullopt;
  const std::string_view name = tenant.empty() ? kDefaultTenant : tenant;
  const auto at = std::lower_bound(
      tenants.begin(), tenants.end(), name,
      [](const TenantBudget& one, std::string_view of) { return one.tenant < of; });
  if (at == tenants.end() || at->tenant != name) return std::nullopt;
  return static_cast<std::size_t>(at - tenants.begin());
}

bool is_well_formed(const EnergyTerms& terms) {
  for (std::size_t i = 0; i < terms.pools.size(); ++i) {
    if (!is_well_formed(terms.pools[i])) return false;
    for (std::size_t k = 0; k < i; ++k) {
      if (terms.pools[k].pool == terms.pools[i].pool) return false;
    }
  }
  if (terms.price_nanos.value_or(0) < 0 || terms.budget_micros.value_or(0) < 0) return false;
  if (terms.has_budget() && terms.until <= terms.from) return false;
  for (std::size_t i = 0; i < terms.tenants.size(); ++i) {
    const TenantBudget& one = terms.tenants[i];
    if (one.tenant.empty() || one.budget_micros < 0 || one.expected_gpu_seconds < 0) return false;
    if (i > 0 && one.tenant <= terms.tenants[i - 1].tenant) return false;
  }
  return terms.expected_gpu_seconds >= 0 && terms.cap_milliwatts.value_or(1) >= 1 &&
         terms.longest_pause > Duration{0};
}

}  // namespace weir
