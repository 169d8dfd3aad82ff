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

std::int32_t TenantLedger::maximum_of(std::uint32_t tenant) const {
  std::int32_t least = kNoMaximum;
  for (auto at = static_cast<std::int32_t>(tenant); at != kNoParent;
       at = tenants_[static_cast<std::size_t>(at)].parent)
    least = std::min(least, tenants_[static_cast<std::size_t>(at)].maximum);
  return least;
}

bool TenantLedger::is_guaranteed(std::uint32_t tenant, std::int32_t more) const {
  const Entry& entry = tenants_[tenant];
  return entry.held + more <= entry.guaranteed;
}

bool TenantLedger::straddles(std::uint32_t tenant, std::int32_t more) const {
  const auto is_across = [&](const Branch& branch) {
    return branch.held < branch.guaranteed && branch.held + more > branch.guaranteed;
  };
  if (is_across(own_branch_of(static_cast<std::int32_t>(tenant)))) return true;
  for (auto at = static_cast<std::int32_t>(tenant); at != kNoParent;
       at = tenants_[static_cast<std::size_t>(at)].parent)
    if (is_across(branch_of(at))) return true;
  return false;
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
    if (parent(a) == b) return {branch_of(a), own_branch_of(b), kNoParent};
    a = parent(a);
  }
  while (depth(b) > depth(a)) {
    if (parent(b) == a) return {own_branch_of(a), branch_of(b), b};
    b = parent(b);
  }
  while (a != b && parent(a) != parent(b)) {
    a = parent(a);
    b = parent(b);
  }
  return {branch_of(a), branch_of(b), b};
}

bool TenantLedger::keeps_guarantees(std::uint32_t tenant, std::int32_t top,
                                    std::int32_t given_up) const {
  const auto keeps = [&](const Branch& branch) {
    return branch.held > branch.guaranteed && branch.held - given_up >= branch.guaranteed;
  };
  if (!keeps(own_branch_of(static_cast<std::int32_t>(tenant)))) return false;
  if (top == kNoParent) return true;
  for (auto at = static_cast<std::int32_t>(tenant);;
       at = tenants_[static_cast<std::size_t>(at)].parent) {
    if (!keeps(branch_of(at))) return false;
    if (at == top) return true;
  }
}

WideInteger TenantLedger::served(const Branch& branch, std::int32_t more) const {
  return WideInteger{branch.used} + WideInteger{branch.held + more} * lease_milliseconds_;
}

bool TenantLedger::goes_first(std::uint32_t a, std::uint32_t b) const {
  if (a == b) return false;
  const auto [first, second, top] = siblings(a, b);
  return served(first, 0) * second.weight < served(second, 0) * first.weight;
}

Claim TenantLedger::claim(const Wish& wish, const Offer& offer) const {
  if (wish.tenant == offer.tenant)
    return offer.priority < wish.priority ? Claim::priority : Claim::none;
  const auto [taker, giver, top] = siblings(wish.tenant, offer.tenant);
  // One GPU beyond is enough for who claims its own: a job cannot give up a part it does not have.
  if (!keeps_guarantees(offer.tenant, top, std::min(offer.given_up, 1))) return Claim::none;
  if (taker.held + wish.more <= taker.guaranteed) return Claim::guaranteed;
  // Beyond guarantees only what was borrowed changes hands, or it would be claimed back at once.
  if (!keeps_guarantees(offer.tenant, top, offer.given_up)) return Claim::none;
  if (offer.priority != wish.priority)
    return offer.priority < wish.priority ? Claim::priority : Claim::none;
  const bool is_fair =
      served(taker, wish.more) * giver.weight <= served(giver, -offer.given_up) * taker.weight;
  return is_fair && offer.has_had_its_lease ? Claim::fairness : Claim::none;
}

}  // namespace weir::schedule
