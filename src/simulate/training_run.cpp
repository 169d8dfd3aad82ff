// SPDX-License-Identifier: Apache-2.0
#include "simulate/training_run.h"

#include <algorithm>
#include <cassert>
#include <deque>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "domain/seeded_rng.h"
#include "domain/tenant_shares.h"
#include "schedule/admit/slots.h"
#include "schedule/core/core.h"
#include "schedule/energy/priced_options.h"
#include "schedule/place/policies.h"
#include "schedule/policies/training_policies.h"
#include "simulate/modelled_engine.h"
#include "simulate/network_speeds.h"

namespace weir::simulate {
namespace {

constexpr Duration kPatience = std::chrono::hours{30 * 24};

class TrainingRun {
 public:
  TrainingRun(const Cluster& cluster, const TrainingWorkload& workload,
              const std::vector<CurveBook>& curves, const TrainingRunConfig& config)
      : workload_{workload},
        config_{config},
        core_{core_config(config), initial_state(cluster, config)},
        engine_{real_cost(cluster, config), config.checkpoint_every} {
    outcome_.policy = config.policy;
    speeds_ = job_speeds(workload, config.speeds);
    outcome_.makes_promises = schedule::find_training_policy(config.policy)->makes_promises();
    outcome_.jobs = static_cast<std::int64_t>(workload.jobs.size());
    outcome_.by_job.resize(workload.jobs.size());
    holdings_.resize(workload.jobs.size());
    by_arrival_.resize(workload.jobs.size());
    std::iota(by_arrival_.begin(), by_arrival_.end(), std::size_t{0});
    std::stable_sort(by_arrival_.begin(), by_arrival_.end(), [&](std::size_t a, std::size_t b) {
      return workload.jobs[a].submitted < workload.jobs[b].submitted;
    });
    if (!by_arrival_.empty()) now_ = workload.jobs[by_arrival_.front()].submitted;
    assert((config.outages.empty() || config.failures.mtbf == Duration{0}) && "one or the other");
    for (const Node& node : cluster.nodes) nodes_.push_back(node.id);
    failures_.emplace(config.failures, nodes_.size(), now_);
    for (const NodeOutage& outage : config.outages) {
      const NodeId node = cluster.nodes[outage.node].id;
      outages_.emplace_back(aligned(outage.from), NodeLost{node});
      if (outage.to != Time::max()) outages_.emplace_back(aligned(outage.to), NodeReturned{node});
    }
    std::stable_sort(outages_.begin(), outages_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < core_.state().training.pools.size(); ++i) {
      const CurveBook& book = curves[std::min(i, curves.size() - 1)];
      const PoolIndex pool = core_.state().training.pools[i].pool->id;
      for (const auto& [key, curve] : book.curves) tell(CurveUpdated{pool, key, curve});
    }
    if (!config.tenants.empty()) tell(TenantsChanged{config.tenants});
    if (config.energy) meter_.emplace(meter(*config.energy));
    if (config.energy && !config.energy->forecasts.empty()) hear_of_supply();
    if (config.network) {
      outcome_.network.emplace();
      outcome_.network->placement = config.network->placement;
      network_.emplace(config.network->window);
      if (!config.network->terms.fabrics.empty()) tell(NetworkConfigured{config.network->terms});
    }
  }

