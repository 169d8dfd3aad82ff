// SPDX-License-Identifier: Apache-2.0
//
// What the weights of tenants give them, for people: decisions compare weights themselves.
#pragma once

#include <cstddef>
#include <vector>

#include "domain/tenants.h"

namespace weir {

// Of each tenant: its part of the whole if everybody wanted more than they get. A group's is shared out
// among what it is made of.
std::vector<double> shares_of_weight(const TenantTable& table);

// Calls `use` with the tenant and each group it is in, from the inside out.
template <class Use>
void for_each_group(const TenantTable& table, std::size_t tenant, Use use) {
  for (auto at = static_cast<std::int32_t>(tenant); at != kNoParent;
       at = table.tenants[static_cast<std::size_t>(at)].parent)
    use(static_cast<std::size_t>(at));
}

}  // namespace weir
