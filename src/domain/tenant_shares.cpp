// SPDX-License-Identifier: Apache-2.0
#include "domain/tenant_shares.h"

#include <map>

namespace weir {

std::vector<double> shares_of_weight(const TenantTable& table) {
  std::map<std::int32_t, std::int64_t> of_siblings;  // by parent
  for (const Tenant& tenant : table.tenants) of_siblings[tenant.parent] += tenant.weight;
  std::vector<double> shares;
  for (const Tenant& tenant : table.tenants) {
    const double above =
        tenant.parent == kNoParent ? 1 : shares[static_cast<std::size_t>(tenant.parent)];
    shares.push_back(above * static_cast<double>(tenant.weight) /
                     static_cast<double>(of_siblings[tenant.parent]));
  }
  return shares;
}

}  // namespace weir
