// SPDX-License-Identifier: Apache-2.0
//
// Tenants and priorities in random histories: submissions of every kind, ends, cancellations, nodes
// that go and come back, tables that change. After every decision it is checked, by counting slots
// and nothing else, that
//
//   - no promise is touched (admit/audit.h);
//   - no tenant has more than its maximum, other than what was promised before the table changed;
//   - no job waits whose least block is free, or is held by others it may take it from: less important
//     ones of its own tenant (those within the guarantee, if it fits into that itself), borrowed and
//     less important ones of others, or, when it is within its tenant's guarantee, borrowed ones at all
//     (no priority inversion, no guarantee withheld);
//   - where there are tenants or priorities, deciding again changes nothing: taking back ends.
//
//   tenant_sweep HISTORIES        each has eight moments at which something happens
//   tenant_sweep --shares DAYS    four tenants of weights 1 to 4 who want more than there is, for so
//                                 many days: how far the shares they had are from their weights
//
// Exit code 1 when anything does not hold.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/seeded_rng.h"
#include "made_up_cluster.h"
#include "schedule/admit/audit.h"
#include "schedule/core/core.h"
#include "schedule/place/policies.h"
#include "schedule/policies/training_policies.h"

namespace weir {
namespace {

using schedule::PoolState;
using schedule::TrainingJob;
using schedule::TrainingState;

schedule::CoreConfig config() {
  schedule::CoreConfig config;
  config.policy = schedule::placement_policies().front().policy;
  config.training_policy = schedule::find_training_policy("weir");
  return config;
}

schedule::State initial(const Cluster& cluster) {
  schedule::State state = schedule::initial_state_for_training(cluster);
  state.training.rescale_cost = {Duration{0}, Duration{0}};
  return state;
}

// Twice as fast on twice the GPUs, from `least` to `most`.
CurveKey key_of(std::int32_t least, std::int32_t most) {
  return {std::to_string(least) + ".." + std::to_string(most), 1};
}
void tell_curves(schedule::Core& core) {
  for (std::int32_t least = 1; least <= 16; least *= 2) {
    for (std::int32_t most = least; most <= 16; most *= 2) {
      std::vector<CurvePoint> points;
      for (std::int32_t gpus = least; gpus <= most; gpus *= 2)
        points.push_back({gpus, IterationRate{gpus * std::int64_t{1'000'000}}});
      core.handle({Time{}, CurveUpdated{PoolIndex{0}, key_of(least, most), Curve{points}}});
    }
  }
}

int below(SeededRng& rng, int bound) {
  return static_cast<int>(rng.below(static_cast<std::uint64_t>(bound)));
}

TenantTable any_table(SeededRng& rng, const Cluster& cluster) {
  const auto gpus = static_cast<std::int32_t>(cluster.gpu_count());
  TenantTable table;
  table.lease = from_seconds(600);
  const int count = below(rng, 6);
  std::vector<std::int32_t> left;  // of each guarantee, for children
  std::int32_t of_all = gpus;
  for (int i = 0; i < count; ++i) {
    Tenant tenant;
    tenant.name = std::string(1, static_cast<char>('a' + i));
    tenant.parent = below(rng, 2) == 0 ? kNoParent : below(rng, i + 1) - 1;
    tenant.weight = 1 + below(rng, 4);
    std::int32_t& from =
        tenant.parent == kNoParent ? of_all : left[static_cast<std::size_t>(tenant.parent)];
    const std::int32_t guaranteed = below(rng, from + 1);
    from -= guaranteed;
    left.push_back(guaranteed);
    const std::int32_t maximum = below(rng, 2) == 0 ? kNoMaximum : guaranteed + below(rng, gpus);
    tenant.quotas.push_back({PoolIndex{0}, guaranteed, maximum});
    table.tenants.push_back(std::move(tenant));
  }
  return table;
}

TrainingSpec any_spec(SeededRng& rng, Time now) {
  TrainingSpec spec;
  const std::int32_t least = 1 << below(rng, 4);
  const std::int32_t most = std::min(16, least << below(rng, 3));
  spec.curve = key_of(least, most);
  spec.iterations = 1'000'000;
  spec.is_rigid = least == most;
  spec.asked_gpus = least;
  spec.tenant = std::string(1, static_cast<char>('a' + below(rng, 7)));
  spec.priority = below(rng, 5) - 2;
  if (below(rng, 5) == 0) {
    spec.iterations = 1000 + below(rng, 100'000);
    spec.deadline_kind = DeadlineKind::hard;
    spec.deadline = now + from_seconds(1000 + below(rng, 50'000));
  } else if (spec.is_rigid && below(rng, 4) == 0) {
    spec.in_one_piece = true;
  }
  return spec;
}

// Who holds what, counted anew.
class Count {
 public:
  Count(const TrainingState& state, const PoolState& pool, Time now)
      : state_{state}, pool_{pool}, now_{now} {
    owner_.assign(pool.pool->slots(), nullptr);
    held_.assign(tenants(), 0);
    promised_.assign(tenants(), 0);
    for (const JobId id : pool.active) {
      const TrainingJob& job = state.job(id);
      for (std::uint32_t slot = job.block.first; slot < job.block.end(); ++slot)
        owner_[slot] = &job;
      held_[job.tenant] += static_cast<std::int32_t>(job.block.size);
      if (job.is_promised())
        promised_[job.tenant] += static_cast<std::int32_t>(job.timeline.block_at(now).size);
    }
  }

  // Nothing when all is well.
  std::optional<std::string> problem() const {
    for (std::size_t i = 0; i < tenants() && state_.tenants; ++i) {
      const std::int32_t held = below(held_, i);
      if (held > quota(i).maximum && held > below(promised_, i))
        return "tenant " + state_.tenants->tenants[i].name + " has " + std::to_string(held);
    }
    if (const auto problem = promised_too_much()) return problem;
    for (const JobId id : pool_.active) {
      const TrainingJob& job = state_.job(id);
      if (job.is_promised() || !job.block.is_none()) continue;
      const auto gpus = static_cast<std::uint32_t>(job.sizes->front().gpus);
      for (std::uint32_t first = 0; first + gpus <= owner_.size(); first += gpus) {
        if (pool_.closed.is_free({first, gpus}) && may_take(job, {first, gpus}))
          return "job " + std::to_string(id.value) + " waits, and could have " +
                 std::to_string(gpus) + " GPUs from " + std::to_string(first) + " on";
      }
    }
    return std::nullopt;
  }

  // Promises made under another table are kept, whatever the new one says.
  void expect_promises_within_maxima() { is_table_the_first_ = true; }

 private:
  // Timelines change where a step begins, and only there can a tenant begin to have too much.
  std::optional<std::string> promised_too_much() const {
    if (!state_.tenants || !is_table_the_first_) return std::nullopt;
    for (const JobId id : pool_.active) {
      for (const TimelineStep& step : state_.job(id).timeline.steps) {
        const Time at = std::max(step.from, now_);
        std::vector<std::int32_t> own(tenants(), 0);
        for (const JobId other : pool_.active) {
          const TrainingJob& job = state_.job(other);
          own[job.tenant] += static_cast<std::int32_t>(job.timeline.block_at(at).size);
        }
        for (std::size_t i = 0; i < tenants(); ++i) {
          if (below(own, i) > quota(i).maximum)
            return "tenant " + state_.tenants->tenants[i].name + " is promised " +
                   std::to_string(below(own, i));
        }
      }
    }
    return std::nullopt;
  }
  std::size_t tenants() const { return state_.tenants ? state_.tenants->tenants.size() : 1; }
  TenantQuota quota(std::size_t i) const {
    return state_.tenants ? state_.tenants->tenants[i].quota_in(PoolIndex{0})
                          : TenantQuota{PoolIndex{0}, 0, kNoMaximum};
  }
  std::int32_t parent(std::size_t i) const {
    return state_.tenants ? state_.tenants->tenants[i].parent : kNoParent;
  }
  bool is_below(std::size_t i, std::size_t ancestor) const {
    for (auto at = static_cast<std::int32_t>(i); at != kNoParent;
         at = parent(static_cast<std::size_t>(at)))
      if (at == static_cast<std::int32_t>(ancestor)) return true;
    return false;
  }
  // What the tenant and all below it have.
  std::int32_t below(const std::vector<std::int32_t>& own, std::size_t ancestor) const {
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < own.size(); ++i)
      if (is_below(i, ancestor)) sum += own[i];
    return sum;
  }
  // The tenants on the way up, the highest first; then its own jobs as one more, if `is_own`.
  std::vector<std::size_t> path(std::size_t i) const {
    std::vector<std::size_t> up;
    for (auto at = static_cast<std::int32_t>(i); at != kNoParent;
         at = parent(static_cast<std::size_t>(at)))
      up.insert(up.begin(), static_cast<std::size_t>(at));
    return up;
  }
  struct Branch {
    std::int32_t held = 0;
    std::int32_t guaranteed = 0;
  };
  // The part of `mine` that is not shared with `other`.
  Branch branch(const std::vector<std::int32_t>& held, std::size_t mine, std::size_t other) const {
    const auto own = path(mine);
    const auto others = path(other);
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (i < others.size() && own[i] == others[i]) continue;
      return {below(held, own[i]), quota(own[i]).guaranteed};
    }
    // `mine` is above `other`: its own jobs, and what its children leave of its guarantee.
    return {held[mine], guaranteed_own(mine)};
  }
  // What its children leave of its guarantee.
  std::int32_t guaranteed_own(std::size_t mine) const {
    std::int32_t guaranteed = quota(mine).guaranteed;
    for (std::size_t i = 0; i < tenants(); ++i)
      if (parent(i) == static_cast<std::int32_t>(mine)) guaranteed -= quota(i).guaranteed;
    return guaranteed;
  }

  // Whether `mine` has more than its guarantee, and still has it when it gives up so many; the same for
  // every group above it that `other` is not part of, and for its own jobs beside its children's.
  bool is_beyond(const std::vector<std::int32_t>& held, std::size_t mine, std::size_t other,
                 std::int32_t gives) const {
    if (held[mine] - gives < guaranteed_own(mine)) return false;
    for (const std::size_t i : path(mine)) {
      if (!is_below(other, i) && below(held, i) - gives < quota(i).guaranteed) return false;
    }
    return true;
  }

  bool may_take(const TrainingJob& job, GpuBlock block) const {
    std::vector<std::int32_t> held = held_;
    const TrainingJob* last = nullptr;
    bool sends_own_away = false;
    for (std::uint32_t slot = block.first; slot < block.end(); ++slot) {
      const TrainingJob* holder = owner_[slot];
      if (holder == nullptr || holder == last) continue;
      last = holder;
      // Of a promised job nothing is asked here: whether it can go back depends on its timeline.
      if (holder->is_promised()) return false;
      const auto gives = given_up_by(*holder, block);
      if (holder->tenant == job.tenant) {
        if (holder->spec->priority >= job.spec->priority) return false;
      } else {
        const Branch taker = branch(held, job.tenant, holder->tenant);
        if (!is_beyond(held, holder->tenant, job.tenant, 1)) return false;
        const bool is_guaranteed =
            taker.held + static_cast<std::int32_t>(block.size) <= taker.guaranteed;
        const bool is_less_important = holder->spec->priority < job.spec->priority &&
                                       is_beyond(held, holder->tenant, job.tenant, gives);
        if (!is_guaranteed && !is_less_important) return false;
      }
      held[holder->tenant] -= gives;
      sends_own_away = sends_own_away || holder->tenant == job.tenant;
    }
    const auto more = static_cast<std::int32_t>(block.size);
    const auto straddles = [&](std::int32_t has, std::int32_t guaranteed) {
      return has < guaranteed && has + more > guaranteed;
    };
    if (sends_own_away && straddles(held[job.tenant], guaranteed_own(job.tenant))) return false;
    for (const std::size_t i : path(job.tenant)) {
      if (below(held, i) + more > quota(i).maximum) return false;
      if (sends_own_away && straddles(below(held, i), quota(i).guaranteed)) return false;
    }
    return true;
  }

  // All it has, or what is left when it goes on with its largest size beside the block.
  static std::int32_t given_up_by(const TrainingJob& job, GpuBlock block) {
    const auto all = static_cast<std::int32_t>(job.block.size);
    if (job.spec->in_one_piece) return all;
    for (std::size_t level = job.sizes->size(); level-- > 0;) {
      const auto gpus = static_cast<std::uint32_t>((*job.sizes)[level].gpus);
      if (gpus >= job.block.size) continue;
      for (std::uint32_t at = job.block.first; at + gpus <= job.block.end(); at += gpus)
        if (!block.overlaps({at, gpus})) return all - static_cast<std::int32_t>(gpus);
    }
    return all;
  }

  const TrainingState& state_;
  const PoolState& pool_;
  Time now_;
  std::vector<const TrainingJob*> owner_;
  std::vector<std::int32_t> held_;
  std::vector<std::int32_t> promised_;
  bool is_table_the_first_ = false;
};

struct Tally {
  std::int64_t decisions = 0;
  std::int64_t waiting = 0;
  std::int64_t stopped = 0;
  std::int64_t shrunk = 0;
  std::int64_t promises = 0;
};

void any_event(schedule::Core& core, SeededRng& rng, Time now, const Cluster& cluster) {
  const auto& pool = core.state().training.pools.front();
  const int what = below(rng, 12);
  if (what < 7 || pool.active.empty()) {
    core.handle({now, TrainingSubmitted{any_spec(rng, now)}});
  } else if (what < 9) {
    const JobId job = pool.active[rng.below(pool.active.size())];
    if (below(rng, 2) == 0) {
      core.handle({now, JobFinished{job}});
    } else {
      core.handle({now, JobCancelled{job}});
    }
  } else if (what < 11) {
    const NodeId node = cluster.nodes[rng.below(cluster.nodes.size())].id;
    if (below(rng, 2) == 0) {
      core.handle({now, NodeLost{node}});
    } else {
      core.handle({now, NodeReturned{node}});
    }
  } else {
    core.handle({now, TenantsChanged{any_table(rng, cluster)}});
  }
}

Time end_of(const TrainingJob& job) {
  if (job.block.is_none()) return Time::max();
  return std::max(job.observed_at, job.ready_at) + time_for(job.left, job.rate());
}

// When a job ends or the scheduler wants to decide.
Time next_moment(const schedule::Core& core) {
  Time next = core.wake_up();
  const TrainingState& state = core.state().training;
  for (const JobId id : state.pools.front().active) next = std::min(next, end_of(state.job(id)));
  return next;
}

void finish_due(schedule::Core& core, Time now) {
  const std::vector<JobId> active = core.state().training.pools.front().active;
  for (const JobId id : active) {
    if (end_of(core.state().training.job(id)) <= now) core.handle({now, JobFinished{id}});
  }
}

bool has_ranks(const TrainingState& state) {
  const auto& active = state.pools.front().active;
  return state.tenants || std::any_of(active.begin(), active.end(), [&](JobId id) {
           return state.job(id).spec->priority != state.job(active.front()).spec->priority;
         });
}

// False when something does not hold.
bool play(std::uint64_t seed, Tally& tally) {
  SeededRng rng = SeededRng{42}.fork(seed);
  const Cluster cluster = tests::made_up_cluster(1 + below(rng, 4), 1 << below(rng, 4));
  schedule::Core core{config(), initial(cluster)};
  tell_curves(core);
  Time now{};
  core.handle({now, TenantsChanged{any_table(rng, cluster)}});
  const auto first_table = core.state().training.tenants;
  const auto show = [&] {
    const TrainingState& state = core.state().training;
    for (std::size_t i = 0; state.tenants && i < state.tenants->tenants.size(); ++i) {
      const Tenant& tenant = state.tenants->tenants[i];
      const TenantQuota quota = tenant.quota_in(PoolIndex{0});
      std::printf("  tenant %zu %s below %d: guaranteed %d, maximum %d, weight %lld\n", i,
                  tenant.name.c_str(), tenant.parent, quota.guaranteed, quota.maximum,
                  static_cast<long long>(tenant.weight));
    }
    for (const JobId id : state.pools.front().active) {
      const TrainingJob& job = state.job(id);
      std::printf("  job %llu of %u, priority %d, %s: %u from %u on%s\n",
                  static_cast<unsigned long long>(id.value), job.tenant, job.spec->priority,
                  job.spec->curve.model.c_str(), job.block.size, job.block.first,
                  job.is_promised() ? ", promised" : "");
    }
  };
  const auto fail = [&](const std::string& what) {
    std::printf("history %llu at %.0f s: %s\n", static_cast<unsigned long long>(seed),
                to_seconds(now - Time{}), what.c_str());
    show();
    return false;
  };
  const auto decide = [&] {
    for (const Record& record : core.handle({now, TimerFired{}})) {
      const auto* resized = std::get_if<JobResized>(&record.what);
      if (resized == nullptr || record.reason.code < ReasonCode::outranked) continue;
      ++(resized->block.is_none() ? tally.stopped : tally.shrunk);
    }
    ++tally.decisions;
    const TrainingState& state = core.state().training;
    const PoolState& pool = state.pools.front();
    const auto audit = audit_promises(state, pool, now);
    tally.promises += audit.promises;
    if (!audit.violations.empty()) return fail(audit.violations.front());
    Count count{state, pool, now};
    if (state.tenants == first_table) count.expect_promises_within_maxima();
    if (const auto problem = count.problem()) return fail(*problem);
    for (const JobId id : pool.active) tally.waiting += state.job(id).block.is_none() ? 1 : 0;
    // Without tenants and priorities left-over GPUs may find a better use when one asks again.
    if (!has_ranks(state)) return true;
    const TrainingState before = core.fork_state().training;
    for (const Record& record : core.handle({now, TimerFired{}})) {
      const auto* resized = std::get_if<JobResized>(&record.what);
      if (resized == nullptr) continue;
      const GpuBlock had = before.job(resized->job).block;
      return fail("decided again, job " + std::to_string(resized->job.value) + " has not " +
                  std::to_string(had.size) + " from " + std::to_string(had.first) + " on but " +
                  std::to_string(resized->block.size) + " from " +
                  std::to_string(resized->block.first) + " on: " + to_string(record.reason));
    }
    return true;
  };
  for (int moment = 0; moment < 8; ++moment) {
    for (int i = 1 + below(rng, 5); i > 0; --i) any_event(core, rng, now, cluster);
    if (!decide()) return false;
    // What is planned until the next events.
    const Time next = now + from_seconds(1 + below(rng, 2000));
    for (Time then = next_moment(core); then < next; then = next_moment(core)) {
      now = then;
      finish_due(core, now);
      if (!decide()) return false;
    }
    now = next;
    finish_due(core, now);
  }
  return true;
}

int sweep(std::int64_t histories) {
  Tally tally;
  for (std::int64_t i = 0; i < histories; ++i) {
    if (!play(static_cast<std::uint64_t>(i), tally)) return 1;
  }
  std::printf(
      "%lld histories, %lld decisions, %lld jobs waiting after them, %lld stopped and %lld made "
      "smaller "
      "for others, %lld promises audited: no inversion, no quota exceeded, no promise touched\n",
      static_cast<long long>(histories), static_cast<long long>(tally.decisions),
      static_cast<long long>(tally.waiting), static_cast<long long>(tally.stopped),
      static_cast<long long>(tally.shrunk), static_cast<long long>(tally.promises));
  return 0;
}

// Everybody wants more than there is, in jobs of all sizes. The share of a tenant is of the GPU-time of
// the last 24 hours; it should be its weight's.
int shares(int days) {
  constexpr int kTenants = 4;
  constexpr int kWaiting = 12;  // jobs of each tenant, always
  const Cluster cluster = tests::made_up_cluster(8, 8);
  schedule::State state = schedule::initial_state_for_training(cluster);
  state.training.rescale_cost = {from_seconds(20), from_seconds(2)};
  schedule::Core core{config(), std::move(state)};
  tell_curves(core);
  SeededRng rng{42};
  TenantTable table;
  for (int i = 0; i < kTenants; ++i)
    table.tenants.push_back({std::string(1, static_cast<char>('a' + i)), kNoParent, i + 1, {}});
  Time now{};
  core.handle({now, TenantsChanged{table}});
  const auto pool = [&]() -> const PoolState& { return core.state().training.pools.front(); };
  const auto job = [&](JobId id) -> const TrainingJob& { return core.state().training.job(id); };
  struct Sample {
    Time at;
    std::vector<double> gpu_seconds;  // of each tenant, since the beginning
  };
  std::vector<Sample> samples;
  std::vector<double> had(kTenants, 0);
  std::int64_t changes = 0;
  double worst = 0;
  double last_day_worst = 0;
  const Time end = now + std::chrono::hours{24} * days;
  while (now < end) {
    std::vector<int> waiting(kTenants, 0);
    finish_due(core, now);
    for (const JobId id : pool().active) ++waiting[job(id).tenant];
    for (int i = 0; i < kTenants; ++i) {
      for (int count = waiting[static_cast<std::size_t>(i)]; count < kWaiting; ++count) {
        TrainingSpec spec = any_spec(rng, now);
        spec.deadline_kind = DeadlineKind::none;
        spec.priority = 0;
        spec.in_one_piece = false;
        spec.tenant = std::string(1, static_cast<char>('a' + i));
        spec.iterations = static_cast<std::int64_t>(rng.lognormal(9, 1.5)) + 600;
        core.handle({now, TrainingSubmitted{spec}});
      }
    }
    changes += static_cast<std::int64_t>(core.handle({now, TimerFired{}}).size());
    const Time then = next_moment(core);
    for (const JobId id : pool().active)
      had[job(id).tenant] += job(id).block.size * to_seconds(then - now);
    now = then;
    samples.push_back({now, had});
    const Time from = now - std::chrono::hours{24};
    const auto first = std::find_if(samples.begin(), samples.end(),
                                    [&](const Sample& sample) { return sample.at >= from; });
    if (first->at - Time{} < from_seconds(1) || from < Time{} + std::chrono::hours{24}) continue;
    double all = 0;
    for (int i = 0; i < kTenants; ++i)
      all += had[static_cast<std::size_t>(i)] - first->gpu_seconds[static_cast<std::size_t>(i)];
    for (int i = 0; i < kTenants; ++i) {
      const double part =
          had[static_cast<std::size_t>(i)] - first->gpu_seconds[static_cast<std::size_t>(i)];
      const double off = std::abs(part / all - (i + 1) / 10.0);
      worst = std::max(worst, off);
    }
    samples.erase(samples.begin(), first);
  }
  double all = 0;
  for (const double each : had) all += each;
  std::printf("%d days, 64 GPUs, 4 tenants of weights 1 to 4, %d jobs each at any time\n", days,
              kWaiting);
  for (int i = 0; i < kTenants; ++i) {
    const double share = had[static_cast<std::size_t>(i)] / all;
    last_day_worst = std::max(last_day_worst, std::abs(share - (i + 1) / 10.0));
    std::printf("  tenant %c  weight %d  had %5.2f %%  of GPU-time, due %2d %%\n", 'a' + i, i + 1,
                100 * share, 10 * (i + 1));
  }
  const double used = all / (64 * to_seconds(end - Time{}));
  std::printf(
      "over all: at most %.2f points off; over any 24 hours after the second day: %.2f points\n",
      100 * last_day_worst, 100 * worst);
  std::printf("GPUs in use %.1f %%; %.1f changes of GPUs an hour\n", 100 * used,
              static_cast<double>(changes) / (24.0 * days));
  return worst < 0.02 && used > 0.95 ? 0 : 1;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view{argv[1]} == "--shares") return weir::shares(std::atoi(argv[2]));
  if (argc != 2) {
    std::fprintf(stderr, "usage: tenant_sweep HISTORIES | tenant_sweep --shares DAYS\n");
    return 2;
  }
  return weir::sweep(std::atoll(argv[1]));
}
