// SPDX-License-Identifier: Apache-2.0
//
// For tests: a small world that goes on by itself from a seed (submissions of every kind, reports,
// nodes that come and go), so that stores and snapshots can be made of real decisions.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "control/store.h"
#include "domain/seeded_rng.h"
#include "formats/temporary_file_testing.h"
#include "schedule/core/core.h"
#include "schedule/training_testing.h"

namespace weir::control::testing {

inline schedule::CoreConfig config_for(const std::string& policy) {
  schedule::CoreConfig config;
  config.policy = schedule::placement_policies().front().policy;
  config.training_policy = schedule::find_training_policy(policy);
  return config;
}

inline Cluster small_cluster(int nodes, int gpus) {
  std::vector<Node> listed;
  for (int i = 0; i < nodes; ++i)
    listed.push_back(schedule::testing::listed_node(static_cast<std::uint64_t>(i + 1), 64, gpus));
  return schedule::testing::cluster_of(std::move(listed));
}

// Draws what happens next. Knows the world only through a core's state, so it can go on with a core
// that was rebuilt.
class RandomWorld {
 public:
  explicit RandomWorld(std::uint64_t seed, const std::string& policy = "weir")
      : rng_{seed},
        cluster_{small_cluster(1 + static_cast<int>(rng_.below(4)), gpus_per_node())},
        config_{config_for(policy)} {}

  const schedule::CoreConfig& config() const { return config_; }
  schedule::State initial_state() const {
    return schedule::initial_state_for_training(cluster_, config_.training_policy->size_rule());
  }
  schedule::Core new_core() const { return schedule::Core{config_, initial_state()}; }
  Time now() const { return now_; }

  // Every other event is a timer, so that decisions follow.
  Event next_event(const schedule::Core& core) {
    if (curves_told_ < 3) {
      Event event{now_, {}};
      event.what = curve_number(curves_told_++);
      return event;
    }
    is_timer_ = !is_timer_;
    if (is_timer_) return {now_, TimerFired{}};
    static constexpr std::int64_t kSteps[] = {0, 0, 1, 1, 7, 7, 60, 300};
    now_ += from_seconds(kSteps[rng_.below(std::size(kSteps))]);
    return {now_, something(core.state().training)};
  }

 private:
  using What = decltype(Event::what);

  int gpus_per_node() {
    static constexpr int kGpus[] = {1, 2, 4, 6, 8};
    return kGpus[rng_.below(std::size(kGpus))];
  }

  // The fourth comes late: some jobs wait for it.
  CurveUpdated curve_number(std::uint64_t number) {
    using schedule::testing::a_curve;
    const CurveKey key{"model-" + std::to_string(number), 64};
    if (number == 0) return {PoolIndex{0}, key, a_curve({{1, 10}, {2, 19}, {4, 36}, {8, 60}})};
    if (number == 1) return {PoolIndex{0}, key, a_curve({{1, 30}, {2, 40}, {4, 42}, {8, 41}})};
    if (number == 2) return {PoolIndex{0}, key, a_curve({{2, 12}, {4, 20}, {8, 33}})};
    return {PoolIndex{0}, key, a_curve({{1, 7}, {2, 12}})};
  }

