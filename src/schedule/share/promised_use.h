// SPDX-License-Identifier: Apache-2.0
//
// How many GPUs tenants have been promised, now and later, and how many more one may be promised. A
// promise is never taken back, so it must leave others what they are guaranteed: beyond its tenant's
// own guarantee it gets only what is guaranteed to nobody.
#pragma once

#include <cstdint>
#include <vector>

#include "domain/timeline.h"
#include "schedule/admit/capacity_profile.h"
#include "schedule/admit/fill.h"
#include "schedule/core/training_state.h"

namespace weir::schedule {

enum class QuotaRule : std::uint8_t {
  guarantees,  // for new promises: maxima hold, and others' guarantees are left to them
  maxima,      // for promises to be mended: only maxima hold
};

class PromisedUse {
 public:
  // Of nobody, yet.
  PromisedUse(const TrainingState& state, const PoolState& pool, Time now);

  // Without tenants nothing is counted and nothing is limited.
  bool is_limited() const { return table_ != nullptr; }

  // Until `end`, which is not later than its own.
  void add(std::uint32_t tenant, const Timeline& timeline, Time end);
  void add(std::uint32_t tenant, const SizePlan& plan, const SizeTable& sizes);

  // How many more GPUs the tenant may be promised, over time. Requires: is_limited().
  CapacityProfile room_for(std::uint32_t tenant, QuotaRule rule) const;
  // The same, where so much is free. What is free, when nothing is limited.
  CapacityProfile within(const CapacityProfile& free, std::uint32_t tenant, QuotaRule rule) const;

  // The smallest maximum above the tenant.
  std::int32_t maximum_of(std::uint32_t tenant) const;

 private:
  struct Change {
    Time at;
    std::uint32_t tenant = 0;
    std::int32_t by = 0;
  };
  void add(std::uint32_t tenant, Time from, Time to, std::int32_t gpus);
  std::int32_t room_now(const std::vector<std::int32_t>& own, std::uint32_t tenant,
                        QuotaRule rule) const;

  const TenantTable* table_;
  std::vector<TenantQuota> quotas_;  // by tenant, of the pool
  std::int32_t gpus_;                // of the pool
  Time now_;
  std::vector<Change> changes_;
};

}  // namespace weir::schedule