  TrainingOutcome run() {
    const Time start = now_;
    while (true) {
      const Time next = std::min({next_arrival(), next_happening(), next_outage(), wake_up_});
      if (next != Time::max() && std::min(next, next_failure()) >= next_supply_) {
        now_ = next_supply_;
        hear_of_supply();
        continue;
      }
      // Nodes fail for ever. Where nothing else will happen, only a node that comes back can help.
      if (next == Time::max() && (failures_->down() == 0 || is_over())) break;
      now_ = std::min(next, next_failure());
      bool has_news = hear_of_outages();
      has_news = hear_of_failures() || has_news;
      has_news = hear_of_releases() || has_news;
      for (const JobId job : starting_) report_progress(job);
      has_news = submit_arrivals() || has_news;
      const bool must_decide = has_news || std::exchange(has_new_plans_, false) || wake_up_ <= now_;
      if (!must_decide) continue;
      has_new_plans_ = false;
      tell(TimerFired{});
      ++outcome_.decisions;
      wake_up_ = core_.wake_up();
      if (will_never_go_on()) break;
      if (std::exchange(has_other_traffic_, false)) follow_network();
      if (config_.after_decision) config_.after_decision(core_.state().training, now_);
    }
    outcome_.makespan = now_ - start;
    if (meter_) tally_energy();
    finish_tally();
    return std::move(outcome_);
  }

 private:
  static schedule::CoreConfig core_config(const TrainingRunConfig& config) {
    schedule::CoreConfig core;
    core.policy = schedule::placement_policies().front().policy;
    core.training_policy = schedule::find_training_policy(config.policy);
    core.training = config.training;
    return core;
  }

  static schedule::State initial_state(const Cluster& cluster, const TrainingRunConfig& config) {
    auto state = schedule::initial_state_for_training(
        cluster, schedule::find_training_policy(config.policy)->size_rule());
    if (config.planned_cost) state.training.rescale_cost = *config.planned_cost;
    if (!plans_overhead(config)) state.training.rescale_cost = {Duration{0}, Duration{0}};
    if (config.energy) tell_of_energy(state.training, *config.energy);
    return state;
  }

  static const PowerBook& book_of(const EnergySetup& setup, std::size_t pool) {
    return setup.books[std::min(pool, setup.books.size() - 1)];
  }

  static void tell_of_energy(schedule::TrainingState& state, const EnergySetup& setup) {
    EnergyTerms terms = setup.terms;
    terms.pools.clear();
    for (std::size_t i = 0; i < state.pools.size(); ++i) {
      const PowerBook& book = book_of(setup, i);
      terms.pools.push_back({state.pools[i].pool->id, book.idle_milliwatts, book.node_milliwatts,
                             book.asleep_milliwatts, book.overhead_permille});
      for (const auto& [key, table] : book.tables)
        state.pools[i].power[key] =
            std::make_shared<const PowerTable>(schedule::undominated(table));
    }
    state.energy.of_tenants.resize(terms.tenants.size());
    state.energy.terms = std::make_shared<const EnergyTerms>(std::move(terms));
    state.energy.supply = std::make_shared<const SupplySeries>(setup.told.value_or(setup.supply));
  }

  // What a kilowatt-hour costs now, and what is expected after that. Where the forecast has ended,
  // what was a day before.
  static SupplySeries as_known(const EnergySetup& setup, Time now) {
    constexpr Duration kDay = std::chrono::hours{24};
    const SupplySeries& expected = *setup.forecasts.known_at(now);
    const Duration step = setup.supply.step();
    const Time begin = setup.supply.next_step(now) - step;
    std::vector<double> values{setup.supply.at(now)};
    for (Time at = begin + step; at < std::max(expected.end(), begin + kDay); at += step)
      values.push_back(at < expected.end() ? expected.at(at) : setup.supply.at(at - kDay));
    return {begin, step, std::move(values)};
  }

  // The next decision will look at it.
  void hear_of_supply() {
    tell(SupplyUpdated{core_.state().training.energy.kind, as_known(*config_.energy, now_)});
    next_supply_ = config_.energy->supply.next_step(now_);
  }

  EnergyMeter meter(const EnergySetup& setup) const {
    std::vector<EnergyMeter::Pool> pools;
    const auto& known = core_.state().training.pools;
    for (std::size_t i = 0; i < known.size(); ++i)
      pools.push_back({book_of(setup, i), known[i].pool->gpus, known[i].pool->stride});
    return {std::move(pools), setup.supply, now_};
  }

