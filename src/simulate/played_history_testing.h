// SPDX-License-Identifier: Apache-2.0
//
// For tests: a cluster that really runs, on a modelled engine, and can be split: one half goes on as it
// was, in the other something is done.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "domain/cluster.h"
#include "schedule/core/core.h"
#include "schedule/place/policies.h"
#include "schedule/policies/training_policies.h"
#include "simulate/modelled_engine.h"

namespace weir::simulate::testing {

class PlayedHistory {
 public:
  struct Seen {
    std::shared_ptr<const TrainingSpec> spec;
    bool is_promised = false;
    bool is_refused = false;
    std::optional<Time> earliest;
    std::vector<std::pair<Time, std::uint32_t>> gpus;  // changes
    std::optional<Time> finished;

    // When it has GPUs, from then on.
    std::optional<Time> has_gpus(Time from) const {
      std::uint32_t had = 0;
      for (const auto& [at, count] : gpus) {
        if (at > from && had > 0) return from;
        if (at >= from && count > 0) return at;
        had = count;
      }
      return had > 0 && !finished ? std::optional{from} : std::nullopt;
    }
  };

  // A change of GPUs costs the same whatever GPUs they are: nothing is cheaper than it was planned.
  PlayedHistory(const char* policy, Cluster cluster, const CurveBook& curves, Duration change)
      : cluster_{std::move(cluster)}, config_{config_for(policy)}, engine_{{change, Duration{0}}} {
    core_.emplace(config_, initial_state(cluster_, change));
    cost_ = change;
    for (const schedule::PoolState& pool : core_->state().training.pools) {
      for (const auto& [key, curve] : curves.curves) tell(CurveUpdated{pool.pool->id, key, curve});
    }
  }

  PlayedHistory(PlayedHistory&) = delete;
  PlayedHistory& operator=(PlayedHistory&) = delete;

  // Everything that was decided so far, decided for this cluster, and nothing else done. The larger
  // nodes of a larger cluster are not up yet.
  std::unique_ptr<PlayedHistory> split(const Cluster& cluster,
                                       const std::vector<NodeId>& not_up) const {
    std::unique_ptr<PlayedHistory> made{new PlayedHistory{*this, cluster}};
    auto state = initial_state(cluster, cost_);
    for (const NodeId node : not_up) {
      const auto at = schedule::find_node(state.training, node);
      schedule::evolve(state, Record{now_, {}, PoolNodeClosed{at->pool, at->node}});
    }
    for (const Record& record : records_) schedule::evolve(state, record);
    made->core_.emplace(config_, std::move(state));
    return made;
  }
  std::unique_ptr<PlayedHistory> split() const { return split(cluster_, {}); }

  template <class What>
  void tell(What what) {
    for (const Record& record : core_->handle(Event{now_, std::move(what)})) {
      records_.push_back(record);
      std::visit([&](const auto& made) { obey(made); }, record.what);
    }
  }
  JobId submit(const TrainingSpec& spec) {
    const JobId id = core_->state().next_job();
    tell(TrainingSubmitted{spec});
    return id;
  }
  void decide() {
    has_new_plans_ = false;
    tell(TimerFired{});
    wake_up_ = core_->wake_up();
  }
  // What happens by then, and then it is then.
  void play_until(Time end) {
    while (true) {
      const Time next = std::min(engine_.next_at(), wake_up_);
      if (next > end || next == Time::max()) break;
      now_ = std::max(now_, next);
      bool has_news = false;
      while (engine_.next_at() <= now_) has_news = hear(engine_.take_next()) || has_news;
      if (has_news || std::exchange(has_new_plans_, false) || wake_up_ <= now_) decide();
    }
    if (end != Time::max()) now_ = end;
  }
  void play_to_the_end() { play_until(Time::max()); }

  Time now() const { return now_; }
  schedule::Core& core() { return *core_; }
  const schedule::CoreConfig& config() const { return config_; }
  const Cluster& cluster() const { return cluster_; }
  const std::map<JobId, Seen>& seen() const { return seen_; }
  const Seen& seen(JobId job) const { return seen_.at(job); }

 private:
  PlayedHistory(const PlayedHistory& other, Cluster cluster)
      : cluster_{std::move(cluster)},
        config_{other.config_},
        engine_{other.engine_},
        cost_{other.cost_},
        now_{other.now_},
        wake_up_{other.wake_up_},
        records_{other.records_},
        seen_{other.seen_} {}

  static schedule::CoreConfig config_for(const char* policy) {
    schedule::CoreConfig config;
    config.policy = schedule::placement_policies().front().policy;
    config.training_policy = schedule::find_training_policy(policy);
    return config;
  }
  schedule::State initial_state(const Cluster& cluster, Duration change) const {
    auto state =
        schedule::initial_state_for_training(cluster, config_.training_policy->size_rule());
    state.training.rescale_cost = {change, Duration{0}};
    return state;
  }

  bool hear(const ModelledEngine::Happening& happening) {
    if (!happening.is_finish) {
      tell(RanksReady{happening.job, happening.generation});
      return false;
    }
    seen_[happening.job].finished = happening.at;
    tell(JobFinished{happening.job});
    return true;
  }

  template <class Other>
  void obey(const Other&) {}
  void obey(const TrainingAccepted& record) {
    seen_[record.job].spec = record.spec;
    const auto& curves = core_->state().training.find_pool(record.pool)->curves;
    engine_.add(record.job, *curves.at(record.spec->curve),
                work_of_iterations(record.spec->iterations), 1000, record.spec->in_one_piece);
  }
  void obey(const PromiseMade& record) { seen_[record.job].is_promised = true; }
  void obey(const PromiseRefused& record) {
    seen_[record.job].is_refused = true;
    seen_[record.job].earliest = record.earliest;
  }
  void obey(const TimelineRevised&) { has_new_plans_ = true; }
  void obey(const JobResized& record) {
    engine_.resize(now_, core_->state().training.job(record.job).pool, record);
    seen_[record.job].gpus.emplace_back(now_, record.block.size);
  }
  void obey(const JobReleased& record) {
    Seen& job = seen_[record.job];
    job.gpus.emplace_back(now_, 0);
    if (!job.finished)  // cancelled: its processes are stopped
      engine_.resize(now_, PoolIndex{0}, JobResized{record.job, UINT32_MAX, kNoGpus});
  }

  Cluster cluster_;
  schedule::CoreConfig config_;
  std::optional<schedule::Core> core_;
  ModelledEngine engine_;
  Duration cost_{0};
  Time now_;
  Time wake_up_ = Time::max();
  std::vector<Record> records_;
  std::map<JobId, Seen> seen_;
  bool has_new_plans_ = false;
};

}  // namespace weir::simulate::testing
