// SPDX-License-Identifier: Apache-2.0
//
// The live loop. One thread takes what has come in (submissions, cancellations, reports of the engine,
// the passing of time), asks the scheduler's core, makes the answers durable together, and only then
// tells anybody: clients their answers, the engine its orders. If the store cannot be written, nothing
// has happened: the core is built again from the store and clients are asked to come back.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "control/cluster_history.h"
#include "control/energy_figures.h"
#include "control/fragmented_gpus.h"
#include "control/gpu_keeper.h"
#include "control/job_status.h"
#include "control/live_clock.h"
#include "control/live_loop.h"
#include "control/measured_changes.h"
#include "control/measured_rates.h"
#include "control/metrics.h"
#include "control/planning_desk.h"
#include "control/profiling.h"
#include "control/progress_points.h"
#include "control/store.h"
#include "control/worker_thread.h"
#include "domain/cluster.h"
#include "domain/engine.h"
#include "formats/job_document.h"
#include "schedule/core/core.h"

namespace weir::control {

struct ControllerConfig {
  Cluster cluster;
  std::string policy = "weir";
  schedule::TrainingConfig training;
  schedule::RescaleCost rescale_cost;
  std::int32_t margin_permille = 0;  // of the time until its deadline, a job is planned to spare
  std::vector<CurveBook> curves;     // by pool with GPUs; known before any job comes
  std::uint64_t snapshot_every = 20'000;                // records
  Duration least_pause = std::chrono::milliseconds{5};  // between two decisions who has which GPUs
  Duration keep_history = std::chrono::hours{24 * 30};
  std::size_t most_waiting = 20'000;  // requests; more are turned away
  // The user of the machine as whom a tenant's jobs run; tenants that are not here: the engine's own.
  std::map<std::string, std::string, std::less<>> tenant_users;
  GpuControl* gpus = nullptr;  // clocks and counters; null: nobody can. Outlives the controller.
  CurvePlanner planner;  // of models that nobody measured; none: jobs with such a model are refused
};

class Controller final : public LiveLoop, public EngineListener {
 public:
  // Recovers from the store, then begins to work.
  // Requires: store, reader (the loop's own), engine and metrics outlive the controller.
  static Result<std::unique_ptr<Controller>> start(ControllerConfig config, Store& store,
                                                   StoreReader& reader, Engine& engine,
                                                   Metrics& metrics,
                                                   const ClockSource& clocks = machine_clocks());
  ~Controller() override;

  // Stops the loop after what is in hand. Requests that wait are answered: unavailable.
  void stop();

  void submit(Submission submission, std::function<void(SubmitAnswer)> answer) override;
  void cancel(JobId job, std::function<void(CancelAnswer)> answer) override;
  void drain(NodeId node, std::function<void(NodeAnswer)> answer) override;
  void undrain(NodeId node, std::function<void(NodeAnswer)> answer) override;
  void dry_run(formats::JobDocument document,
               std::function<void(Result<ShownDryRun>)> answer) override;
  void what_if(WhatIfQuestion question, std::function<void(Result<WhatIfAnswer>)> answer) override;
  void counterfactuals(JobId job, formats::JobDocument document,
                       std::function<void(Result<ShownCounterfactuals>)> answer) override;
  void tenants(std::function<void(Result<ShownTenants>)> answer) override;
  void change_tenants(TenantTable table, std::function<void(Result<ShownTenants>)> answer) override;
  void energy(std::function<void(Result<ShownEnergy>)> answer) override;
  // What is wanted of energy from now on; adopted when it is durable, terms as soon as a supply is
  // known. None: nobody asks.
  void configure_energy(std::optional<EnergyWish> wish, std::function<void(Result<void>)> answer);
  // From the feed.
  void hear_supply(SupplyNews news);
  void nodes(std::function<void(std::vector<NodeUse>)> answer) override;
  void overview(std::function<void(std::optional<Overview>)> answer) override;
  void backup(std::string file, std::function<void(Result<void>)> answer) override;

  void on_report(const RunReport& report) override;

  void on_commit(std::function<void(LogPosition end)> callback) override;

  Health health() const override;
  LogPosition log_end() const override;
  const ControllerConfig& config() const { return config_; }
  Time wall_time() const override { return clocks_->wall(); }
  std::optional<NodeId> node_named(std::string_view name) const override;
  std::string policy() const override { return config_.policy; }
  const Cluster* cluster() const override { return &config_.cluster; }
  const Recovery& recovery() const { return recovered_; }

 private:
  struct SubmitItem {
    Submission submission;
    std::function<void(SubmitAnswer)> answer;
    Result<PoolCurves> planned;  // of a model to plan; an error counts unless it was measured
  };
  struct CancelItem {
    JobId job;
    std::function<void(CancelAnswer)> answer;
  };
  struct NodeItem {
    NodeId node;
    bool is_drain = true;
    std::function<void(NodeAnswer)> answer;
  };
  struct TenantsItem {
    TenantTable table;
    std::function<void(Result<ShownTenants>)> answer;
  };
  struct EnergyItem {
    std::optional<EnergyWish> wish;
    std::function<void(Result<void>)> answer;
  };
  // Something to do on the loop's thread that changes nothing. Refused while the core is ahead of what
  // could be stored.
  struct LookItem {
    std::function<void()> look;
    std::function<void()> refuse;
  };
  struct SnapshotItem {
    std::uint64_t entry = 0;
    std::string bytes;
  };
  using Item = std::variant<SubmitItem, CancelItem, NodeItem, RunReport, LookItem, SnapshotItem,
                            TenantsItem, EnergyItem, SupplyNews, GpuNews>;

