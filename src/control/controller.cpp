// SPDX-License-Identifier: Apache-2.0
#include "control/controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "control/store_log.h"
#include "control/submission.h"
#include "domain/tenants.h"
#include "schedule/place/policies.h"
#include "schedule/policies/training_policies.h"

namespace weir::control {
namespace {

using Stopwatch = std::chrono::steady_clock;

constexpr Duration kProgressEvery = std::chrono::seconds{10};
constexpr std::size_t kMostAtOnce = 2048;
constexpr std::uint32_t kMostLosses = 5;
// Saying "start me again" so often in a row without a step in between is no better than failing.
constexpr std::uint32_t kMostResumesForNothing = 5;
constexpr std::size_t kKeyMarks = std::size_t{1} << 24;  // 2 MiB of bits

double seconds_since(Stopwatch::time_point start) {
  return std::chrono::duration<double>(Stopwatch::now() - start).count();
}

SubmitAnswer unavailable_submission(std::string why) {
  SubmitAnswer answer;
  answer.kind = SubmitAnswer::Kind::unavailable;
  answer.errors.add({"", 0, "", std::move(why), "try again later"});
  return answer;
}

std::string how_it_ended(const RunEnded& end) {
  if (end.succeeded()) return "well";
  if (end.asks_to_resume()) return "resume";
  if (end.kind == RunEndKind::lost) return "lost";
  return end.kind == RunEndKind::hung ? "hung" : "failed";
}

std::string_view answer_name(const JobStatus& status) {
  if (status.phase == ShownPhase::refused) return "refused";
  if (status.phase == ShownPhase::waiting) return "waiting";
  return status.is_promised ? "promised" : "queued";
}

}  // namespace

// Where blocks are and what the wall clock shows, for statuses.
class Controller::Context final : public StatusContext {
 public:
  explicit Context(const Controller& controller) : controller_{controller} {}
  Time to_wall(Time time) const override { return controller_.clock_->to_wall(time); }
  std::vector<std::string> nodes_of(PoolIndex pool, GpuBlock block) const override {
    std::vector<std::string> names;
    NodeId last;
    for (const GpuAddress& gpu : controller_.addresses(pool, block)) {
      if (!names.empty() && gpu.node == last) continue;
      last = gpu.node;
      for (const Node& node : controller_.config_.cluster.nodes) {
        if (node.id == gpu.node) names.push_back(node.name);
      }
    }
    return names;
  }

