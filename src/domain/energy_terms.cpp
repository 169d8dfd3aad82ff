// SPDX-License-Identifier: Apache-2.0
#include "domain/energy_terms.h"

#include <algorithm>

namespace weir {
namespace {

bool is_well_formed(const PoolPower& power) {
  return power.idle_milliwatts >= 0 && power.node_milliwatts >= 0 && power.asleep_milliwatts >= 0 &&
         power.overhead_permille >= 1;
}

}  // namespace

bool is_well_formed(const EnergyTerms& terms) {
  for (std::size_t i = 0; i < terms.pools.size(); ++i) {
    if (!is_well_formed(terms.pools[i])) return false;
    for (std::size_t k = 0; k < i; ++k) {
      if (terms.pools[k].pool == terms.pools[i].pool) return false;
    }
  }
  if (terms.price_nanos.value_or(0) < 0 || terms.budget_micros.value_or(0) < 0) return false;
  if (terms.budget_micros && terms.until <= terms.from) return false;
  return terms.expected_gpu_seconds >= 0 && terms.cap_milliwatts.value_or(1) >= 1 &&
         terms.longest_pause > Duration{0};
}

}  // namespace weir
