// SPDX-License-Identifier: Apache-2.0
#include "schedule/share/promised_use.h"

#include <algorithm>

namespace weir::schedule {

PromisedUse::PromisedUse(const TrainingState& state, const PoolState& pool, Time now)
    : table_{state.tenants.get()}, gpus_{pool.gpus_up()}, now_{now} {
  if (table_ == nullptr) return;
  for (const Tenant& tenant : table_->tenants) quotas_.push_back(tenant.quota_in(pool.pool->id));
}

void PromisedUse::add(std::uint32_t tenant, Time from, Time to, std::int32_t gpus) {
  if (gpus == 0 || to <= std::max(from, now_)) return;
  changes_.push_back({std::max(from, now_), tenant, gpus});
  changes_.push_back({to, tenant, -gpus});
}

void PromisedUse::add(std::uint32_t tenant, const Timeline& timeline, Time end) {
  if (!is_limited()) return;
  for (std::size_t i = 0; i < timeline.steps.size(); ++i) {
    add(tenant, timeline.steps[i].from, std::min(timeline.end_of(i), end),
        static_cast<std::int32_t>(timeline.steps[i].block.size));
  }
}

void PromisedUse::add(std::uint32_t tenant, const SizePlan& plan, const SizeTable& sizes) {
  if (!is_limited()) return;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const int level = plan.steps[i].level;
    if (level == kPaused) continue;
    add(tenant, plan.steps[i].from, plan.end_of(i), sizes[static_cast<std::size_t>(level)].gpus);
  }
}

// Every tenant is owed the larger of its guarantee and what was promised below it. What the owed add
// up to in the whole pool must stay within it; on the way up each guarantee that is not used up takes
// a part of what is new.
std::int32_t PromisedUse::room_now(const std::vector<std::int32_t>& own, std::uint32_t tenant,
                                   QuotaRule rule) const {
  const std::size_t count = own.size();
  std::vector<std::int32_t> promised = own;  // by it and all below it
  std::vector<std::int32_t> owed = own;      // children's included
  std::int32_t owed_in_all = 0;
  std::vector<std::int32_t> unused(count, 0);  // of its guarantee
  for (std::size_t i = count; i-- > 0;) {
    unused[i] = std::max(0, quotas_[i].guaranteed - owed[i]);
    owed[i] += unused[i];
    const std::int32_t parent = table_->tenants[i].parent;
    if (parent == kNoParent) {
      owed_in_all += owed[i];
    } else {
      owed[static_cast<std::size_t>(parent)] += owed[i];
      promised[static_cast<std::size_t>(parent)] += promised[i];
    }
  }
  std::int32_t up_to_maxima = kNoMaximum;
  std::int32_t unused_above = 0;
  for (auto at = static_cast<std::int32_t>(tenant); at != kNoParent;) {
    const auto i = static_cast<std::size_t>(at);
    up_to_maxima = std::min(up_to_maxima, std::max(0, quotas_[i].maximum - promised[i]));
    unused_above += unused[i];
    at = table_->tenants[i].parent;
  }
  if (rule == QuotaRule::maxima) return up_to_maxima;
  const std::int32_t of_nobody = std::max(0, gpus_ - owed_in_all);
  return std::min(up_to_maxima, unused_above + of_nobody);
}

CapacityProfile PromisedUse::room_for(std::uint32_t tenant, QuotaRule rule) const {
  std::vector<Change> changes = changes_;
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.at < b.at; });
  std::vector<std::int32_t> own(quotas_.size(), 0);
  std::size_t next = 0;
  const auto apply_until = [&](Time time) {
    for (; next < changes.size() && changes[next].at <= time; ++next)
      own[changes[next].tenant] += changes[next].by;
  };
  apply_until(now_);
  std::int32_t room = std::min(room_now(own, tenant, rule), gpus_);
  CapacityProfile profile{now_, room};
  std::vector<CapacityProfile::Change> steps;
  while (next < changes.size()) {
    const Time at = changes[next].at;
    apply_until(at);
    const std::int32_t then = std::min(room_now(own, tenant, rule), gpus_);
    if (then != room) steps.push_back({at, then - room});
    room = then;
  }
  profile.apply(std::move(steps));
  return profile;
}

CapacityProfile PromisedUse::within(const CapacityProfile& free, std::uint32_t tenant,
                                    QuotaRule rule) const {
  return is_limited() ? smaller_of(free, room_for(tenant, rule)) : free;
}

std::int32_t PromisedUse::maximum_of(std::uint32_t tenant) const {
  std::int32_t least = kNoMaximum;
  if (!is_limited()) return least;
  for (auto at = static_cast<std::int32_t>(tenant); at != kNoParent;) {
    least = std::min(least, quotas_[static_cast<std::size_t>(at)].maximum);
    at = table_->tenants[static_cast<std::size_t>(at)].parent;
  }
  return least;
}

}  // namespace weir::schedule
