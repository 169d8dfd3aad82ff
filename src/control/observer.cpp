// SPDX-License-Identifier: Apache-2.0
#include "control/observer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "control/observed_history.h"
#include "schedule/place/policies.h"

namespace weir::control {
namespace {

constexpr Duration kKeepNodesEvery = std::chrono::seconds{10};
constexpr std::string_view kModelsSetting = "observed_models";
constexpr std::string_view kOnlyObserves = "this server only observes";

// FNV-1a. A node keeps its number as long as it keeps its name, whoever counts.
std::uint64_t number_of(std::string_view name) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

Shape shape_of(const ObservedTask& task) {
  Shape shape;
  shape.cpu = task.cpu;
  shape.memory = task.memory;
  shape.gpu_count = std::clamp(task.gpu_count, 0, kMaxGpusPerNode);
  shape.gpu_share = shape.gpu_count == 0  ? MilliGpu{0}
                    : shape.gpu_count > 1 ? kWholeGpu
                                          : std::clamp(task.gpu_share, MilliGpu{1}, kWholeGpu);
  return shape;
}

double whole_gpus(const Shape& shape) {
  return static_cast<double>(shape.gpu_total().value) / static_cast<double>(kWholeGpu.value);
}

ShownPhase ended_phase(const ObservedTask* task) {
  if (task == nullptr) return ShownPhase::cancelled;  // it was deleted
  return task->phase == ObservedPhase::failed ? ShownPhase::failed : ShownPhase::finished;
}

std::optional<std::string> uid_in(const JobStatus& status) {
  if (status.observed.empty()) return std::nullopt;
  const auto json = nlohmann::json::parse(status.observed, nullptr, false);
  if (!json.is_object() || !json.contains("uid") || !json["uid"].is_string()) return std::nullopt;
  return json["uid"].get<std::string>();
}

schedule::State nothing_known() {
  return schedule::initial_state(schedule::make_layout(Cluster{}, {}), TargetWorkload{}, false);
}

schedule::CoreConfig observing() {
  schedule::CoreConfig config;
  config.policy = schedule::placement_policies().front().policy;
  config.queue = schedule::QueueRule::observe;
  return config;
}

}  // namespace

// ---- Start and stop

Observer::Observer(ObserverConfig config, Store& store, StoreReader& reader,
                   ObservationSource& source, Metrics& metrics, const ClockSource& clocks)
    : config_{config},
      store_{store},
      reader_{reader},
      source_{source},
      metrics_{metrics},
      clocks_{clocks} {}

Result<std::unique_ptr<Observer>> Observer::start(ObserverConfig config, Store& store,
                                                  StoreReader& reader, ObservationSource& source,
                                                  Metrics& metrics, const ClockSource& clocks) {
  std::unique_ptr<Observer> made{new Observer{config, store, reader, source, metrics, clocks}};
  if (auto recovered = made->recover(); !recovered)
    return tl::unexpected<Error>(std::move(recovered.error()));
  source.start([observer = made.get()] {
    const std::lock_guard lock{observer->mutex_};
    observer->is_woken_ = true;
    observer->arrived_.notify_one();
  });
  made->thread_ = std::thread{[observer = made.get()] { observer->run(); }};
  return made;
}

Observer::~Observer() {
  stop();
}

void Observer::stop() {
  source_.stop();
  {
    const std::lock_guard lock{mutex_};
    is_stopping_ = true;
    arrived_.notify_one();
  }
  if (!thread_.joinable()) return;
  thread_.join();
  keep_nodes();
}

Result<void> Observer::recover() {
  auto recovered = store_.recover(nothing_known());
  if (!recovered) return tl::unexpected<Error>(std::move(recovered.error()));
  recovered_ = std::move(*recovered);
  recovered_.jobs = recovered_.state.jobs.size();
  models_ = {};
  if (const auto names = store_.setting(kModelsSetting)) {
    const auto list = nlohmann::json::parse(*names, nullptr, false);
    for (const auto& name : list) {
      if (name.is_string()) models_.intern(name.get<std::string>());
    }
  }
  core_ = std::make_unique<schedule::Core>(observing(), std::move(recovered_.state));
  now_ = std::max(now_, clocks_.wall());
  forget_at_ = now_ + kForgetEvery;
  snapshot_at_ = {recovered_.snapshot_entry, recovered_.end.record - recovered_.records_folded};
  sampled_step_.reset();
  needs_everything_ = true;
  nodes_.clear();
  live_.clear();
  batch_ = {};
  changed_.clear();
  std::vector<JobId> hidden;
  for (std::size_t i = 0; i < core_->state().jobs.size(); ++i) {
    const schedule::JobPhase phase = core_->state().jobs[i].phase;
    if (phase == schedule::JobPhase::queued || phase == schedule::JobPhase::running)
      restore_task(JobId{i + 1}, hidden);
  }
  // Nobody kept their uids: they are seen anew.
  for (const JobId job : hidden) tell(JobCancelled{job});
  const std::lock_guard lock{mutex_};
  log_end_ = recovered_.end;
  return {};
}

void Observer::restore_task(JobId job, std::vector<JobId>& hidden) {
  const auto view = reader_.job_view(job);
  if (!view || !*view) return hidden.push_back(job);
  auto status = read_job_status(**view);
  const auto uid = status ? uid_in(*status) : std::nullopt;
  if (!uid) return hidden.push_back(job);
  const schedule::JobState& known = core_->state().job(job);
  LiveTask live;
  live.job = job;
  live.status = std::move(*status);
  live.gpus = whole_gpus(core_->state().shapes[known.shape.value]);
  live.is_running = known.phase == schedule::JobPhase::running;
  if (!live.status.nodes.empty()) live.node = live.status.nodes.front();
  live_.emplace(*uid, std::move(live));
}

// ---- The loop

void Observer::run() {
  while (true) {
    std::deque<std::function<void()>> looks;
    {
      std::unique_lock lock{mutex_};
      arrived_.wait_for(lock, kTick, [&] { return is_stopping_ || is_woken_ || !looks_.empty(); });
      looks = std::exchange(looks_, {});
      if (is_stopping_ && looks.empty()) return;
      is_woken_ = false;
    }
    look();
    for (const auto& answer : looks) answer();
    // What comes in the meantime is one batch.
    std::unique_lock lock{mutex_};
    arrived_.wait_for(lock, config_.least_pause, [&] { return is_stopping_ || !looks_.empty(); });
  }
}

void Observer::look() {
  if (recover_at_ && !is_ready_again()) return;
  now_ = std::max(now_, clocks_.wall());
  take_sample_if_due();
  if (const auto changes = source_.take_changes(needs_everything_)) {
    needs_everything_ = false;
    const auto begun = std::chrono::steady_clock::now();
    take(*changes);
    metrics_.histogram("weir_observe_seconds", "Time to take in a batch of changes of the cluster.")
        .observe(std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  }
  if (const auto insight = source_.take_insight()) take_insight(*insight);
  if (auto committed = commit(); !committed) return give_up(committed.error());
  publish();
}

void Observer::take(const ObservedChanges& changes) {
  take_nodes(changes);
  // First what ends, so that its place is free for what was placed there.
  for (const ObservedTask& task : changes.tasks) {
    if (task.phase == ObservedPhase::finished || task.phase == ObservedPhase::failed)
      take_task(task);
  }
  std::vector<std::string> gone = changes.tasks_gone;
  if (changes.is_all) {
    std::unordered_set<std::string_view> there;
    for (const ObservedTask& task : changes.tasks) there.insert(task.uid);
    for (const auto& [uid, live] : live_) {
      if (!there.contains(uid)) gone.push_back(uid);
    }
  }
  for (const std::string& uid : gone) {
    const auto at = live_.find(uid);
    if (at == live_.end()) continue;
    end(at->second, nullptr);
    mark_changed(at->second, uid);
  }
  for (const ObservedTask& task : changes.tasks) {
    if (task.phase == ObservedPhase::waiting || task.phase == ObservedPhase::running)
      take_task(task);
  }
}

void Observer::take_nodes(const ObservedChanges& changes) {
  NodesObserved changed;
  std::map<std::string, ObservedNode> there;
  for (ObservedNode node : changes.nodes) {
    node.id = NodeId{number_of(node.name)};
    node.gpu_count = std::clamp(node.gpu_count, 0, kMaxGpusPerNode);
    node.model_id = kNoGpuModel;
    if (node.gpu_count > 0) {
      const std::size_t before = models_.size();
      node.model_id = models_.intern(node.model).value_or(GpuModelId{kMaxGpuModels - 1});
      if (models_.size() != before)
        (void)store_.set_setting(kModelsSetting, nlohmann::json(models_.names()).dump());
    }
    const auto known = nodes_.find(node.name);
    if (known == nodes_.end() || known->second != node) changed.nodes.push_back(node);
    there.insert_or_assign(node.name, std::move(node));
  }
  std::vector<std::string> gone = changes.nodes_gone;
  if (changes.is_all) {
    for (const auto& [name, node] : nodes_) {
      if (!there.contains(name)) gone.push_back(name);
    }
    // Also those that went while nobody looked.
    for (const NodeId id : core_->state().layout->ids) {
      const auto is_it = [&](const auto& entry) { return entry.second.id == id; };
      if (std::none_of(there.begin(), there.end(), is_it)) tell(NodeLost{id});
    }
  }
  for (const std::string& name : gone) {
    tell(NodeLost{id_of(name)});
    nodes_.erase(name);
  }
  for (auto& [name, node] : there) nodes_.insert_or_assign(name, std::move(node));
  if (changed.nodes.empty() && gone.empty()) return;
  are_nodes_kept_ = false;
  if (!changed.nodes.empty()) tell(std::move(changed));
  std::unordered_map<std::string, NodeId> ids;
  for (const auto& [name, node] : nodes_) ids.emplace(name, node.id);
  const std::lock_guard lock{mutex_};
  node_ids_.swap(ids);
}

void Observer::take_task(const ObservedTask& task) {
  const bool is_over = task.phase == ObservedPhase::finished || task.phase == ObservedPhase::failed;
  auto at = live_.find(task.uid);
  if (at == live_.end()) {
    if (is_over) return;  // it was over before anybody looked
    const Shape shape = shape_of(task);
    LiveTask live;
    live.job = core_->state().next_job();
    live.is_shown = task.is_shown;
    live.gpus = whole_gpus(shape);
    live.status.job = live.job;
    live.status.name = task.name;
    live.status.submitted = task.created;
    live.status.observed = task.detail;
    live.status.reason = {ReasonCode::observed, 0};
    tell(TaskObserved{shape});
    if (live.is_shown) batch_.new_jobs.push_back({live.job, task.name, task.detail, {}, {}});
    at = live_.emplace(task.uid, std::move(live)).first;
    mark_changed(at->second, task.uid);
  }
  LiveTask& live = at->second;
  if (live.status.observed != task.detail) {
    live.status.observed = task.detail;
    mark_changed(live, task.uid);
  }
  if (!live.is_running && !task.node.empty() && !is_over) {
    place(live, task);
    mark_changed(live, task.uid);
  }
  if (is_over) {
    end(live, &task);
    mark_changed(live, task.uid);
  }
}

void Observer::place(LiveTask& live, const ObservedTask& task) {
  tell(PlacementObserved{live.job, id_of(task.node), task.gpus});
  live.is_running = true;
  live.node = task.node;
  live.status.phase = ShownPhase::running;
  live.status.nodes = {task.node};
  live.status.gpus = static_cast<std::uint32_t>(std::max(0, task.gpu_count));
  live.status.started = task.started.value_or(clocks_.wall());
  live.status.expected_start.reset();
  live.status.waits.clear();
}

void Observer::end(LiveTask& live, const ObservedTask* task) {
  const ShownPhase phase = ended_phase(task);
  if (phase == ShownPhase::finished) {
    tell(JobFinished{live.job});
  } else if (phase == ShownPhase::failed) {
    tell(JobFailed{live.job});
  } else {
    tell(JobCancelled{live.job});
  }
  live.is_running = false;
  live.node.clear();
  live.status.phase = phase;
  live.status.ended = task != nullptr && task->ended ? *task->ended : clocks_.wall();
  live.status.gpus = 0;
  live.status.expected_start.reset();
  live.status.waits.clear();
  if (phase == ShownPhase::cancelled) live.status.exit = "deleted";
}

void Observer::take_insight(const ClusterInsight& insight) {
  fragmented_ = insight.gpus_fragmented;
  for (const TaskInsight& task : insight.tasks) {
    const auto at = live_.find(task.uid);
    if (at == live_.end() || at->second.is_running || is_over(at->second.status.phase)) continue;
    JobStatus& status = at->second.status;
    if (status.waits == task.waits && status.expected_start == task.expected_start) continue;
    status.waits = task.waits;
    status.expected_start = task.expected_start;
    mark_changed(at->second, task.uid);
  }
  const std::lock_guard lock{mutex_};
  observation_ = insight.json;
}

void Observer::take_sample_if_due() {
  const std::int64_t step = beginning_of_step(
      now_, std::chrono::duration_cast<std::chrono::seconds>(kSampleEvery).count());
  if (!sampled_step_) sampled_step_ = step;
  if (std::exchange(*sampled_step_, step) == step) return;
  batch_.sample = ClusterSample{now_, figures(), config_.keep_history};
}

Result<void> Observer::commit() {
  for (const std::string& uid : changed_) {
    LiveTask& live = live_.at(uid);
    live.is_changed = false;
    if (!live.is_shown) continue;
    batch_.views.push_back(
        {live.job, std::string{to_string(live.status.phase)}, now_, to_json(live.status)});
  }
  if (batch_.decisions.empty() && batch_.views.empty() && !batch_.sample) return {};
  return store_.commit(batch_);
}

// Nothing of the batch is stored. What was seen is shown all the same; then the core begins anew from what is stored, and
// looks at everything again.
void Observer::give_up(const Error& error) {
  {
    const std::lock_guard lock{mutex_};
    trouble_ = to_string(error.details);
  }
  metrics_.counter("weir_commit_failures_total", "Batches that could not be stored.").add();
  recover_at_ = std::chrono::steady_clock::now() + kTick;
}

bool Observer::is_ready_again() {
  if (std::chrono::steady_clock::now() < *recover_at_) return false;
  if (auto recovered = recover(); !recovered) {
    give_up(recovered.error());
    return false;
  }
  recover_at_.reset();
  return true;
}

void Observer::publish() {
  for (const std::string& uid : changed_) {
    const auto at = live_.find(uid);
    if (is_over(at->second.status.phase)) live_.erase(at);
  }
  changed_.clear();
  const bool is_news = !batch_.decisions.empty();
  metrics_.counter("weir_entries_total", "Events that were decided and stored.")
      .add(batch_.decisions.size());
  batch_ = {};
  std::function<void(LogPosition)> callback;
  {
    const std::lock_guard lock{mutex_};
    trouble_.clear();
    callback = on_commit_;
    log_end_ = store_.end();
  }
  if (callback && is_news) callback(store_.end());
  if (now_ >= show_figures_at_) {  // it looks at every task
    show_figures_at_ = now_ + kTick;
    metrics_.gauge("weir_jobs_live", "Jobs that are not over.")
        .set(static_cast<double>(live_.size()));
    metrics_.gauge("weir_gpus_in_use", "GPUs that jobs have.").set(figures().gpus_in_use);
  }
  metrics_
      .gauge("weir_observe_degraded", "1 when the picture of the cluster may be old or has holes.")
      .set(source_.trouble().empty() ? 0 : 1);
  if (store_.end().record >= snapshot_at_.record + config_.snapshot_every) {
    snapshot_at_ = store_.end();
    const std::string bytes = write_snapshot(core_->fork_state());
    if (!bytes.empty()) (void)store_.save_snapshot(store_.end().entry, bytes);
  }
  if (now_ >= keep_nodes_at_) keep_nodes();
  if (now_ < forget_at_) return;
  const auto gone = store_.forget_before(now_ - config_.keep_history, kMostForgotten);
  forget_at_ = now_ + (gone && gone->size() >= kMostForgotten ? kTick : kForgetEvery);
}

// For `weir simulate --from kubernetes`. Not with every change: it is the whole list.
void Observer::keep_nodes() {
  if (are_nodes_kept_) return;
  keep_nodes_at_ = now_ + kKeepNodesEvery;
  are_nodes_kept_ =
      store_.set_setting(kObservedNodesSetting, observed_nodes_json(nodes_)).has_value();
}

ClusterFigures Observer::figures() const {
  ClusterFigures made;
  for (const auto& [name, node] : nodes_) made.gpus_up += node.is_up ? node.gpu_count : 0;
  for (const auto& [uid, live] : live_) {
    if (live.is_running) made.gpus_in_use += live.gpus;
    if (!live.is_shown) continue;
    made.running += live.is_running ? 1 : 0;
    made.waiting += live.is_running ? 0 : 1;
  }
  made.gpus_fragmented = fragmented_;
  made.promises = store_.totals().promises;
  return made;
}

void Observer::tell(decltype(Event::what) what) {
  Decision decision{Event{now_, std::move(what)}, {}};
  decision.records = core_->handle(decision.event);
  const bool is_for_nothing = std::all_of(
      decision.records.begin(), decision.records.end(),
      [](const Record& record) { return std::holds_alternative<EventIgnored>(record.what); });
  for (const Record& record : decision.records) {
    if (record.reason.code == ReasonCode::overcommitted)
      metrics_
          .counter("weir_observed_overcommitted_total",
                   "Tasks seen on nodes that have no such GPUs free.")
          .add();
  }
  if (!is_for_nothing) batch_.decisions.push_back(std::move(decision));
}

void Observer::mark_changed(LiveTask& live, const std::string& uid) {
  if (std::exchange(live.is_changed, true)) return;
  changed_.push_back(uid);
}

NodeId Observer::id_of(const std::string& node) const {
  return NodeId{number_of(node)};
}

// ---- What is asked

void Observer::post(std::function<void()> look) {
  const std::lock_guard lock{mutex_};
  if (is_stopping_) return;
  looks_.push_back(std::move(look));
  arrived_.notify_one();
}

void Observer::nodes(std::function<void(std::vector<NodeUse>)> answer) {
  post([this, answer = std::move(answer)] {
    std::map<std::string_view, NodeUse> all;
    for (const auto& [name, node] : nodes_)
      all.emplace(name, NodeUse{name, node.pool, node.model, node.gpu_count, node.is_up, {}});
    for (const auto& [uid, live] : live_) {
      if (!live.is_running || live.gpus == 0) continue;
      const auto at = all.find(live.node);
      if (at == all.end()) continue;
      NodeUse::User user{live.job, live.status.name, {}};
      for (const Placement& placement : core_->state().job(live.job).placements.all()) {
        for (int gpu = 0; gpu < kMaxGpusPerNode; ++gpu) {
          if (placement.gpus.contains(gpu)) user.gpus.push_back(gpu);
        }
      }
      at->second.users.push_back(std::move(user));
    }
    std::vector<NodeUse> shown;
    shown.reserve(all.size());
    for (auto& [name, node] : all) {
      std::sort(node.users.begin(), node.users.end(),
                [](const NodeUse::User& a, const NodeUse::User& b) { return a.job < b.job; });
      shown.push_back(std::move(node));
    }
    answer(std::move(shown));
  });
}

void Observer::overview(std::function<void(std::optional<Overview>)> answer) {
  post([this, answer = std::move(answer)] {
    Overview shown;
    shown.at = clocks_.wall();
    for (const auto& [name, node] : nodes_) shown.gpus += node.gpu_count;
    shown.nodes = static_cast<std::int64_t>(nodes_.size());
    shown.figures = figures();
    shown.phases = store_.totals().by_phase;
    answer(std::move(shown));
  });
}

void Observer::backup(std::string file, std::function<void(Result<void>)> answer) {
  post([this, file = std::move(file), answer = std::move(answer)] { answer(store_.backup(file)); });
}

void Observer::on_commit(std::function<void(LogPosition)> callback) {
  const std::lock_guard lock{mutex_};
  on_commit_ = std::move(callback);
}

Health Observer::health() const {
  const std::lock_guard lock{mutex_};
  if (is_stopping_) return {false, "the server is stopping"};
  if (!trouble_.empty()) return {false, trouble_};
  return {true, source_.trouble()};
}

LogPosition Observer::log_end() const {
  const std::lock_guard lock{mutex_};
  return log_end_;
}

std::optional<NodeId> Observer::node_named(std::string_view name) const {
  const std::lock_guard lock{mutex_};
  const auto at = node_ids_.find(std::string{name});
  if (at == node_ids_.end()) return std::nullopt;
  return at->second;
}

std::optional<std::string> Observer::observation() const {
  const std::lock_guard lock{mutex_};
  if (observation_.empty()) return std::nullopt;
  return observation_;
}

namespace {

tl::unexpected<Error> only_observes() {
  Diagnostics details;
  details.add({"", 0, "", std::string{kOnlyObserves}, "a server that schedules"});
  return tl::unexpected<Error>(Error{ErrorCode::unavailable, std::move(details)});
}

}  // namespace

void Observer::submit(Submission, std::function<void(SubmitAnswer)> answer) {
  SubmitAnswer refused;
  refused.errors.add({"", 0, "", std::string{kOnlyObserves}, "a server that schedules"});
  answer(std::move(refused));
}
void Observer::cancel(JobId, std::function<void(CancelAnswer)> answer) {
  answer({true, std::string{kOnlyObserves}});
}
void Observer::drain(NodeId, std::function<void(NodeAnswer)> answer) {
  answer({true, false, {}});
}
void Observer::undrain(NodeId, std::function<void(NodeAnswer)> answer) {
  answer({true, false, {}});
}
void Observer::dry_run(formats::JobDocument, std::function<void(Result<ShownDryRun>)> answer) {
  answer(only_observes());
}
void Observer::what_if(WhatIfQuestion, std::function<void(Result<WhatIfAnswer>)> answer) {
  answer(only_observes());
}
void Observer::counterfactuals(JobId, formats::JobDocument,
                               std::function<void(Result<ShownCounterfactuals>)> answer) {
  answer(only_observes());
}
void Observer::tenants(std::function<void(Result<ShownTenants>)> answer) {
  answer(only_observes());
}
void Observer::energy(std::function<void(Result<ShownEnergy>)> answer) {
  answer(only_observes());
}
void Observer::change_tenants(TenantTable, std::function<void(Result<ShownTenants>)> answer) {
  answer(only_observes());
}

}  // namespace weir::control
