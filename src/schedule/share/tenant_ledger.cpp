// SPDX-License-Identifier: Apache-2.0
#include "schedule/share/tenant_ledger.h"

#include <algorithm>

namespace weir::schedule {

TenantLedger::TenantLedger(const TrainingState& state, const PoolState& pool, Time now) {
  if (!state.tenants) {
    tenants_.emplace_back();
    return;
  }
  const TenantTable& table = *state.tenants;
  lease_milliseconds_ = table.lease / std::chrono::milliseconds{1};
  for (std::size_t i = 0; i < table.tenants.size(); ++i) {
    const Tenant& tenant = table.tenants[i];
    const TenantQuota quota = tenant.quota_in(pool.pool->id);
    Entry entry;
    entry.parent = tenant.parent;
    entry.guaranteed = entry.guaranteed_own = quota.guaranteed;
    entry.maximum = quota.maximum;
    entry.weight = tenant.weight;
    entry.used = entry.used_own = pool.usage[i].at(now, table.half_life);
    if (tenant.parent != kNoParent) {
      Entry& parent = tenants_[static_cast<std::size_t>(tenant.parent)];
      entry.depth = parent.depth + 1;
      parent.guaranteed_own -= quota.guaranteed;
    }
    tenants_.push_back(entry);
  }
  for (std::size_t i = tenants_.size(); i-- > 0;) {
    if (tenants_[i].parent != kNoParent)
      tenants_[static_cast<std::size_t>(tenants_[i].parent)].used += tenants_[i].used;
  }
}

void TenantLedger::add(std::uint32_t tenant, std::int32_t gpus) {
  tenants_[tenant].held_own += gpus;
  for (auto at = static_cast<std::int32_t>(tenant); at != kNoParent;) {
    Entry& entry = tenants_[static_cast<std::size_t>(at)];
    entry.held += gpus;
    at = entry.parent;
  }
}

bool TenantLedger::may_have(std::uint32_t tenant, std::int32_t more,
                            std::span<const TenantGpus> given_up) const {
  return excess(tenant, more, given_up) == 0;
}

std::int64_t TenantLedger::excess(std::uint32_t tenant, std::int32_t more,
                                  std::span<const TenantGpus> given_up) const {
  const auto is_below = [&](std::uint32_t one, std::int32_t ancestor) {
    auto at = static_cast<std::int32_t>(one);
    while (at != kNoParent && at != ancestor) at = tenants_[static_cast<std::size_t>(at)].parent;
    return at == ancestor;
  };
  std::int64_t over = 0;
  for (auto at = static_cast<std::int32_t>(tenant); at != kNoParent;) {
    const Entry& entry = tenants_[static_cast<std::size_t>(at)];
    std::int64_t held = std::int64_t{entry.held} + more;
    for (const TenantGpus& each : given_up)
      if (is_below(each.tenant, at)) held -= each.gpus;
    over += std::max<std::int64_t>(0, held - entry.maximum);
    at = entry.parent;
  }
  return over;
}

bool TenantLedger::is_guaranteed(std::uint32_t tenant, std::int32_t more) const {
  const Entry& entry = tenants_[tenant];
  return entry.held + more <= entry.guaranteed;
}

TenantLedger::Branch TenantLedger::branch_of(std::int32_t at) const {
  const Entry& entry = tenants_[static_cast<std::size_t>(at)];
  return {entry.held, entry.guaranteed, entry.weight, entry.used};
}

TenantLedger::Branch TenantLedger::own_branch_of(std::int32_t at) const {
  const Entry& entry = tenants_[static_cast<std::size_t>(at)];
  return {entry.held_own, entry.guaranteed_own, 1, entry.used_own};
}

TenantLedger::Siblings TenantLedger::siblings(std::uint32_t one, std::uint32_t other) const {
  auto a = static_cast<std::int32_t>(one);
  auto b = static_cast<std::int32_t>(other);
  const auto parent = [&](std::int32_t at) {
    return tenants_[static_cast<std::size_t>(at)].parent;
  };
  const auto depth = [&](std::int32_t at) { return tenants_[static_cast<std::size_t>(at)].depth; };
  // Up to the same depth; the one that is above the other stands for its own jobs.
  while (depth(a) > depth(b)) {
    if (parent(a) == b) return {branch_of(a), own_branch_of(b)};
    a = parent(a);
  }
  while (depth(b) > depth(a)) {
    if (parent(b) == a) return {own_branch_of(a), branch_of(b)};
    b = parent(b);
  }
  while (a != b && parent(a) != parent(b)) {
    a = parent(a);
    b = parent(b);
  }
  return {branch_of(a), branch_of(b)};
}

WideInteger TenantLedger::served(const Branch& branch, std::int32_t more) const {
  return WideInteger{branch.used} + WideInteger{branch.held + more} * lease_milliseconds_;
}

bool TenantLedger::goes_first(std::uint32_t a, std::uint32_t b) const {
  if (a == b) return false;
  const auto [first, second] = siblings(a, b);
  return served(first, 0) * second.weight < served(second, 0) * first.weight;
}

Claim TenantLedger::claim(const Wish& wish, const Offer& offer) const {
  if (wish.tenant == offer.tenant)
    return offer.priority < wish.priority ? Claim::priority : Claim::none;
  const auto [taker, giver] = siblings(wish.tenant, offer.tenant);
  if (giver.held <= giver.guaranteed) return Claim::none;
  if (taker.held + wish.more <= taker.guaranteed) return Claim::guaranteed;
  // Beyond guarantees only what was borrowed changes hands, or it would be claimed back at once.
  if (giver.held - offer.given_up < giver.guaranteed) return Claim::none;
  if (offer.priority != wish.priority)
    return offer.priority < wish.priority ? Claim::priority : Claim::none;
  const bool is_fair =
      served(taker, wish.more) * giver.weight <= served(giver, -offer.given_up) * taker.weight;
  return is_fair && offer.has_had_its_lease ? Claim::fairness : Claim::none;
}

}  // namespace weir::schedule