  TrainingSpec any_spec() {
    TrainingSpec spec;
    spec.name = "job-" + std::to_string(rng_.below(30));
    spec.curve = {"model-" + std::to_string(rng_.below(12) == 0 ? 3 : rng_.below(3)), 64};
    spec.iterations = 1 + static_cast<std::int64_t>(rng_.below(40'000));
    spec.deadline_kind = static_cast<DeadlineKind>(std::min<std::uint64_t>(rng_.below(8), 2));
    spec.deadline = now_ + from_seconds(1 + static_cast<std::int64_t>(rng_.below(4000)));
    spec.asked_gpus = 1 << rng_.below(4);
    spec.is_rigid = rng_.below(6) == 0;
    if (rng_.below(2) == 0) spec.margin = (spec.deadline - now_) / 20;
    if (rng_.below(3) > 0) spec.tenant = std::string(1, static_cast<char>('a' + rng_.below(4)));
    if (rng_.below(4) == 0) spec.priority = static_cast<std::int32_t>(rng_.below(7)) - 3;
    return spec;
  }

  // Some of them are refused, and some take all tenants away.
  TenantTable any_table() {
    TenantTable table;
    for (std::uint64_t i = rng_.below(4); i > 0; --i) {
      const auto guaranteed = static_cast<std::int32_t>(rng_.below(4));
      const auto place = static_cast<std::int32_t>(table.tenants.size());
      table.tenants.push_back(
          {std::string(1, static_cast<char>('a' + i)),
           static_cast<std::int32_t>(rng_.below(static_cast<std::uint64_t>(place) + 1)) - 1,
           static_cast<std::int64_t>(1 + rng_.below(3)),
           {{PoolIndex{0}, guaranteed, guaranteed + static_cast<std::int32_t>(rng_.below(9))}}});
    }
    table.lease = from_seconds(60);
    return table;
  }

  // Some of it is refused, and some takes all terms away.
  What something_about_energy() {
    switch (rng_.below(4)) {
      case 0:
        return energy_terms();
      case 1:
        return power_number(rng_.below(4));
      default:
        return supply();
    }
  }
  SupplyUpdated supply() {
    std::vector<double> values;
    for (int i = 0; i < 30; ++i) values.push_back(static_cast<double>(rng_.below(600)) / 7);
    SupplyKind kind;
    if (rng_.below(6) == 0) kind = {SupplyQuantity::price, "EUR"};
    return {kind, SupplySeries{now_, from_seconds(3600), std::move(values)}};
  }
  EnergyConfigured energy_terms() {
    EnergyTerms terms;
    if (rng_.below(5) > 0) terms.pools.push_back({PoolIndex{0}, 50'000, 800'000, 10'000, 1200});
    terms.from = schedule::testing::at_second(static_cast<std::int64_t>(900 + rng_.below(2) * 200));
    terms.until = terms.from + from_seconds(86'400);
    if (rng_.below(3) > 0) terms.budget_micros = static_cast<std::int64_t>(rng_.below(500'000'000));
    if (rng_.below(4) == 0) terms.cap_milliwatts = 1'000'000;
    for (const char* tenant : {"a", "b", "default"}) {
      if (rng_.below(3) == 0)
        terms.tenants.push_back({tenant, static_cast<std::int64_t>(rng_.below(200'000'000))});
    }
    return {terms};
  }
  PowerTableUpdated power_number(std::uint64_t number) {
    const CurveUpdated curve = curve_number(number);
    PowerTable table;
    for (const CurvePoint& point : curve.curve.useful()) {
      for (const std::int32_t clock : {600, 1000})
        table.push_back({point.gpus, clock, clocked(point.rate, 400'000 + clock * 600),
                         point.gpus * (100'000 + std::int64_t{clock} * 250)});
    }
    return {PoolIndex{0}, curve.key, std::move(table),
            rng_.below(3) == 0 ? CurveOrigin::measured : CurveOrigin::assumed};
  }

  // Some of it is refused, some takes the network away. Leaves of one and of three nodes too.
  NetworkConfigured network_terms() {
    NetworkTerms terms;
    const auto per_leaf = static_cast<std::int32_t>(1 + rng_.below(3));
    const auto spines = static_cast<std::int32_t>(1 + rng_.below(8));
    terms.placement = static_cast<NetworkPlacement>(rng_.below(4));
    const bool is_optical = terms.placement == NetworkPlacement::isolated_optical;
    if (rng_.below(6) > 0)
      terms.fabrics.push_back({PoolIndex{0}, 4, per_leaf, spines, 1, is_optical ? 2 : 0});
    terms.kinds = {{"", 100'000, 0, 0, false},
                   {"model-0", 70'000, 250'000, 16'000, rng_.below(2) == 0}};
    return {terms};
  }

  JobId some_job(const schedule::TrainingState& state) {
    const std::vector<JobId>& active = state.pools.front().active;
    if (active.empty() || rng_.below(10) == 0) return JobId{rng_.below(state.jobs.size() + 2)};
    return active[rng_.below(active.size())];
  }

  What something(const schedule::TrainingState& state) {
    const JobId job = some_job(state);
    const bool is_active = state.knows(job) && state.job(job).spec != nullptr;
    const std::uint32_t generation = state.knows(job) ? state.job(job).generation : 0;
    const NodeId node{rng_.below(6)};
    switch (rng_.below(24)) {
      default:
        return TrainingSubmitted{any_spec()};
      case 0:
      case 1:
      case 2:
        return RanksReady{job, generation + static_cast<std::uint32_t>(rng_.below(4) / 3)};
      case 3:
      case 4:
        return JobFinished{job};
      case 5:
        return JobCancelled{job};
      case 6:
        return JobFailed{job};
      case 7:
      case 8: {
        if (!is_active) return ProgressReported{job, Work{}};
        const Work done =
            work_of_iterations(state.job(job).spec->iterations) - state.job(job).left_at(now_);
        return ProgressReported{job, Work{done.femto_iterations / 10 * 9}};
      }
      case 9:
        return NodeLost{node};
      case 10:
        return NodeReturned{node};
      case 11:
        return NodeDrained{node};
      case 12:
        return ForeignUseObserved{node, GpuMask{static_cast<std::uint16_t>(rng_.below(16))}};
      case 13:
        return RanksFailed{job, generation};
      case 14:
        if (rng_.below(3) > 0) return ClockStepped{from_seconds(60)};
        return RescaleCostMeasured{from_seconds(1 + static_cast<std::int64_t>(rng_.below(5))),
                                   from_seconds(1)};
      case 15:
        if (rng_.below(4) > 0) return TimerFired{};
        return curve_number(3);
      case 16:
        if (rng_.below(2) == 0) return something_about_energy();
        if (rng_.below(2) == 0) return network_terms();
        return TenantsChanged{any_table()};
    }
  }

  SeededRng rng_;
  Cluster cluster_;
  schedule::CoreConfig config_;
  Time now_ = schedule::testing::at_second(1000);
  std::uint64_t curves_told_ = 0;
  bool is_timer_ = true;
};

// What the control plane would write about a decision.
inline void add_to(Batch& batch, const Event& event, const std::vector<Record>& records) {
  for (const Record& record : records) {
    if (const auto* accepted = std::get_if<TrainingAccepted>(&record.what)) {
      const std::string id = std::to_string(accepted->job.value);
      batch.new_jobs.push_back({accepted->job, accepted->spec->name, "{\"document\":" + id + "}",
                                "key-" + id, "digest-" + id});
      batch.views.push_back({accepted->job, "accepted", event.at, "{\"id\":" + id + "}"});
    } else if (const auto* released = std::get_if<JobReleased>(&record.what)) {
      batch.views.push_back({released->job, "over", event.at,
                             "{\"id\":" + std::to_string(released->job.value) + ",\"over\":1}"});
    }
  }
  batch.decisions.push_back({event, records});
}

inline Batch next_batch(RandomWorld& world, schedule::Core& core, int decisions) {
  Batch batch;
  for (int i = 0; i < decisions; ++i) {
    const Event event = world.next_event(core);
    add_to(batch, event, core.handle(event));
  }
  batch.clock = ClockMark{"boot", 1, world.now(), Duration{5}};
  return batch;
}

// Empty when the states are equal; otherwise what differs first.
inline std::string difference(const schedule::State& a, const schedule::State& b) {
  const schedule::TrainingState& left = a.training;
  const schedule::TrainingState& right = b.training;
  if (a.jobs.size() != b.jobs.size() || left.jobs.size() != right.jobs.size())
    return "the number of jobs";
  if (!(left.rescale_cost == right.rescale_cost) || left.size_rule != right.size_rule)
    return "the rescale cost or size rule";
  if ((left.tenants == nullptr) != (right.tenants == nullptr) ||
      (left.tenants && !(*left.tenants == *right.tenants)))
    return "the tenants";
  if ((left.energy.terms == nullptr) != (right.energy.terms == nullptr) ||
      (left.energy.terms && !(*left.energy.terms == *right.energy.terms)))
    return "the terms of energy";
  if ((left.network == nullptr) != (right.network == nullptr) ||
      (left.network && !(*left.network == *right.network)))
    return "the network";
  if ((left.energy.supply == nullptr) != (right.energy.supply == nullptr) ||
      (left.energy.supply && !(*left.energy.supply == *right.energy.supply)))
    return "the supply";
  schedule::EnergyAccount account = left.energy;
  account.terms = right.energy.terms;
  account.supply = right.energy.supply;
  if (!(account == right.energy)) return "what energy has cost";
  for (std::size_t i = 0; i < left.jobs.size(); ++i) {
    if (!(a.jobs[i] == b.jobs[i])) return "the entry of job " + std::to_string(i + 1);
    schedule::TrainingJob one = left.jobs[i];
    const schedule::TrainingJob& other = right.jobs[i];
    if ((one.spec == nullptr) != (other.spec == nullptr)) return "whether a job is over";
    if (one.spec != nullptr && !(*one.spec == *other.spec)) return "a spec";
    if (one.sizes != nullptr && !(*one.sizes == *other.sizes)) return "sizes";
    if ((one.links == nullptr) != (other.links == nullptr) ||
        (one.links != nullptr && !(*one.links == *other.links)))
      return "links";
    one.spec = other.spec;
    one.links = other.links;
    one.sizes = other.sizes;
    if (!(one == other)) return "job " + std::to_string(i + 1);
  }
  if (left.pools.size() != right.pools.size()) return "the number of pools";
  for (std::size_t i = 0; i < left.pools.size(); ++i) {
    const schedule::PoolState& one = left.pools[i];
    const schedule::PoolState& other = right.pools[i];
    if (one.active != other.active) return "the active jobs";
    if (one.usage != other.usage) return "what tenants have used";
    if (!(one.closed == other.closed)) return "the closed slots";
    if (one.is_up != other.is_up || one.foreign != other.foreign) return "nodes";
    if (one.arrivals != other.arrivals || one.arrivals_seen != other.arrivals_seen ||
        one.first_arrival != other.first_arrival)
      return "arrivals";
    if (one.iterations_seen != other.iterations_seen || one.measured_power != other.measured_power)
      return "what came, or whose power was measured";
    if (one.power.size() != other.power.size()) return "the number of power tables";
    for (const auto& [key, table] : one.power) {
      const auto found = other.power.find(key);
      if (found == other.power.end() || !(*found->second == *table)) return "a power table";
    }
    if (one.curves.size() != other.curves.size()) return "the number of curves";
    for (const auto& [key, curve] : one.curves) {
      const auto found = other.curves.find(key);
      if (found == other.curves.end() || !(*found->second == *curve)) return "a curve";
    }
  }
  return {};
}

inline StoreOptions options_in(const formats::TemporaryFolder& folder, std::string vfs = {}) {
  StoreOptions options;
  options.file = folder.path() / "weir.db";
  options.build = "0.1.0";
  options.vfs = std::move(vfs);
  return options;
}

// The longer runs of the nightly tests: WEIR_LONG_TESTS=20 makes 20 times as many cases.
inline int times_longer() {
  const char* text = std::getenv("WEIR_LONG_TESTS");
  return text == nullptr ? 1 : std::max(1, std::atoi(text));
}

template <class T>
std::string error_of(const Result<T>& result) {
  return result ? std::string{} : to_string(result.error().details);
}

}  // namespace weir::control::testing
