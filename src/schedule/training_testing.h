// SPDX-License-Identifier: Apache-2.0
//
// Builders and generators for tests of training jobs. A test shows only what it is about. Times are
// whole seconds and rates whole iterations per second unless a test says otherwise.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/curve.h"
#include "domain/training.h"
#include "schedule/admit/capacity_profile.h"
#include "schedule/admit/fill.h"
#include "schedule/admit/size_table.h"
#include "schedule/core/core.h"
#include "schedule/core/training_state.h"
#include "schedule/policies/training_policies.h"
#include "schedule/scheduling_testing.h"

namespace weir::schedule::testing {

constexpr Time at_second(std::int64_t seconds) {
  return Time{from_seconds(seconds)};
}
constexpr IterationRate per_second(std::int64_t iterations) {
  return IterationRate{iterations * 1'000'000};
}
inline std::int64_t seconds_of(Time time) {
  return time.time_since_epoch() / std::chrono::seconds{1};
}

inline constexpr RescaleCost kFreeRescales{Duration{0}, Duration{0}};
inline constexpr RescaleCost kTwoSeconds{from_seconds(2), Duration{0}};
inline constexpr RescaleCost kTenSeconds{from_seconds(10), Duration{0}};

// GPUs and iterations per second: {{1, 10}, {2, 19}}
using CurveSketch = std::vector<std::pair<std::int32_t, std::int64_t>>;

inline Curve a_curve(const CurveSketch& sketch) {
  std::vector<CurvePoint> points;
  for (const auto& [gpus, rate] : sketch) points.push_back({gpus, per_second(rate)});
  return Curve{std::move(points)};
}

inline SizeTable sizes_of(const Curve& curve, const RescaleCost& cost = kFreeRescales) {
  SizeTable sizes;
  for (const CurvePoint& point : curve.useful())
    sizes.push_back({point.gpus, point.rate, cost.full(static_cast<std::uint32_t>(point.gpus))});
  return sizes;
}
inline SizeTable sizes_of(const CurveSketch& sketch, const RescaleCost& cost = kFreeRescales) {
  return sizes_of(a_curve(sketch), cost);
}

// A plan's size at that time; kPaused outside of it.
inline int level_at(const SizePlan& plan, Time time) {
  int level = kPaused;
  if (time >= plan.end) return level;
  for (const SizeStep& step : plan.steps) {
    if (step.from <= time) level = step.level;
  }
  return level;
}

inline std::int32_t gpus_of(const SizeTable& sizes, int level) {
  return level == kPaused ? 0 : sizes[static_cast<std::size_t>(level)].gpus;
}

inline WideInteger gpu_time_of(const SizePlan& plan, const SizeTable& sizes) {
  WideInteger sum = 0;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const Time to =
        i + 1 < plan.steps.size() ? std::min(plan.steps[i + 1].from, plan.end) : plan.end;
    if (plan.steps[i].from < to)
      sum += static_cast<WideInteger>(gpus_of(sizes, plan.steps[i].level)) *
             (to - plan.steps[i].from).count();
  }
  return sum;
}

// a_training_job().curve({{1, 10}, {2, 19}}).iterations(100).deadline(60)
class TrainingJobBuilder {
 public:
  TrainingJobBuilder& curve(CurveSketch sketch) {
    curve_ = a_curve(sketch);
    return *this;
  }
  TrainingJobBuilder& curve(Curve curve) {
    curve_ = std::move(curve);
    return *this;
  }
  TrainingJobBuilder& iterations(std::int64_t count) {
    spec_.iterations = count;
    return *this;
  }
  TrainingJobBuilder& deadline(std::int64_t second) { return deadline(at_second(second)); }
  TrainingJobBuilder& deadline(Time time) {
    spec_.deadline_kind = DeadlineKind::hard;
    spec_.deadline = time;
    return *this;
  }
  TrainingJobBuilder& soft_deadline(std::int64_t second) {
    spec_.deadline_kind = DeadlineKind::soft;
    spec_.deadline = at_second(second);
    return *this;
  }
  TrainingJobBuilder& margin(Duration time) {
    spec_.margin = time;
    return *this;
  }
  TrainingJobBuilder& asks_for(std::int32_t gpus) {
    spec_.asked_gpus = gpus;
    return *this;
  }
  TrainingJobBuilder& tenant(std::string name) {
    spec_.tenant = std::move(name);
    return *this;
  }
  TrainingJobBuilder& priority(std::int32_t value) {
    spec_.priority = value;
    return *this;
  }
  TrainingJobBuilder& rigid(std::int32_t gpus) {
    spec_.is_rigid = true;
    return asks_for(gpus);
  }
  // Stopped, it begins anew.
  TrainingJobBuilder& in_one_piece() {
    spec_.is_rigid = spec_.in_one_piece = true;
    return *this;
  }
  const TrainingSpec& spec() const { return spec_; }
  const Curve& its_curve() const { return curve_; }

