// SPDX-License-Identifier: Apache-2.0
//
// How training jobs are admitted and who has how many GPUs. A policy is pure: it looks at the state
// and says what should be; the core records it. Adding one is one file and one row in
// training_policies.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "domain/reserve.h"
#include "schedule/admit/capacity_profile.h"
#include "schedule/core/training_state.h"

namespace weir::schedule {

// When the gate closes (admit/gate.h). Set on the odd-numbered clusters of the ElasticFlow traces,
// checked on the even ones (docs/models/promises.md).
struct GateRules {
  std::int64_t refused_at_least = 3;  // cheaper jobs, for lack of room, lately
  std::int64_t seen_at_least = 10;    // with fewer arrivals there is no telling
  std::int64_t future_percent = 70;   // of the rate at which cheaper work has been arriving
};

// Parts of weir's policy that can be left out, to see what each is worth (docs/models/promises.md).
struct Ablation {
  bool plans_overhead = true;      // a change of GPUs costs time inside plans
  bool lends_left_overs = true;    // GPUs nobody was promised are handed out
  bool lends_where_least = false;  // left-over GPUs go where they save least, not most
  bool raises_late = true;         // of a plan's two sizes, the larger comes as late as possible
};

// What is still to be kept from being promised. GPUs of lost nodes come out of the reserve first.
std::int32_t held_back(const PoolState& pool, const Reserve& reserve);

// Of policies that save energy by a limit for all jobs, or by letting them wait.
struct EnergyCaps {
  std::int32_t gpus = 0;                     // of a job; 0: none
  std::int32_t clock_permille = kFullClock;  // of all GPUs
  // Of a job's time at its fastest under these limits: within so much it is to be done.
  std::int32_t stretch_permille = 2000;
};

struct TrainingConfig {
  Duration slot{0};  // changes fall on multiples of it; 0: anywhere
  bool makes_counter_offers = true;
  bool has_gate = true;  // refuse giants while cheaper jobs are turned away (admit/gate.h)
  GateRules gate;
  // Jobs that need more than this multiple of the median GPU-time are promised later; 0: never.
  std::int64_t provisional_multiple = 0;
  Reserve reserve;
  Ablation ablation;
  // Of policies that decide in rounds, leases or slices; 0: what suits the policy.
  Duration round{0};
  std::uint64_t seed = 42;  // of a policy's own draws
  EnergyCaps caps;
  // Of the same policies under a budget, from the loosest to the tightest: they walk along it.
  std::vector<EnergyCaps> cap_path;
  // How slowly the price of energy follows what would be right for its budget; 0: at once.
  Duration price_memory = std::chrono::hours{24};
};

// The job is promised. Others whose timeline changes are listed too.
struct Promise {
  Time deadline;
  Timeline timeline;
  std::vector<std::pair<JobId, Timeline>> revised;
  Reason reason;
  bool is_provisional = false;       // planned, but its user is not told yet
  std::optional<JobId> gives_way{};  // a provisional job that loses its plan for this one
};
// Accepted, runs when it can.
struct NoPromise {
  Reason reason{ReasonCode::no_promise_asked, 0};
  std::optional<Time> expected_start{};
  std::optional<Time> expected_finish{};
};
struct Refusal {
  Reason reason;
  std::optional<Time> earliest;  // a deadline that would be promised
};
using Verdict = std::variant<Promise, NoPromise, Refusal>;

struct WantedBlock {
  JobId job;
  GpuBlock block;
  Reason reason;
  // Of the GPUs, and how much of its rate the job then has.
  std::int32_t clock_permille = kFullClock;
  std::int64_t clocked_millionths = 1'000'000;
};

// Who should have which GPUs from now on. Jobs that are not named get none. Blocks are disjoint, of
// sizes the jobs may have, and none is closed.
struct Allocation {
  std::vector<WantedBlock> blocks;  // by ascending id
  Time wake_up = Time::max();       // when to decide again if nothing happens
  // What energy is worth from now on, where there is a budget.
  std::vector<EnergyPriceSet> energy_prices{};
};

// A promised job after the world has changed.
struct Mended {
  enum class Outcome : std::uint8_t { kept, at_risk };
  JobId job;
  Timeline timeline;
  Outcome outcome = Outcome::kept;
  Time expected_finish;  // of a job at risk
};

// What a policy looks at.
struct PoolView {
  const TrainingState& state;
  const PoolState& pool;
  // What no timeline uses, from now on: an index beside the state.
  const CapacityProfile& unpromised;
  Time now;
  const TrainingConfig& config;
  std::int32_t held_back = 0;  // GPUs that must not be promised; `unpromised` is without them
};

class TrainingPolicy {
 public:
  virtual ~TrainingPolicy() = default;

  // Which sizes its jobs may have.
  virtual SizeRule size_rule() const { return SizeRule::useful; }

  // Whether TrainingConfig::ablation is about it.
  virtual bool can_leave_parts_out() const { return false; }

  // Whether a job with a deadline is told if it will meet it.
  virtual bool makes_promises() const = 0;

  // What would become of a job that comes to the pool now. It is not part of the state yet.
  virtual Verdict judge(const PoolView& view, const TrainingJob& job) const = 0;

  virtual Allocation allocate(const PoolView& view) const = 0;

  // For policies that keep timelines. A job's own would break its promise; the pool has lost or
  // gained GPUs; and the provisional jobs that can be promised now.
  virtual std::vector<Mended> mend(const PoolView&, JobId) const { return {}; }
  virtual std::vector<Mended> mend_all(const PoolView&) const { return {}; }
  virtual std::vector<JobId> to_confirm(const PoolView&) const { return {}; }
};

}  // namespace weir::schedule