  struct LiveJob {
    JobStatus status;
    std::shared_ptr<const LaunchSpec> launch;
    std::int32_t retries = 0;
    std::shared_ptr<const formats::JobDocument> to_profile;  // if it asks to be measured first
    CurveKey curve;                                          // of a training job
    bool is_planned_on_a_guess = false;                      // nobody can tell when it will be done
    bool is_stated = false;                                  // its file has a curve
    Time progress_at;
    RunRate rate;  // of the generation `rate_of`
    std::uint32_t rate_of = 0;
    std::int64_t heard = 0;                 // the most iterations it has told of
    std::int64_t heard_at_resume = 0;       // when it last asked to be started again
    std::uint32_t resumes_for_nothing = 0;  // in a row
    bool is_changed = false;                // in the batch at hand
    std::optional<ProgressPoint> point;     // of the batch at hand
    std::optional<std::size_t> points;      // in the store; none: they have not been counted
    double counted_before = 0;  // kWh of its GPUs' counters, before this server was started
    bool has_newer_run =
        false;  // it finished while it was being changed: what began since must stop
  };

  // The measuring of a job that waits.
  struct Profile {
    ProfilingPass pass;
    std::optional<JobId> run;  // the job that measures the size at hand
    std::optional<Time> running_since;
    PoolIndex pool;   // where it was measured
    std::string why;  // the last run told nothing
  };

  class Context;

  Controller(ControllerConfig config, Store& store, StoreReader& reader, Engine& engine,
             Metrics& metrics);

  Result<void> recover(const ClockSource& clocks);
  Result<void> restore_live_jobs();
  bool restore_live_job(JobId job);
  std::shared_ptr<const LaunchSpec> launch_of(const formats::JobDocument& job) const;
  void restore_keys();
  void restore_asked_sizes();
  std::vector<RunOrder> standing_orders() const;
  schedule::CoreConfig core_config() const;

  bool post(Item item);
  void run();
  std::vector<Item> wait_for_items();
  void begin_batch();
  void process(Item& item);
  void process(SubmitItem& item);
  void process(CancelItem& item);
  void process(NodeItem& item);
  void process(RunReport& report);
  void process(LookItem& item);
  void process(SnapshotItem& item);
  void process(TenantsItem& item);
  void process(EnergyItem& item);
  void process(SupplyNews& news);
  void process(GpuNews& news);
  void learn_power(const GpuNews& news);
  void keep_gpus();
  void adopt_energy();
  void tell_power_tables();
  void show_energy();
  void measure_energy();
  ShownEnergy shown_energy() const;
  void handle_end(LiveJob& job, const RunReport& report, const RunEnded& end);
  void handle_progress(LiveJob& job, const RunProgress& progress);
  bool may_try_again(LiveJob& job, const RunEnded& end) const;
  bool runs_to_be_measured(const formats::JobDocument& document) const;
  TrainingSpec spec_to_be_measured(TrainingSpec spec) const;
  Result<schedule::SupposedJob> supposed_job(const formats::JobDocument& document,
                                             const Result<PoolCurves>& planned) const;
  void plan_curves(std::vector<std::optional<ModelToPlan>> models, PlanningDesk::Answer then);
  void submit_planned(Submission submission, Result<PoolCurves> planned,
                      const std::function<void(SubmitAnswer)>& answer);
  void dry_run_planned(formats::JobDocument document, Result<PoolCurves> planned,
                       const std::function<void(Result<ShownDryRun>)>& answer);
  void what_if_planned(WhatIfQuestion question, std::vector<Result<PoolCurves>> planned,
                       const std::function<void(Result<WhatIfAnswer>)>& answer);
  void tell_any_rate(const CurveKey& key);
  void resume_profiles();
  void begin_profiles();
  void begin_profile(JobId id);
  void advance_profiles();
  bool advance(JobId parent, Profile& profile);
  bool has_ended(Profile& profile);
  JobId start_profile_run(JobId parent, std::int32_t gpus);
  std::vector<CurveUpdated> curves_said(const CurveKey& key, const Curve* stated,
                                        const PoolCurves& planned) const;
  // The job, not over, whose model to plan is another one under the same name and batch.
  std::optional<JobId> owner_of_name(const formats::JobDocument& document) const;
  void note_model(JobId job, const formats::JobDocument& document);
  void forget_model(JobId job);
  // What was planned, none where that failed but jobs with this model have run. The error also says that another
  // model has the name.
  Result<PoolCurves> needed_plan(const formats::JobDocument& document,
                                 const Result<PoolCurves>& planned) const;
  void learn_curve(const formats::JobDocument& document, const PoolCurves& planned);
  std::optional<Curve> measured_curve(LiveJob& job, const RunProgress& progress);
  void tell_measured(const LiveJob& job, const std::optional<Curve>& curve);
  void tell_like_pools(PoolIndex pool, const CurveKey& key, const Curve& curve);
  void show_curve(LiveJob& job, const Record& record);
  void note_change(LiveJob& job, const ChangeTimes& times);
  GpuModelId gpu_of(PoolIndex pool) const;
  void show_speeds(const CurveAdopted& adopted);
  ShownTenants shown_tenants() const;
  ClusterFigures figures();
  double gpus_fragmented();
  std::uint32_t largest_block() const;
  void take_sample_if_due();
  void count_open(const JobStatus& status, std::int64_t by);
  ProgressPoint& point_of(LiveJob& job);
  void note_progress(LiveJob& job, const RunProgress& progress);
  void note_change_of_gpus(LiveJob& job);
  void add_points_to_batch();
  void notice_clock();
  void introduce();
  void decide_if_due();
  void finish_batch(std::vector<Item>& items);
  void give_up_batch(const Error& error, std::vector<Item>& items);
  void try_again();
  void take_snapshot_if_due();
  void forget_old();