  // The other policies have no parts to leave out.
  static bool plans_overhead(const TrainingRunConfig& config) {
    return !schedule::find_training_policy(config.policy)->can_leave_parts_out() ||
           config.training.ablation.plans_overhead;
  }

  static schedule::RescaleCost real_cost(const Cluster& cluster, const TrainingRunConfig& config) {
    if (config.real_cost) return *config.real_cost;
    return config.planned_cost.value_or(schedule::rescale_cost_for(cluster.gpu_count()));
  }

  Time aligned(Time time) const { return schedule::slot_after(time, config_.training.slot); }

  Time next_arrival() const {
    return arrived_ == by_arrival_.size()
               ? Time::max()
               : aligned(workload_.jobs[by_arrival_[arrived_]].submitted);
  }

  // The scheduler hears of ends and of progress at the next slot, of ranks at once.
  Time next_happening() {
    const Time heard = reports_.empty() ? Time::max() : aligned(reports_.front().at);
    return std::min(heard, engine_.next_at());
  }

  // Whether there is something to decide.
  bool hear_of_releases() {
    while (engine_.next_at() <= now_) {
      const auto happening = engine_.take_next();
      if (happening.is_finish || happening.is_progress) {
        reports_.push_back(happening);
      } else {
        tell(RanksReady{happening.job, happening.generation});
        if (starting_.erase(happening.job) > 0) report_progress(happening.job);
      }
    }
    bool any = false;
    for (; !reports_.empty() && aligned(reports_.front().at) <= now_; reports_.pop_front()) {
      const auto report = reports_.front();
      if (report.is_progress) {
        tell(ProgressReported{report.job, engine_.done_at(report.job, now_)});
        continue;
      }
      outcome_of(report.job).finished = report.at;
      tell(JobFinished{report.job});
      any = true;
    }
    return any;
  }

  void report_progress(JobId job) { tell(ProgressReported{job, engine_.done_at(job, now_)}); }

  Time next_outage() const {
    return told_outages_ == outages_.size() ? Time::max() : outages_[told_outages_].first;
  }

  bool hear_of_outages() {
    bool any = false;
    for (; next_outage() <= now_; ++told_outages_, any = true) {
      const auto& [at, event] = outages_[told_outages_];
      std::visit([&](const auto& what) { tell_of_node(what); }, event);
    }
    return any;
  }

  Time next_failure() const { return aligned(failures_->next_at()); }

  bool hear_of_failures() {
    bool any = false;
    for (; next_failure() <= now_; any = true) {
      const FailureClock::Change change = failures_->take_next();
      if (change.is_failure) {
        tell_of_node(NodeLost{nodes_[change.node]});
      } else {
        tell_of_node(NodeReturned{nodes_[change.node]});
      }
    }
    return any;
  }

  // Jobs that lost a node find out how far they had saved.
  template <class What>
  void tell_of_node(const What& what) {
    fallen_back_.clear();
    tell(what);
    if (config_.checkpoint_every == Duration{0}) return;
    const std::vector<JobId> fallen_back = std::exchange(fallen_back_, {});
    for (const JobId job : fallen_back) report_progress(job);
  }

  // Every job has come, and none is to be served any more.
  bool is_over() const {
    const auto& pools = core_.state().training.pools;
    return arrived_ == by_arrival_.size() &&
           std::all_of(pools.begin(), pools.end(),
                       [](const schedule::PoolState& pool) { return pool.active.empty(); });
  }

  // Nobody has GPUs, nobody will come, and whoever could be made to wait has waited long enough: the
  // site may not draw what its jobs need.
  bool will_never_go_on() {
    if (busy_jobs_ > 0 || arrived_ < by_arrival_.size()) quiet_since_ = now_;
    return config_.energy && now_ - quiet_since_ > kPatience + config_.energy->terms.longest_pause;
  }