 private:
  const Controller& controller_;
};

// ---- Start and stop

Controller::Controller(ControllerConfig config, Store& store, StoreReader& reader, Engine& engine,
                       Metrics& metrics)
    : config_{std::move(config)},
      store_{store},
      reader_{reader},
      engine_{engine},
      metrics_{metrics},
      planning_{config_.planner, pools_with_gpus(config_.cluster)} {}

Result<std::unique_ptr<Controller>> Controller::start(ControllerConfig config, Store& store,
                                                      StoreReader& reader, Engine& engine,
                                                      Metrics& metrics, const ClockSource& clocks) {
  std::unique_ptr<Controller> made{
      new Controller{std::move(config), store, reader, engine, metrics}};
  made->clocks_ = &clocks;
  if (auto recovered = made->recover(clocks); !recovered)
    return tl::unexpected<Error>(std::move(recovered.error()));
  if (made->config_.gpus != nullptr) {
    made->gpu_keeper_ = std::make_unique<GpuKeeper>(
        *made->config_.gpus, [raw = made.get()](const GpuNews& news) { raw->post(news); },
        [&clocks] { return clocks.since_boot(); });
  }
  const auto standing = made->standing_orders();
  engine.start(standing, *made);
  if (made->gpu_keeper_) {
    for (const RunOrder& order : standing) {
      made->gpu_keeper_->hold(order.job, order.generation, order.gpus);
      made->gpu_keeper_->set_clock(order.job,
                                   made->core_->state().training.job(order.job).clock_permille);
    }
  }
  made->thread_ = std::thread{[controller = made.get()] { controller->run(); }};
  return made;
}

Controller::~Controller() {
  stop();
}

void Controller::stop() {
  {
    const std::lock_guard lock{mutex_};
    is_stopping_ = true;
    arrived_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  planning_.stop();
  dry_runs_.stop();
  foresights_.stop();
  snapshots_.stop();
  if (gpu_keeper_) gpu_keeper_->stop();
  engine_.stop();
}

schedule::CoreConfig Controller::core_config() const {
  schedule::CoreConfig core;
  core.policy = schedule::placement_policies().front().policy;
  core.training_policy = schedule::find_training_policy(config_.policy);
  core.training = config_.training;
  return core;
}

Result<void> Controller::recover(const ClockSource& clocks) {
  auto recovered = store_.recover(schedule::initial_state_for_training(
      config_.cluster, schedule::find_training_policy(config_.policy)->size_rule()));
  if (!recovered) return tl::unexpected<Error>(std::move(recovered.error()));
  recovered_ = std::move(*recovered);
  recovered_.jobs = recovered_.state.jobs.size();
  // Reports of a batch that could not be stored are heard again.
  measured_ = {};
  changes_ = {};
  // Also after a batch that could not be stored: a step of the wall clock in it is seen again.
  if (!clock_ || recovered_.clock) clock_.emplace(recovered_.clock, clocks);
  now_ = recovered_.clock ? std::max(recovered_.clock->now, clock_->now()) : clock_->now();
  forget_at_ = now_ + kForgetEvery;
  core_ = std::make_unique<schedule::Core>(core_config(), std::move(recovered_.state));
  snapshot_at_ = {recovered_.snapshot_entry, recovered_.end.record - recovered_.records_folded};
  needs_decision_ = is_new_ = true;
  {
    const std::lock_guard lock{mutex_};
    log_end_ = recovered_.end;
  }
  restore_keys();
  restore_asked_sizes();
  fragmented_at_.reset();
  sampled_step_.reset();
  auto restored = restore_live_jobs();
  is_as_stored_ = restored.has_value();
  return restored;
}

void Controller::restore_keys() {
  const auto checksums = reader_.key_checksums();
  maybe_used_keys_.assign(kKeyMarks, !checksums);  // not readable: each key is looked up
  if (!checksums) return;
  for (const std::uint32_t checksum : *checksums) maybe_used_keys_[checksum % kKeyMarks] = true;
}

Result<void> Controller::restore_live_jobs() {
  live_.clear();
  models_.clear();
  gpus_in_use_ = promises_open_ = promises_at_risk_ = 0;
  const schedule::TrainingState& training = core_->state().training;
  for (std::size_t i = 0; i < training.jobs.size(); ++i) {
    const schedule::TrainingJob& job = training.jobs[i];
    const bool is_live = job.phase == schedule::TrainingPhase::promised ||
                         job.phase == schedule::TrainingPhase::unpromised ||
                         job.phase == schedule::TrainingPhase::waits_for_curve ||
                         job.phase == schedule::TrainingPhase::considered;
    if (is_live && !restore_live_job(JobId{i + 1})) {
      Diagnostics details;
      details.add({"store", 0, fmt::format("job {}", i + 1), "nothing that can be read",
                   "the document and view of a job that is not over; restore a backup"});
      return tl::unexpected<Error>(Error{ErrorCode::failure, std::move(details)});
    }
  }
  return {};
}

std::shared_ptr<const LaunchSpec> Controller::launch_of(const formats::JobDocument& job) const {
  LaunchSpec launch = job.launch;
  const std::string_view tenant =
      job.tenant.empty() ? kDefaultTenant : std::string_view{job.tenant};
  if (const auto found = config_.tenant_users.find(tenant); found != config_.tenant_users.end())
    launch.user = found->second;
  return std::make_shared<const LaunchSpec>(std::move(launch));
}

bool Controller::restore_live_job(JobId id) {
  const auto view = reader_.job_view(id);
  const auto document = reader_.job_document(id);
  if (!view || !*view || !document || !*document) return false;
  auto status = read_job_status(**view);
  const auto job = formats::read_job_json(**document, "store");
  if (!status || !job) return false;
  LiveJob live;
  live.status = std::move(*status);
  live.launch = launch_of(*job);
  live.retries = job->retries;
  live.curve = job->curve;
  if (job->is_to_be_profiled) live.to_profile = std::make_shared<const formats::JobDocument>(*job);
  live.is_stated = job->throughput.has_value();
  live.progress_at = now_;
  const schedule::TrainingJob& known = core_->state().training.job(id);
  live.is_planned_on_a_guess = known.spec != nullptr && (is_not_measured_yet(known.spec->curve) ||
                                                         is_profile(known.spec->curve));
  live.heard = live.heard_at_resume = live.status.done;
  if (live.status.energy) live.counted_before = live.status.energy->gpu_kwh.value_or(0);
  gpus_in_use_ += live.status.gpus;
  count_open(live.status, 1);
  live_.emplace(id, std::move(live));
  note_model(id, *job);
  return true;
}

std::vector<RunOrder> Controller::standing_orders() const {
  std::vector<RunOrder> orders;
  for (const schedule::PoolState& pool : core_->state().training.pools) {
    for (const JobId id : pool.active) {
      const schedule::TrainingJob& job = core_->state().training.job(id);
      if (!job.block.is_none())
        orders.push_back(order_for(live_.at(id), id, job.generation, job.block));
    }
  }
  return orders;
}

// ---- From other threads

bool Controller::post(Item item) {
  const std::lock_guard lock{mutex_};
  if (is_stopping_) return false;
  const bool is_request =
      !std::holds_alternative<RunReport>(item) && !std::holds_alternative<SnapshotItem>(item) &&
      !std::holds_alternative<SupplyNews>(item) && !std::holds_alternative<GpuNews>(item);
  if (is_request && inbox_.size() >= config_.most_waiting) return false;
  inbox_.push_back(std::move(item));
  if (inbox_.size() == 1) arrived_.notify_one();
  return true;
}

// Off the loop, where there is anything to plan; `then` is called on either thread.
void Controller::plan_curves(std::vector<std::optional<ModelToPlan>> models,
                             PlanningDesk::Answer then) {
  const bool has_any = std::any_of(models.begin(), models.end(),
                                   [](const auto& model) { return model.has_value(); });
  const std::size_t count = models.size();
  if (!has_any) return then(std::vector<Result<PoolCurves>>(count));
  if (planning_.plan(std::move(models), then)) return;
  Diagnostics details;
  details.add({"", 0, "", "too many models wait to be planned", "try again later"});
  const Error busy{ErrorCode::unavailable, std::move(details)};
  then(std::vector<Result<PoolCurves>>(count, tl::unexpected<Error>(busy)));
}

void Controller::submit(Submission submission, std::function<void(SubmitAnswer)> answer) {
  auto model = model_to_plan(submission.document);
  if (!model) return submit_planned(std::move(submission), PoolCurves{}, answer);
  plan_curves({std::move(model)}, [this, answer, submission](auto planned) {
    Result<PoolCurves>& curves = planned.front();
    if (curves || curves.error().code != ErrorCode::unavailable)
      return submit_planned(submission, std::move(curves), answer);
    SubmitAnswer refusal;
    refusal.kind = SubmitAnswer::Kind::unavailable;
    refusal.errors = std::move(curves.error().details);
    answer(std::move(refusal));
  });
}

void Controller::submit_planned(Submission submission, Result<PoolCurves> planned,
                                const std::function<void(SubmitAnswer)>& answer) {
  if (!post(SubmitItem{std::move(submission), answer, std::move(planned)}))
    answer(unavailable_submission("too many requests are waiting, or the server is stopping"));
}

void Controller::cancel(JobId job, std::function<void(CancelAnswer)> answer) {
  if (!post(CancelItem{job, answer})) answer({true, "the server is stopping or overloaded"});
}

void Controller::drain(NodeId node, std::function<void(NodeAnswer)> answer) {
  if (!post(NodeItem{node, true, answer})) answer({true, false, {}});
}

void Controller::undrain(NodeId node, std::function<void(NodeAnswer)> answer) {
  if (!post(NodeItem{node, false, answer})) answer({true, false, {}});
}

void Controller::dry_run(formats::JobDocument document,
                         std::function<void(Result<ShownDryRun>)> answer) {
  auto model = model_to_plan(document);
  plan_curves({std::move(model)}, [this, answer, document = std::move(document)](auto planned) {
    dry_run_planned(document, std::move(planned.front()), answer);
  });
}

void Controller::dry_run_planned(formats::JobDocument document, Result<PoolCurves> planned,
                                 const std::function<void(Result<ShownDryRun>)>& answer) {
  const auto busy = [](std::string why) {
    Diagnostics details;
    details.add({"", 0, "", std::move(why), "try again later"});
    return tl::unexpected<Error>(Error{ErrorCode::unavailable, std::move(details)});
  };
  const auto look = [this, answer, busy, document = std::move(document),
                     planned = std::move(planned)] {
    const auto plan = needed_plan(document, planned);
    if (!plan) return answer(tl::unexpected<Error>(plan.error()));
    auto spec =
        training_spec(document, core_->state().training, now_, *clock_, config_.margin_permille);
    if (!spec) return answer(tl::unexpected<Error>(std::move(spec.error())));
    std::optional<Curve> curve = document.throughput;
    if (runs_to_be_measured(document)) {
      *spec = spec_to_be_measured(std::move(*spec));
      curve = any_rate();
    }
    auto curves = curves_said(spec->curve, curve ? &*curve : nullptr, *plan);
    // The fork is made here and used there.
    auto fork = std::make_shared<schedule::State>(core_->fork_state());
    const bool is_accepted =
        dry_runs_.post([this, answer, fork, curves = std::move(curves), now = now_,
                        wall_ahead = clock_->wall_ahead(), spec = std::move(*spec)] {
          answer(ShownDryRun{control::dry_run(std::move(*fork), core_config(), now, spec, curves),
                             wall_ahead});
        });
    if (!is_accepted) answer(busy("too many dry runs are waiting"));
  };
  const auto refuse = [answer, busy] { answer(busy("the store cannot be written")); };
  const bool is_posted = post(LookItem{look, refuse});
  if (!is_posted) answer(busy("the server is stopping or overloaded"));
}

void Controller::nodes(std::function<void(std::vector<NodeUse>)> answer) {
  const auto look = [this, answer] {
    const schedule::TrainingState& training = core_->state().training;
    std::vector<NodeUse> all;
    std::unordered_map<NodeId, std::size_t> place;
    for (const Node& node : config_.cluster.nodes) {
      place.emplace(node.id, all.size());
      NodeUse use;
      use.name = node.name;
      use.pool = config_.cluster.pools[node.pool.value].name;
      use.gpus = node.gpu_count;
      if (node.gpu_count > 0) use.model = config_.cluster.models.name(node.model);
      if (const auto at = schedule::find_node(training, node.id))
        use.is_up = training.find_pool(at->pool)->is_up[at->node] != 0;
      all.push_back(std::move(use));
    }
    for (const schedule::PoolState& pool : training.pools) {
      for (const JobId id : pool.active) {
        for (const GpuAddress& gpu : addresses(pool.pool->id, training.job(id).block)) {
          auto& users = all[place.at(gpu.node)].users;
          if (users.empty() || users.back().job != id)
            users.push_back({id, training.job(id).spec->name, {}});
          users.back().gpus.push_back(gpu.gpu);
        }
      }
    }
    answer(std::move(all));
  };
  const auto refuse = [answer] { answer({}); };
  if (!post(LookItem{look, refuse})) refuse();
}

void Controller::backup(std::string file, std::function<void(Result<void>)> answer) {
  const auto look = [this, answer, file = std::move(file)] { answer(store_.backup(file)); };
  if (post(LookItem{look, look})) return;
  Diagnostics details;
  details.add({"", 0, "", "the server is stopping or overloaded", "try again later"});
  answer(tl::unexpected<Error>(Error{ErrorCode::unavailable, std::move(details)}));
}

void Controller::on_report(const RunReport& report) {
  post(report);
}

void Controller::on_commit(std::function<void(LogPosition)> callback) {
  const std::lock_guard lock{mutex_};
  on_commit_ = std::move(callback);
}

Health Controller::health() const {
  const std::lock_guard lock{mutex_};
  if (is_stopping_) return {false, "the server is stopping"};
  return {trouble_.empty(), trouble_.empty() ? supply_trouble_ : trouble_};
}

LogPosition Controller::log_end() const {
  const std::lock_guard lock{mutex_};
  return log_end_;
}

std::optional<NodeId> Controller::node_named(std::string_view name) const {
  for (const Node& node : config_.cluster.nodes) {
    if (node.name == name) return node.id;
  }
  return std::nullopt;
}

// ---- The loop

void Controller::run() {
  while (true) {
    std::vector<Item> items = wait_for_items();
    {
      const std::lock_guard lock{mutex_};
      if (is_stopping_ && items.empty() && inbox_.empty()) return;
    }
    if (!trouble_.empty()) {
      try_again();
      if (!trouble_.empty()) {
        begin_batch();
        const Error error{ErrorCode::unavailable, [&] {
                            Diagnostics details;
                            details.add({"", 0, "", trouble_, "try again later"});
                            return details;
                          }()};
        for (Item& item : items) {
          if (auto* submit = std::get_if<SubmitItem>(&item)) {
            submit->answer(unavailable_submission(trouble_));
          } else if (auto* cancel = std::get_if<CancelItem>(&item)) {
            cancel->answer({true, trouble_});
          } else if (auto* node = std::get_if<NodeItem>(&item)) {
            node->answer({true, false, {}});
          } else if (auto* tenants = std::get_if<TenantsItem>(&item)) {
            tenants->answer(tl::unexpected<Error>(error));
          } else if (auto* energy = std::get_if<EnergyItem>(&item)) {
            energy->answer(tl::unexpected<Error>(error));
          } else if (auto* supply = std::get_if<SupplyNews>(&item)) {
            supply_ = std::move(*supply);  // told when something can be stored again
          } else if (auto* report = std::get_if<RunReport>(&item)) {
            unprocessed_.push_back(*report);
          } else if (auto* look = std::get_if<LookItem>(&item)) {
            is_as_stored_ ? look->look() : look->refuse();
          } else if (std::holds_alternative<SnapshotItem>(item)) {
            snapshot_is_under_way_ = false;  // a later one will do
          }
        }
        continue;
      }
    }
    begin_batch();
    notice_clock();
    take_sample_if_due();
    if (std::exchange(is_new_, false)) {
      introduce();
      for (const schedule::PoolState& pool : core_->state().training.pools)
        pools_to_power_.insert(pool.pool->id);
      adopt_energy();
      resume_profiles();
    }
    // What was reported before anything here was asked for comes first.
    items.insert(items.begin(), unprocessed_.begin(), unprocessed_.end());
    unprocessed_.clear();
    for (Item& item : items) process(item);
    advance_profiles();
    tell_power_tables();
    decide_if_due();
    finish_batch(items);
  }
}

std::vector<Controller::Item> Controller::wait_for_items() {
  std::unique_lock lock{mutex_};
  Duration wait = kTick;
  const Time wake_up = needs_decision_ ? decide_after_ : core_->wake_up();
  const Time now = clock_->now();
  wait = wake_up <= now ? Duration{0} : std::min(wait, wake_up - now);
  if (!trouble_.empty()) wait = kTick;
  arrived_.wait_for(lock, wait, [&] { return is_stopping_ || !inbox_.empty(); });
  std::vector<Item> items;
  const std::size_t count = std::min(inbox_.size(), kMostAtOnce);
  items.reserve(count);
  std::move(inbox_.begin(), inbox_.begin() + static_cast<std::ptrdiff_t>(count),
            std::back_inserter(items));
  inbox_.erase(inbox_.begin(), inbox_.begin() + static_cast<std::ptrdiff_t>(count));
  return items;
}

void Controller::begin_batch() {
  batch_ = Batch{};
  answers_.clear();
  refusals_.clear();
  orders_.clear();
  over_.clear();
  clocks_set_.clear();
  to_read_.clear();
  changed_.clear();
  pointed_.clear();
  keys_.clear();
  now_ = std::max(now_, clock_->now());
}

// Promises keep the scheduler's time. The wall clock has another name for it from now on.
void Controller::notice_clock() {
  const auto step = clock_->take_step();
  if (!step) return;
  tell(ClockStepped{*step});
  for (auto& [id, job] : live_) {
    JobStatus& status = job.status;
    if (status.deadline_kind != DeadlineKind::none) status.deadline += *step;
    if (status.expected_start) *status.expected_start += *step;
    if (status.expected_finish) *status.expected_finish += *step;
    if (!std::exchange(job.is_changed, true)) changed_.push_back(id);
  }
  adopt_energy();
}

// What the configuration knows and the scheduler does not: curves, and what a change of GPUs costs,
// until that is measured.
void Controller::introduce() {
  const schedule::TrainingState& training = core_->state().training;
  const bool is_first = !training.pools.front().curves.contains(any_program());
  if (is_first && training.rescale_cost != config_.rescale_cost)
    tell(RescaleCostMeasured{config_.rescale_cost.base, config_.rescale_cost.per_doubling});
  std::vector<CurveUpdated> unknown;
  for (const schedule::PoolState& pool : core_->state().training.pools) {
    const PoolIndex id = pool.pool->id;
    const auto place = static_cast<std::size_t>(&pool - core_->state().training.pools.data());
    const auto is_known = [&](const CurveKey& key) { return pool.curves.contains(key); };
    if (!is_known(any_program())) unknown.push_back({id, any_program(), any_program_curve()});
    if (place >= config_.curves.size()) continue;
    for (const auto& [key, curve] : config_.curves[place].curves) {
      if (!is_known(key)) unknown.push_back({id, key, curve});
    }
  }
  for (CurveUpdated& curve : unknown) tell(std::move(curve));
}

void Controller::process(Item& item) {
  std::visit([&](auto& what) { process(what); }, item);
}

void Controller::process(SubmitItem& item) {
  const Submission& submission = item.submission;
  refusals_.push_back([answer = item.answer] {
    answer(unavailable_submission("the decision could not be stored"));
  });
  const auto reply = [&](SubmitAnswer answer) {
    answers_.push_back([to = item.answer, answer = std::move(answer)] { to(answer); });
  };
  if (!submission.key.empty()) {
    std::optional<StoreReader::UsedKey> used;
    if (const auto at = keys_.find(submission.key); at != keys_.end()) {
      // Used in this very batch; its digest stands with the new job.
      for (const NewJob& job : batch_.new_jobs) {
        if (job.job == at->second) used = StoreReader::UsedKey{job.job, job.request_digest};
      }
    } else if (!maybe_used_keys_[checksum_of(submission.key) % kKeyMarks]) {
      // Never seen.
    } else if (auto stored = reader_.find_key(submission.key)) {
      used = *stored;
    } else {
      return reply(unavailable_submission("the store cannot be read"));
    }
    if (used && used->request_digest != submission.digest) {
      SubmitAnswer answer;
      answer.kind = SubmitAnswer::Kind::key_reused;
      answer.errors.add({"", 0, "Idempotency-Key", submission.key,
                         fmt::format("a new key: this one belongs to job {}, which is another one",
                                     used->job.value)});
      return reply(std::move(answer));
    }
    if (used) {
      // Its view as it is when this batch is durable.
      answers_.push_back([this, to = item.answer, job = used->job] {
        SubmitAnswer answer;
        const auto view = reader_.job_view(job);
        if (view && *view) {
          answer.kind = SubmitAnswer::Kind::repeated;
          answer.view = **view;
        } else {
          answer = unavailable_submission("the store cannot be read");
        }
        to(std::move(answer));
      });
      return;
    }
  }
  auto spec = training_spec(submission.document, core_->state().training, now_, *clock_,
                            config_.margin_permille);
  const auto plan = needed_plan(submission.document, item.planned);
  if (!spec || !plan) {
    SubmitAnswer answer;
    answer.kind = SubmitAnswer::Kind::malformed;
    answer.errors = !plan ? plan.error().details : spec.error().details;
    return reply(std::move(answer));
  }
  learn_curve(submission.document, *plan);
  if (runs_to_be_measured(submission.document)) {
    *spec = spec_to_be_measured(std::move(*spec));
    tell_any_rate(spec->curve);
  }
  submitted_ = &submission;
  const JobId id = core_->state().next_job();
  tell(TrainingSubmitted{std::move(*spec)});
  submitted_ = nullptr;
  LiveJob* job = find(id);
  if (job != nullptr) begin_profile(id);
  if (job == nullptr) {
    SubmitAnswer answer;
    answer.kind = SubmitAnswer::Kind::malformed;
    answer.errors.add({"", 0, "job", "", "a job that the scheduler understands"});
    return reply(std::move(answer));
  }
  metrics_
      .counter("weir_submissions_total", "Jobs submitted, by answer.",
               {{"answer", std::string{answer_name(job->status)}}})
      .add();
  const bool is_refused = job->status.phase == ShownPhase::refused;
  SubmitAnswer answer;
  answer.kind = is_refused ? SubmitAnswer::Kind::refused : SubmitAnswer::Kind::accepted;
  answer.view = to_json(job->status);
  if (!submission.key.empty()) {
    keys_.emplace(submission.key, id);
    maybe_used_keys_[checksum_of(submission.key) % kKeyMarks] = true;
  }
  reply(std::move(answer));
}

void Controller::process(CancelItem& item) {
  if (find(item.job) != nullptr) tell(JobCancelled{item.job});
  answers_.push_back([answer = item.answer] { answer({}); });
  refusals_.push_back([answer = item.answer] {
    answer({true, "the decision could not be stored"});
  });
}

void Controller::process(NodeItem& item) {
  const std::vector<Record> records =
      item.is_drain ? tell(NodeDrained{item.node}) : tell(NodeReturned{item.node});
  NodeAnswer answer;
  for (const Record& record : records) {
    answer.changed = answer.changed || std::holds_alternative<PoolNodeClosed>(record.what) ||
                     std::holds_alternative<PoolNodeOpened>(record.what);
    if (const auto* risk = std::get_if<PromiseAtRisk>(&record.what))
      answer.at_risk.push_back(risk->job);
  }
  answers_.push_back([to = item.answer, answer] { to(answer); });
  refusals_.push_back([to = item.answer] { to({true, false, {}}); });
}

// Not told by a batch that fails: it would show what never happened.
void Controller::process(LookItem& item) {
  answers_.push_back(item.look);
}

void Controller::process(SnapshotItem& item) {
  snapshot_is_under_way_ = false;
  if (!store_.save_snapshot(item.entry, item.bytes))
    metrics_.counter("weir_snapshot_failures_total", "Snapshots that could not be stored.").add();
}

void Controller::process(RunReport& report) {
  LiveJob* job = find(report.job);
  if (job == nullptr) {
    // Cancelled, and now gone; or its end was stored and the engine had not heard of it yet.
    const bool is_gone = std::holds_alternative<RunStopped>(report.what) ||
                         std::holds_alternative<RunEnded>(report.what);
    if (is_gone) over_.push_back(report.job);
    return;
  }
  if (is_over(job->status.phase)) return;
  if (job->status.generation != report.generation) {
    // Late, unless the job had finished before it was asked to change.
    const auto* end = std::get_if<RunEnded>(&report.what);
    if (end == nullptr || !end->succeeded() || report.generation > job->status.generation) return;
    job->has_newer_run = true;
  }
  if (const auto* ready = std::get_if<RunReady>(&report.what)) {
    note_change(*job, ready->times);
    tell(RanksReady{report.job, report.generation});
  } else if (const auto* progress = std::get_if<RunProgress>(&report.what)) {
    handle_progress(*job, *progress);
  } else if (const auto* end = std::get_if<RunEnded>(&report.what)) {
    handle_end(*job, report, *end);
  }
}

// Not more often than every ten seconds, or hundredth of the work, or new curve.
void Controller::handle_progress(LiveJob& job, const RunProgress& progress) {
  if (job.status.iterations == 0) return;
  const std::int64_t done = std::clamp<std::int64_t>(progress.iterations, 0, job.status.iterations);
  job.heard = std::max(job.heard, done);
  const auto curve = measured_curve(job, progress);
  const bool is_news = (done - job.status.done) * 100 >= job.status.iterations ||
                       now_ - job.progress_at >= kProgressEvery || curve;
  if (!is_news) return;
  job.progress_at = now_;
  to_read_.push_back(job.status.job);
  if (const auto rate = job.rate.rate()) job.status.rate = *rate;
  if (progress.loss) job.status.loss = progress.loss;
  if (progress.batch.global_batch > 0) job.status.batch = progress.batch;
  // What it has done it did at the old rate: that comes first.
  tell(ProgressReported{job.status.job, work_of_iterations(done)});
  job.status.done = done;  // to the scheduler the last step is not over before the job has ended
  note_progress(job, progress);
  tell_measured(job, curve);
}

// Whether the job is started again after a run that did not end well; counts the attempt.
bool Controller::may_try_again(LiveJob& job, const RunEnded& end) const {
  JobStatus& status = job.status;
  if (end.kind == RunEndKind::not_started) return false;
  if (end.kind == RunEndKind::lost) {
    if (status.losses >= kMostLosses) return false;
    ++status.losses;
    return true;
  }
  if (end.asks_to_resume()) {
    const bool has_worked = job.heard > std::exchange(job.heard_at_resume, job.heard);
    job.resumes_for_nothing = has_worked ? 0 : job.resumes_for_nothing + 1;
    if (job.resumes_for_nothing < kMostResumesForNothing) {
      ++status.resumes;
      return true;
    }
  }
  if (status.restarts >= static_cast<std::uint32_t>(job.retries)) return false;
  ++status.restarts;
  return true;
}

void Controller::handle_end(LiveJob& job, const RunReport& report, const RunEnded& end) {
  job.status.exit = end.explanation;
  metrics_
      .counter("weir_runs_ended_total", "Runs of jobs that ended by themselves, by how.",
               {{"how", how_it_ended(end)}})
      .add();
  if (end.succeeded()) {
    tell(JobFinished{report.job});
  } else if (may_try_again(job, end)) {
    tell(RanksFailed{report.job, report.generation});
  } else {
    tell(JobFailed{report.job});
  }
}

void Controller::decide_if_due() {
  const bool is_due = needs_decision_ ? decide_after_ <= now_ : core_->wake_up() <= now_;
  if (!is_due) return;
  const auto start = Stopwatch::now();
  tell(TimerFired{});
  const double seconds = seconds_since(start);
  needs_decision_ = false;
  // Deciding may take a tenth of the loop's time, no more: with a long queue, submissions would wait for it.
  const auto pause = std::chrono::nanoseconds{static_cast<std::int64_t>(seconds * 9e9)};
  decide_after_ = now_ + std::max<Duration>(config_.least_pause, pause);
  metrics_.histogram("weir_allocation_seconds", "Time to decide who has which GPUs.")
      .observe(seconds);
}

void Controller::finish_batch(std::vector<Item>& items) {
  show_energy();
  for (const JobId id : changed_) {
    LiveJob& job = live_.at(id);
    job.is_changed = false;
    batch_.views.push_back(
        {id, std::string{to_string(job.status.phase)}, now_, to_json(job.status)});
  }
  add_points_to_batch();
  if (!batch_.decisions.empty() || !batch_.views.empty() || batch_.sample) {
    batch_.clock = clock_->mark();
    const auto start = Stopwatch::now();
    if (auto committed = store_.commit(batch_); !committed)
      return give_up_batch(committed.error(), items);
    metrics_.histogram("weir_commit_seconds", "Time to make a batch of decisions durable.")
        .observe(seconds_since(start));
    metrics_.counter("weir_entries_total", "Events that were decided and stored.")
        .add(batch_.decisions.size());
  }
  for (const JobId id : changed_) {
    if (!is_over(live_.at(id).status.phase)) continue;
    forget_model(id);
    live_.erase(id);
  }
  std::function<void(LogPosition)> callback;
  {
    // Whoever is answered finds the log as it is now.
    const std::lock_guard lock{mutex_};
    callback = on_commit_;
    log_end_ = store_.end();
  }
  for (const RunOrder& order : orders_) engine_.order(order);
  keep_gpus();
  for (const JobId id : over_) engine_.forget(id);
  for (const auto& answer : answers_) answer();
  if (callback && !batch_.decisions.empty()) callback(store_.end());
  metrics_.gauge("weir_gpus_in_use", "GPUs that jobs have.").set(static_cast<double>(gpus_in_use_));
  metrics_.gauge("weir_jobs_live", "Jobs that are not over.")
      .set(static_cast<double>(live_.size()));
  measure_energy();
  take_snapshot_if_due();
  if (now_ >= forget_at_) forget_old();
}

// Nothing of the batch has happened. Reports of the engine are kept for later: it would tell them again
// only after a restart.
void Controller::give_up_batch(const Error& error, std::vector<Item>& items) {
  {
    const std::lock_guard lock{mutex_};
    trouble_ = to_string(error.details);
  }
  metrics_.counter("weir_commit_failures_total", "Batches that could not be stored.").add();
  is_as_stored_ = false;
  {
    const std::lock_guard lock{mutex_};
    for (auto item = items.rbegin(); item != items.rend(); ++item) {
      if (std::holds_alternative<LookItem>(*item)) inbox_.push_front(std::move(*item));
    }
  }
  for (Item& item : items) {
    if (auto* report = std::get_if<RunReport>(&item)) unprocessed_.push_back(std::move(*report));
  }
  for (const auto& refusal : refusals_) refusal();
}

// Builds the core again from what is stored and sees whether the store can be written.
void Controller::try_again() {
  if (auto recovered = recover(*clocks_); !recovered) {
    const std::lock_guard lock{mutex_};
    trouble_ = to_string(recovered.error().details);
    return;
  }
  Batch probe;
  probe.clock = clock_->mark();
  const auto committed = store_.commit(probe);
  const std::lock_guard lock{mutex_};
  trouble_ = committed ? std::string{} : to_string(committed.error().details);
}

void Controller::take_snapshot_if_due() {
  const LogPosition end = store_.end();
  if (snapshot_is_under_way_ || end.record < snapshot_at_.record + config_.snapshot_every) return;
  auto fork = std::make_shared<schedule::State>(core_->fork_state());
  snapshot_at_ = end;
  snapshot_is_under_way_ = snapshots_.post([this, fork, entry = end.entry] {
    std::string bytes = write_snapshot(*fork);
    post(SnapshotItem{entry, std::move(bytes)});
  });
}

void Controller::forget_old() {
  const auto gone = store_.forget_before(now_ - config_.keep_history, kMostForgotten);
  if (gone && !gone->empty()) engine_.remove_logs(*gone);
  const bool is_more = gone && gone->size() >= kMostForgotten;
  forget_at_ = now_ + (is_more ? kTick : kForgetEvery);
}

// ---- Events in, records out

std::vector<Record> Controller::tell(decltype(Event::what) what) {
  const Event event{now_, std::move(what)};
  const bool is_timer = std::holds_alternative<TimerFired>(event.what);
  const bool is_report = std::holds_alternative<ProgressReported>(event.what) ||
                         std::holds_alternative<RanksReady>(event.what);
  std::vector<Record> records = core_->handle(event);
  for (const Record& record : records) {
    obey(record);
    const bool asks_for_more = is_report ? std::holds_alternative<TimelineRevised>(record.what)
                                         : !std::holds_alternative<EventIgnored>(record.what);
    needs_decision_ = needs_decision_ || (!is_timer && asks_for_more);
  }
  // An event that nothing follows from leaves no trace: the state is as it was.
  if (!records.empty()) batch_.decisions.push_back({event, records});
  return records;
}

Controller::LiveJob* Controller::find(JobId job) {
  const auto at = live_.find(job);
  return at == live_.end() ? nullptr : &at->second;
}

void Controller::obey(const Record& record) {
  if (const auto* adopted = std::get_if<CurveAdopted>(&record.what)) {
    show_speeds(*adopted);
    pools_to_power_.insert(adopted->pool);
  }
  const auto id = job_of(record);
  if (!id) return;
  if (const auto* accepted = std::get_if<TrainingAccepted>(&record.what)) {
    LiveJob job;
    job.launch = launch_of(submitted_->document);
    job.retries = submitted_->document.retries;
    job.curve = submitted_->document.curve;
    if (submitted_->document.is_to_be_profiled)
      job.to_profile = std::make_shared<const formats::JobDocument>(submitted_->document);
    job.is_stated = submitted_->document.throughput.has_value();
    job.progress_at = now_;
    job.is_planned_on_a_guess =
        is_not_measured_yet(accepted->spec->curve) || is_profile(accepted->spec->curve);
    job.status.tenant = submitted_->document.tenant;
    if (submitted_->document.is_training) job.status.iterations = accepted->spec->iterations;
    job.points = 0;
    asked_sizes_.add(submitted_->document.gpus, largest_block());
    live_.emplace(*id, std::move(job));
    note_model(*id, submitted_->document);
    batch_.new_jobs.push_back(
        {*id, accepted->spec->name, submitted_->json, submitted_->key, submitted_->digest});
  }
  LiveJob* job = find(*id);
  if (job == nullptr) return;
  const std::uint32_t had = job->status.gpus;
  const bool was_over = is_over(job->status.phase);
  count_open(job->status, -1);
  follow(job->status, record, core_->state().training.job(*id).pool, Context{*this});
  show_curve(*job, record);
  if (job->is_planned_on_a_guess) {
    job->status.expected_start.reset();
    job->status.expected_finish.reset();
  }
  gpus_in_use_ += std::int64_t{job->status.gpus} - had;
  count_open(job->status, 1);
  if (job->status.gpus != had) note_change_of_gpus(*job);
  if (!was_over && is_over(job->status.phase)) count_promise(batch_.promises, job->status);
  if (!std::exchange(job->is_changed, true)) changed_.push_back(*id);
  if (const auto* resized = std::get_if<JobResized>(&record.what)) {
    orders_.push_back(order_for(*job, *id, resized->generation, resized->block));
  } else if (const auto* clock = std::get_if<ClockSet>(&record.what)) {
    clocks_set_.emplace_back(*id, clock->clock_permille);
  } else if (std::holds_alternative<PromiseMade>(record.what)) {
    metrics_.counter("weir_promises_total", "Deadlines promised.").add();
  } else if (std::holds_alternative<PromiseAtRisk>(record.what)) {
    metrics_.counter("weir_promises_at_risk_total", "Promises that were announced at risk.").add();
  } else if (std::holds_alternative<JobReleased>(record.what)) {
    if (job->status.phase == ShownPhase::cancelled || job->has_newer_run) {
      orders_.push_back(order_for(*job, *id, job->status.generation + 1, kNoGpus));
    } else {
      over_.push_back(*id);
    }
    if (job->status.is_promised && job->status.phase == ShownPhase::finished) {
      const bool is_met = *job->status.ended <= job->status.deadline;
      metrics_
          .counter("weir_promises_ended_total", "Promised jobs that finished, by whether in time.",
                   {{"met", is_met ? "true" : "false"}})
          .add();
    }
  }
}

std::vector<GpuAddress> Controller::addresses(PoolIndex pool, GpuBlock block) const {
  std::vector<GpuAddress> gpus;
  const schedule::PoolState* state = core_->state().training.find_pool(pool);
  for (std::uint32_t slot = block.first; state != nullptr && slot < block.end(); ++slot) {
    gpus.push_back({state->pool->nodes[state->pool->node_of(slot)],
                    static_cast<std::int32_t>(slot % state->pool->stride)});
  }
  return gpus;
}

RunOrder Controller::order_for(const LiveJob& job, JobId id, std::uint32_t generation,
                               GpuBlock block) const {
  const PoolIndex pool = core_->state().training.job(id).pool;
  return {id, generation, addresses(pool, block), job.launch,
          job.status.restarts + job.status.losses + job.status.resumes};
}

}  // namespace weir::control