 private:
  TrainingSpec spec_{"job", {"model", 1}, 100, DeadlineKind::none, {}, 1, false};
  Curve curve_ = a_curve({{1, 10}});
};
inline TrainingJobBuilder a_training_job() {
  return {};
}

// One pool and its jobs, changed only by records, as in the core. Every job has its own curve.
class PoolUnderTest {
 public:
  PoolUnderTest(int nodes, int gpus_per_node, const RescaleCost& cost,
                SizeRule rule = SizeRule::useful) {
    std::vector<Node> listed;
    for (int i = 0; i < nodes; ++i)
      listed.push_back(listed_node(static_cast<std::uint64_t>(i + 1), 64, gpus_per_node));
    state_ = initial_state_for_training(cluster_of(std::move(listed)), rule);
    state_.training.rescale_cost = cost;
  }
  // A pool for that policy.
  PoolUnderTest(std::string_view policy, int nodes, int gpus_per_node, const RescaleCost& cost)
      : PoolUnderTest{nodes, gpus_per_node, cost, find_training_policy(policy)->size_rule()} {
    policy_ = find_training_policy(policy);
  }

  const TrainingState& state() const { return state_.training; }
  const PoolState& pool() const { return state_.training.pools.front(); }
  const TrainingJob& job(JobId id) const { return state_.training.job(id); }
  GpuBlock block_of(JobId id) const { return job(id).block; }

  // GPUs that no job may use.
  void close(GpuBlock block) { state_.training.pools.front().closed.cover(block); }

  // A job of which nothing is decided yet; then what is decided about it.
  JobId accept(const TrainingJobBuilder& builder, Time at = {}) {
    const JobId id = state_.next_job();
    const auto spec = std::make_shared<const TrainingSpec>(with_own_curve(builder));
    tell(at, TrainingAccepted{id, spec, pool().pool->id, 0});
    return id;
  }
  JobId promise(const TrainingJobBuilder& builder, Timeline timeline, Time at = {}) {
    const JobId id = accept(builder, at);
    tell(at, PromiseMade{id, job(id).spec->deadline, std::move(timeline)});
    return id;
  }
  JobId add_unpromised(const TrainingJobBuilder& builder, Time at = {}) {
    const JobId id = accept(builder, at);
    tell(at, JobUnpromised{id});
    return id;
  }
  void resize(JobId id, GpuBlock block, Time at = {}) {
    tell(at, JobResized{id, job(id).generation + 1, block});
  }
  // What is left, and since when it makes progress.
  void observe(JobId id, Work left, Time ready, Time at = {}) {
    tell(at, JobObserved{id, left, ready});
  }
  void finish(JobId id, Time at = {}) { tell(at, JobReleased{id}); }

  void tell_tenants(const std::shared_ptr<const TenantTable>& table, Time at = {}) {
    tell(at, TenantsAdopted{std::make_shared<const TenantTable>(with_default_tenant(*table))});
  }

  // The policy's turn: the records of a submission, or of a decision who has which GPUs.
  std::vector<Record> submit(const TrainingJobBuilder& builder, Time at = {}) {
    return ask({at, TrainingSubmitted{with_own_curve(builder)}});
  }
  std::vector<Record> decide(Time at = {}) { return ask({at, TimerFired{}}); }
  std::vector<Record> report(JobId id, Work done, Time at) {
    return ask({at, ProgressReported{id, done}});
  }
  JobId latest() const { return JobId{state_.next_job().value - 1}; }

  // As it is now, for later.
  TrainingState copy_of_state() { return state_.fork().training; }