  bool submit_arrivals() {
    bool any = false;
    for (; next_arrival() <= now_; ++arrived_) {
      const std::size_t row = by_arrival_[arrived_];
      const TrainingArrival& arrival = workload_.jobs[row];
      TrainingJobOutcome& job = outcome_.by_job[row];
      job.submitted = arrival.submitted;
      job.deadline = arrival.spec.deadline;
      job.has_deadline = arrival.spec.deadline_kind != DeadlineKind::none;
      row_ = row;
      tell(TrainingSubmitted{arrival.spec});
      any = true;
    }
    return any;
  }

  template <class What>
  void tell(What what) {
    for (const Record& record : core_.handle(Event{now_, std::move(what)})) {
      reason_ = record.reason;
      std::visit([&](const auto& made) { obey(made); }, record.what);
      if (config_.on_record) config_.on_record(record);
    }
  }

  template <class Other>
  void obey(const Other&) {}
  void obey(const TrainingAccepted& record) {
    if (trace_row_.size() <= record.job.value) trace_row_.resize(record.job.value + 1);
    trace_row_[record.job.value] = row_;
    const auto& pool = *core_.state().training.find_pool(record.pool);
    const auto curve = pool.curves.find(record.spec->curve);
    engine_.add(record.job, curve == pool.curves.end() ? Curve{} : *curve->second,
                work_of_iterations(record.spec->iterations), speeds_[row_],
                record.spec->in_one_piece);
  }
  void obey(const PoolNodeClosed&) { ++outcome_.nodes_lost; }
  void obey(const TimelineRevised& record) {
    has_new_plans_ = true;
    if (reason_.code == ReasonCode::back_on_plan) outcome_of(record.job).warned_at.reset();
  }
  void obey(const PromiseAtRisk& record) {
    TrainingJobOutcome& job = outcome_of(record.job);
    if (!job.warned_at) job.warned_at = now_;
  }
  void obey(const PromiseMade& record) {
    TrainingJobOutcome& job = outcome_of(record.job);
    job.is_promised = true;
    if (now_ == aligned(job.submitted)) ++outcome_.promised_at_submission;
  }
  void obey(const PromiseRefused& record) {
    outcome_of(record.job).is_refused = true;
    outcome_of(record.job).counter_offer = record.earliest;
  }
  void obey(const JobResized& record) {
    if (reason_.code == ReasonCode::node_lost) {
      engine_.fall_back(now_, record.job);
      fallen_back_.push_back(record.job);
    }
    engine_.resize(now_, core_.state().training.job(record.job).pool, record);
    TrainingJobOutcome& job = outcome_of(record.job);
    if (!job.started && !record.block.is_none()) job.started = now_;
    count_gpu_time(record.job, record.block.size);
    has_other_traffic_ = network_.has_value();
    if (meter_) {
      const auto& held = core_.state().training.job(record.job);
      meter_->hold(now_, pool_position(held.pool), record.job, held.spec->curve, record.block);
    }
    if (plans_overhead(config_)) return;
    if (record.block.is_none()) {
      starting_.erase(record.job);
    } else {
      starting_.insert(record.job);
    }
  }

  void obey(const LinksGiven& record) {
    has_other_traffic_ = true;
    if (record.links->use == LinkUse::shared) {
      ++outcome_.network->shared_grants;
      return;
    }
    if (reason_.code == ReasonCode::rewired) {
      ++outcome_.network->rewirings;
    } else {
      ++outcome_.network->own_grants;
    }
    if (record.links->use == LinkUse::circuits)
      engine_.pause(now_, record.job, config_.network->rewiring);
  }

  // Jobs run as their network lets them from now on.
  void follow_network() {
    for (const NetworkSpeed& speed : network_->follow(core_.state().training))
      engine_.set_network(now_, speed.job, speed.millionths);
  }

