// SPDX-License-Identifier: Apache-2.0
//
// What the tenants of a pool have, may have and have had, while a decision is being made: who may
// have more, whose turn it is, and who may take GPUs from whom. docs/models/tenants.md has the rules.
//
// Two tenants are compared as branches of the tree: the siblings below the group they share. A
// group's own jobs are a branch beside its children.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "domain/work.h"
#include "schedule/core/training_state.h"

namespace weir::schedule {

// Why a job may take GPUs that another was lent.
enum class Claim : std::uint8_t {
  none,
  guaranteed,  // its tenant stays within its guarantee, the other is beyond its own
  priority,    // it has a higher one, and the other tenant keeps what it is guaranteed
  fairness,    // its tenant has had less, and still would have if they changed places
};

// GPUs that a tenant has, or would give up.
struct TenantGpus {
  std::uint32_t tenant = 0;
  std::int32_t gpus = 0;
};

class TenantLedger {
 public:
  // Nobody holds anything yet.
  TenantLedger(const TrainingState& state, const PoolState& pool, Time now);

  // Without a table all jobs are of one tenant, without limits.
  std::uint32_t tenant_count() const { return static_cast<std::uint32_t>(tenants_.size()); }

  void add(std::uint32_t tenant, std::int32_t gpus);
  std::int32_t held_by(std::uint32_t tenant) const { return tenants_[tenant].held; }

  // Whether it may have so many more, when others give up what they hold.
  bool may_have(std::uint32_t tenant, std::int32_t more,
                std::span<const TenantGpus> given_up = {}) const;
  // By how many GPUs it would be over the limits above it, all added up.
  std::int64_t excess(std::uint32_t tenant, std::int32_t more,
                      std::span<const TenantGpus> given_up) const;
  // The smallest maximum above it.
  std::int32_t maximum_of(std::uint32_t tenant) const;
  // Whether it would still be within what it is guaranteed itself.
  bool is_guaranteed(std::uint32_t tenant, std::int32_t more) const;
  // Whose turn it is: `a` has had less for its weight, and has less, than `b`.
  bool goes_first(std::uint32_t a, std::uint32_t b) const;

  struct Wish {
    std::uint32_t tenant = 0;
    std::int32_t priority = 0;
    std::int32_t more = 0;  // GPUs
  };
  struct Offer {
    std::uint32_t tenant = 0;
    std::int32_t priority = 0;
    std::int32_t given_up = 0;      // GPUs
    bool has_had_its_lease = true;  // without, it does not give way for fairness
  };
  Claim claim(const Wish& wish, const Offer& offer) const;

  // Whether so many more would partly be guaranteed and partly borrowed, at any level. Such a job
  // counts as borrowing, and who borrows sends nobody of its own tenant away who does not: it could
  // itself be sent away next, and so on.
  bool straddles(std::uint32_t tenant, std::int32_t more) const;

 private:
  struct Entry {
    std::int32_t parent = kNoParent;
    std::int32_t held = 0;      // by it and all below it
    std::int32_t held_own = 0;  // by its own jobs
    std::int32_t guaranteed = 0;
    std::int32_t guaranteed_own = 0;  // what its children leave of it
    std::int32_t maximum = kNoMaximum;
    std::int64_t weight = 1;
    std::int64_t used = 0;  // decayed GPU-milliseconds, by it and all below it
    std::int64_t used_own = 0;
    std::int32_t depth = 0;
  };
  struct Branch {
    std::int32_t held = 0;
    std::int32_t guaranteed = 0;
    std::int64_t weight = 1;
    std::int64_t used = 0;
  };
  struct Siblings {
    Branch a;
    Branch b;
    std::int32_t top_of_b = kNoParent;  // its place; none: b stands for its own jobs
  };
  Siblings siblings(std::uint32_t a, std::uint32_t b) const;
  Branch branch_of(std::int32_t entry) const;
  Branch own_branch_of(std::int32_t entry) const;
  // Whether it, and all above it up to `top`, would still have what they are guaranteed, and now have
  // more. Who is guaranteed GPUs in its own group loses none to other groups.
  bool keeps_guarantees(std::uint32_t tenant, std::int32_t top, std::int32_t given_up) const;
  // GPU-time had, and GPUs held for one more lease.
  WideInteger served(const Branch& branch, std::int32_t more) const;

  std::vector<Entry> tenants_;
  std::int64_t lease_milliseconds_ = 0;
};

}  // namespace weir::schedule