  TrainingConfig config;

 private:
  template <class What>
  void tell(Time at, What what) {
    evolve(state_, Record{at, {}, std::move(what)});
  }
  std::vector<Record> ask(const Event& event) {
    CoreConfig setup;
    setup.policy = placement_policies().front().policy;
    setup.training_policy = policy_;
    setup.training = config;
    Core core{setup, std::move(state_)};
    std::vector<Record> records = core.handle(event);
    state_ = core.fork_state();
    return records;
  }
  TrainingSpec with_own_curve(const TrainingJobBuilder& builder) {
    TrainingSpec spec = builder.spec();
    spec.curve.model = "model-" + std::to_string(state_.next_job().value);
    state_.training.pools.front().curves[spec.curve] =
        std::make_shared<const Curve>(builder.its_curve());
    return spec;
  }

  State state_;
  const TrainingPolicy* policy_ = find_training_policy("weir");
};

// The records of one kind.
template <class What>
std::vector<What> all_of(const std::vector<Record>& records) {
  std::vector<What> found;
  for (const Record& record : records) {
    if (const auto* what = std::get_if<What>(&record.what)) found.push_back(*what);
  }
  return found;
}
inline bool is_promised_in(const std::vector<Record>& records) {
  return !all_of<PromiseMade>(records).empty();
}

// --- generators; call them inside a property ---

// Any of [least, end), all equally likely from the first case on.
template <class T>
T between(T least, T end) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(least, end));
}

// The same in any order.
template <class T>
std::vector<T> shuffled(std::vector<T> all) {
  for (std::size_t i = all.size(); i > 1; --i)
    std::swap(all[i - 1], all[between<std::size_t>(0, i)]);
  return all;
}

// Measured points as they come: neither concave nor monotone, sizes missing, sometimes none useful
// but the least.
inline Curve any_curve(std::int32_t largest = 16) {
  std::vector<CurvePoint> points;
  std::int64_t rate = between<std::int64_t>(1, 40);
  for (std::int32_t gpus = *rc::gen::elementOf(std::vector<std::int32_t>{1, 1, 1, 2});
       gpus <= largest; gpus *= 2) {
    points.push_back({gpus, per_second(std::max<std::int64_t>(rate, 1))});
    rate += between<std::int64_t>(-rate / 4, rate * 3 / 2 + 2);
    if (between(0, 8) == 0) break;
  }
  return Curve{std::move(points)};
}

// Twice the GPUs never more than twice as fast, and each doubling gains less than the one before.
inline Curve any_concave_curve(std::int32_t largest = 16) {
  std::vector<CurvePoint> points;
  std::int64_t rate = between<std::int64_t>(4, 60);
  std::int64_t gain_per_gpu = rate;
  for (std::int32_t gpus = 1; gpus <= largest; gpus *= 2) {
    points.push_back({gpus, per_second(rate)});
    gain_per_gpu = between<std::int64_t>(0, gain_per_gpu + 1);
    rate += gain_per_gpu * gpus;
  }
  return Curve{std::move(points)};
}

inline RescaleCost any_cost() {
  return {from_seconds(between(0, 8)), from_seconds(between(0, 4))};
}

// From second 0 on, free between 0 and `gpus`, changing at whole multiples of `slot`.
inline CapacityProfile any_profile(std::int32_t gpus, std::int64_t seconds, std::int64_t slot = 1) {
  CapacityProfile profile{at_second(0), gpus};
  const int changes = between(0, 8);
  for (int i = 0; i < changes; ++i) {
    const auto from = between<std::int64_t>(0, seconds / slot) * slot;
    const auto to = from + between<std::int64_t>(1, seconds / slot + 1) * slot;
    std::int32_t least = gpus;
    for (std::int64_t s = from; s < to; s += slot)
      least = std::min(least, profile.free_at(at_second(s)));
    profile.add(at_second(from), at_second(to), -between(0, least + 1));
  }
  return profile;
}

inline std::uint32_t any_power_of_two(std::uint32_t largest) {
  std::vector<std::uint32_t> sizes;
  for (std::uint32_t size = 1; size <= largest; size *= 2) sizes.push_back(size);
  return *rc::gen::elementOf(sizes);
}

}  // namespace weir::schedule::testing