  void obey(const JobReleased& record) {
    count_gpu_time(record.job, 0);
    has_other_traffic_ = network_.has_value();
    if (network_) lost_to_network_[record.job] = engine_.lost_to_network(record.job);
    if (meter_) meter_->release(now_, record.job);
  }
  void obey(const ClockSet& record) {
    engine_.set_clock(now_, record);
    if (meter_) meter_->set_clock(now_, record.job, record.clock_permille);
  }

  std::size_t pool_position(PoolIndex pool) const {
    const auto& pools = core_.state().training.pools;
    std::size_t at = 0;
    while (pools[at].pool->id != pool) ++at;
    return at;
  }

  // It has so many GPUs from now on.
  void count_gpu_time(JobId id, std::uint32_t gpus) {
    Holding& held = holdings_[trace_row_[id.value]];
    outcome_of(id).gpu_seconds += to_seconds(now_ - held.since) * held.gpus;
    busy_jobs_ += (gpus > 0 ? 1 : 0) - (held.gpus > 0 ? 1 : 0);
    held = {now_, gpus};
  }

  TrainingJobOutcome& outcome_of(JobId job) { return outcome_.by_job[trace_row_[job.value]]; }

  void tally_energy() {
    outcome_.energy = meter_->outcome(now_);
    const schedule::EnergyAccount& account = core_.state().training.energy;
    for (std::size_t i = 0; i < account.of_tenants.size(); ++i) {
      const TenantBudget& budget = account.terms->tenants[i];
      outcome_.energy->tenants.push_back({budget.tenant, account.of_tenants[i].used,
                                          static_cast<double>(budget.budget_micros) / 1e6});
    }
  }

  void finish_tally() {
    for (const TrainingJobOutcome& job : outcome_.by_job) {
      const bool on_time = job.finished && job.has_deadline && *job.finished <= job.deadline;
      outcome_.with_deadline += job.has_deadline;
      outcome_.admitted += job.is_promised;
      if (on_time && (job.is_promised || !outcome_.makes_promises)) ++outcome_.met;
      if (on_time && outcome_.makes_promises && !job.is_promised) ++outcome_.met_without_promise;
      if (job.is_promised && !on_time) ++outcome_.missed_after_admission;
      if (job.is_promised && !on_time && job.warned_at && *job.warned_at < job.deadline) {
        ++outcome_.missed_with_warning;
        outcome_.total_warning += job.deadline - *job.warned_at;
      }
      if (job.warned_at && on_time) ++outcome_.warned_in_vain;
      if (!job.finished) continue;
      ++outcome_.finished;
      outcome_.total_completion_seconds += to_seconds(*job.finished - job.submitted);
    }
    tally_tenants();
    tally_network();
    outcome_.rescales = engine_.rescales();
    outcome_.gpu_seconds = static_cast<double>(engine_.gpu_time()) / 1e9;
  }

  void tally_network() {
    if (!network_) return;
    outcome_.network->windows = network_->windows();
    std::map<std::int32_t, SizeTimes> by_size;
    std::map<std::int32_t, double> unhindered;
    for (const auto& [id, lost] : lost_to_network_) {
      const std::size_t row = trace_row_[id.value];
      const TrainingJobOutcome& job = outcome_.by_job[row];
      if (!job.finished || !job.started) continue;
      for (const std::int32_t gpus : {std::int32_t{0}, workload_.jobs[row].spec.asked_gpus}) {
        SizeTimes& times = by_size[gpus];
        times.gpus = gpus;
        ++times.jobs;
        times.completion += to_seconds(*job.finished - job.submitted);
        times.wait += to_seconds(*job.started - job.submitted);
        times.run += to_seconds(*job.finished - *job.started);
        unhindered[gpus] += to_seconds(*job.finished - *job.started - lost);
      }
    }
    for (auto& [gpus, times] : by_size) {
      const auto jobs = static_cast<double>(times.jobs);
      if (unhindered[gpus] > 0) times.slowdown = times.run / unhindered[gpus];
      times.completion /= jobs;
      times.wait /= jobs;
      times.run /= jobs;
      if (gpus == 0) {
        outcome_.network->all = times;
      } else {
        outcome_.network->by_size.push_back(times);
      }
    }
  }

