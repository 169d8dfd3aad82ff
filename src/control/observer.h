// SPDX-License-Identifier: Apache-2.0
//
// The loop of a server that only watches: takes what a source has seen, tells the core, stores the records and shows the
// result. It compares what is there with what it knows, so nothing depends on hearing of every change: after a restart, a
// gap or a failed commit it looks at everything once and is right again.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "control/job_status.h"
#include "control/live_clock.h"
#include "control/live_loop.h"
#include "control/metrics.h"
#include "control/store.h"
#include "domain/gpu_model.h"
#include "domain/observation_source.h"
#include "schedule/core/core.h"

namespace weir::control {

struct ObserverConfig {
  Duration keep_history = std::chrono::hours{24 * 30};
  std::uint64_t snapshot_every = 20'000;                  // records
  Duration least_pause = std::chrono::milliseconds{200};  // between two looks
};

class Observer final : public LiveLoop {
 public:
  // Recovers from the store, then begins to watch.
  // Requires: store, reader (the loop's own), source and metrics outlive the observer.
  static Result<std::unique_ptr<Observer>> start(ObserverConfig config, Store& store,
                                                 StoreReader& reader, ObservationSource& source,
                                                 Metrics& metrics,
                                                 const ClockSource& clocks = machine_clocks());
  ~Observer() override;
  void stop();

  // All refused: a server that observes changes nothing.
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

  void nodes(std::function<void(std::vector<NodeUse>)> answer) override;
  void overview(std::function<void(std::optional<Overview>)> answer) override;
  void backup(std::string file, std::function<void(Result<void>)> answer) override;
  void on_commit(std::function<void(LogPosition end)> callback) override;
  Health health() const override;
  LogPosition log_end() const override;
  Time wall_time() const override { return clocks_.wall(); }
  std::optional<NodeId> node_named(std::string_view name) const override;
  std::string policy() const override { return source_.describe(); }
  bool is_observing() const override { return true; }
  std::optional<std::string> observation() const override;

  const Recovery& recovery() const { return recovered_; }

 private:
  struct LiveTask {
    JobId job;
    JobStatus status;
    std::string node;
    double gpus = 0;  // it holds, or asks for
    bool is_shown = true;
    bool is_running = false;
    bool is_changed = false;
  };

  Observer(ObserverConfig config, Store& store, StoreReader& reader, ObservationSource& source,
           Metrics& metrics, const ClockSource& clocks);

  Result<void> recover();
  void restore_task(JobId job, std::vector<JobId>& hidden);
  void run();
  void look();
  void take(const ObservedChanges& changes);
  void take_nodes(const ObservedChanges& changes);
  void take_task(const ObservedTask& task);
  void place(LiveTask& live, const ObservedTask& task);
  void end(LiveTask& live, const ObservedTask* task);
  void take_insight(const ClusterInsight& insight);
  void take_sample_if_due();
  Result<void> commit();
  void give_up(const Error& error);
  bool is_ready_again();
  void publish();
  void keep_nodes();
  ClusterFigures figures() const;
  void post(std::function<void()> look);

  void tell(decltype(Event::what) what);
  void mark_changed(LiveTask& live, const std::string& uid);
  NodeId id_of(const std::string& node) const;

  ObserverConfig config_;
  Store& store_;
  StoreReader& reader_;
  ObservationSource& source_;
  Metrics& metrics_;
  const ClockSource& clocks_;

  // Of the loop's thread.
  std::unique_ptr<schedule::Core> core_;
  Recovery recovered_;
  GpuModels models_;
  std::map<std::string, ObservedNode> nodes_;       // by name: what is there
  std::unordered_map<std::string, LiveTask> live_;  // by uid
  Time now_;
  bool needs_everything_ = true;
  // A batch could not be stored: the core must begin anew, not before that time.
  std::optional<std::chrono::steady_clock::time_point> recover_at_;
  double fragmented_ = 0;
  bool are_nodes_kept_ = true;  // as they are now, beside the log
  Time keep_nodes_at_{};
  Time show_figures_at_{};
  std::optional<std::int64_t> sampled_step_;
  Time forget_at_;
  LogPosition snapshot_at_;

  // Of the batch at hand.
  Batch batch_;
  std::vector<std::string> changed_;  // uids

  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::function<void(LogPosition)> on_commit_;
  LogPosition log_end_;
  std::deque<std::function<void()>> looks_;
  std::string observation_;
  std::string trouble_;  // why nothing can be written
  std::unordered_map<std::string, NodeId> node_ids_;
  bool is_woken_ = true;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace weir::control