  std::vector<Record> tell(decltype(Event::what) what);
  void obey(const Record& record);
  LiveJob* find(JobId job);
  RunOrder order_for(const LiveJob& job, JobId id, std::uint32_t generation, GpuBlock block) const;
  std::vector<GpuAddress> addresses(PoolIndex pool, GpuBlock block) const;

  ControllerConfig config_;
  Store& store_;
  StoreReader& reader_;
  Engine& engine_;
  Metrics& metrics_;

  // Of the loop's thread.
  std::unique_ptr<schedule::Core> core_;
  std::optional<LiveClock> clock_;
  const ClockSource* clocks_ = nullptr;
  Recovery recovered_;
  std::unordered_map<JobId, LiveJob> live_;
  // Models to plan of live jobs, by the curve that these share.
  std::map<CurveKey, std::map<JobId, PlannedModel>> models_;
  MeasuredRates measured_;
  MeasuredChanges changes_;
  std::map<JobId, Profile> profiles_;  // by the job that waits
  Time now_;
  Time decide_after_ = Time::min();
  bool needs_decision_ = true;
  bool is_new_ = true;  // the core has not been told of the configuration
  // Checksums of the keys that may be in the store. Almost every key is new, and to hear that from the
  // store costs more than the rest of a submission.
  std::vector<bool> maybe_used_keys_;
  bool is_as_stored_ = true;  // the core is; not after a batch that could not be stored
  std::int64_t gpus_in_use_ = 0;
  std::int64_t promises_open_ = 0;  // of jobs that are not over
  std::int64_t promises_at_risk_ = 0;
  AskedSizes asked_sizes_;
  double fragmented_ = 0;  // at `fragmented_at_`
  std::optional<Time> fragmented_at_;
  std::optional<std::int64_t> sampled_step_;  // none: it has only just started
  std::optional<EnergyWish> energy_wish_;
  bool is_wish_known_ = false;          // somebody has said whether energy matters
  SupplyNews supply_;                   // as the feed last told it, on the wall clock
  std::set<PoolIndex> pools_to_power_;  // whose curves, or the model of power, are others
  std::optional<Time> energy_measured_at_;
  std::map<std::pair<PoolIndex, CurveKey>, Time> power_learnt_at_;
  LogPosition snapshot_at_;
  bool snapshot_is_under_way_ = false;
  Time forget_at_;

  // Of the batch at hand.
  Batch batch_;
  std::vector<std::function<void()>> answers_;   // when it is durable
  std::vector<std::function<void()>> refusals_;  // when it is not
  std::vector<RunOrder> orders_;
  std::vector<JobId> over_;  // the engine may forget them
  std::vector<std::pair<JobId, std::int32_t>> clocks_set_;
  std::vector<JobId> to_read_;  // whose GPUs are asked what they have used
  std::vector<JobId> changed_;
  std::vector<JobId> pointed_;  // jobs with a point
  std::unordered_map<std::string, JobId> keys_;
  const Submission* submitted_ = nullptr;  // the one the core is being told of
  std::vector<RunReport> unprocessed_;     // reports of a batch that failed

  mutable std::mutex mutex_;
  std::function<void(LogPosition)> on_commit_;
  LogPosition log_end_;
  std::condition_variable arrived_;
  std::deque<Item> inbox_;
  bool is_stopping_ = false;
  std::string trouble_;         // why nothing can be written; empty when all is well
  std::string supply_trouble_;  // why nobody knows what energy costs now

  PlanningDesk planning_;
  WorkerThread dry_runs_;
  WorkerThread foresights_{16};
  WorkerThread snapshots_{2};
  std::unique_ptr<GpuKeeper> gpu_keeper_;  // null: nobody sets clocks
  std::thread thread_;
};

}  // namespace weir::control