  void tally_tenants() {
    if (!core_.state().training.tenants) return;
    const TenantTable& table = *core_.state().training.tenants;
    const std::vector<double> shares = shares_of_weight(table);
    for (std::size_t i = 0; i < table.tenants.size(); ++i)
      outcome_.by_tenant.push_back({table.tenants[i].name, table.tenants[i].parent, shares[i]});
    for (std::size_t row = 0; row < outcome_.by_job.size(); ++row) {
      const TrainingJobOutcome& job = outcome_.by_job[row];
      for_each_group(table, table.index_of(workload_.jobs[row].spec.tenant), [&](std::size_t at) {
        TenantOutcome& tenant = outcome_.by_tenant[at];
        ++tenant.jobs;
        tenant.finished += job.finished ? 1 : 0;
        tenant.gpu_seconds += job.gpu_seconds;
        if (!job.started) return;
        ++tenant.started;
        tenant.total_wait_seconds += to_seconds(*job.started - job.submitted);
      });
    }
  }

  // What a job has, and since when.
  struct Holding {
    Time since;
    std::uint32_t gpus = 0;
  };

  const TrainingWorkload& workload_;
  TrainingRunConfig config_;
  schedule::Core core_;
  ModelledEngine engine_;
  TrainingOutcome outcome_;
  // When nodes go and come, in order.
  std::vector<std::pair<Time, std::variant<NodeLost, NodeReturned>>> outages_;
  std::size_t told_outages_ = 0;
  std::vector<NodeId> nodes_;  // in the cluster's order
  std::optional<FailureClock> failures_;
  std::vector<JobId> fallen_back_;  // with the node that was lost last
  Reason reason_;                   // of the record that is being obeyed
  std::vector<std::size_t> by_arrival_;
  std::size_t arrived_ = 0;
  std::deque<ModelledEngine::Happening> reports_;  // of which the scheduler has not heard yet
  std::vector<std::size_t> trace_row_;             // by job id
  // Jobs that pay for a start which was planned as free: the scheduler takes them to be at work, so
  // what they have done is told before it decides.
  std::set<JobId> starting_;
  std::size_t row_ = 0;
  std::vector<std::int64_t> speeds_;  // by row
  std::vector<Holding> holdings_;     // by row
  std::int64_t busy_jobs_ = 0;        // those with GPUs
  Time quiet_since_;                  // nobody has had GPUs since
  std::optional<EnergyMeter> meter_;
  std::optional<NetworkSpeeds> network_;
  std::map<JobId, Duration> lost_to_network_;  // of jobs that are over
  bool has_other_traffic_ = false;             // since it was played
  Time now_;
  Time wake_up_ = Time::max();
  Time next_supply_ = Time::max();  // when the scheduler hears of it
  bool has_new_plans_ = false;      // since the last decision
};

}  // namespace

std::vector<std::int64_t> job_speeds(const TrainingWorkload& workload, const JobSpeeds& speeds) {
  if (!speeds.by_row.empty()) return speeds.by_row;
  SeededRng rng{speeds.seed};
  const std::int64_t spread = speeds.most_permille - speeds.least_permille;
  std::vector<std::int64_t> drawn;
  for (std::size_t row = 0; row < workload.jobs.size(); ++row) {
    const auto extra = spread == 0 ? 0 : rng.below(static_cast<std::uint64_t>(spread) + 1);
    drawn.push_back(speeds.least_permille + static_cast<std::int64_t>(extra));
  }
  return drawn;
}

TrainingOutcome run_training(const Cluster& cluster, const TrainingWorkload& workload,
                             const std::vector<CurveBook>& curves,
                             const TrainingRunConfig& config) {
  return TrainingRun{cluster, workload, curves, config}.run();
}

}  // namespace weir::simulate
