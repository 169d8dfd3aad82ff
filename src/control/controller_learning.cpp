// SPDX-License-Identifier: Apache-2.0
//
// What the loop learns from life, and what users say of their jobs: curves.
#include <fmt/format.h>

#include "control/controller.h"
#include "control/measured_rates.h"

namespace weir::control {
namespace {

const Curve* find_curve(const schedule::PoolState& pool, const CurveKey& key) {
  const auto known = pool.curves.find(key);
  return known == pool.curves.end() ? nullptr : known->second.get();
}

}  // namespace

// What is known of `key` in each pool once a job has said so; nothing where it says nothing.
std::vector<CurveUpdated> Controller::curves_said(const CurveKey& key, const Curve* stated,
                                                  const PoolCurves& planned) const {
  std::vector<CurveUpdated> news;
  for (const schedule::PoolState& pool : core_->state().training.pools) {
    const Curve* known = find_curve(pool, key);
    const PoolIndex id = pool.pool->id;
    if (stated != nullptr) news.push_back({id, key, curve_when_stated(known, *stated)});
    for (const auto& [where, curve] : planned) {
      if (where == id) news.push_back({id, key, curve_when_planned(known, curve)});
    }
  }
  return news;
}

void Controller::note_model(JobId job, const formats::JobDocument& document) {
  if (document.planned) models_[document.curve].emplace(job, *document.planned);
}

void Controller::forget_model(JobId job) {
  const auto models = models_.find(live_.at(job).curve);
  if (models == models_.end()) return;
  models->second.erase(job);
  if (models->second.empty()) models_.erase(models);
}

// A curve belongs to a name and a batch: under one name, a second model would change the plans of jobs with the first,
// or be promised what the first was measured with. Live jobs are asked, also after a restart; the first will do, as
// all others had to be like it. Limits: what a model was measured with outlives its jobs, and nobody remembers whose
// dimensions these were. A user who changes a model that ran has to rename it.
std::optional<JobId> Controller::owner_of_name(const formats::JobDocument& document) const {
  const auto models = models_.find(document.curve);
  if (!document.planned || models == models_.end()) return std::nullopt;
  for (const auto& [id, model] : models->second) {
    if (is_over(live_.at(id).status.phase)) continue;
    return model == *document.planned ? std::nullopt : std::optional{id};
  }
  return std::nullopt;
}

// A model that was measured needs no plan: its GPUs may be of a type that nobody describes any more.
Result<PoolCurves> Controller::needed_plan(const formats::JobDocument& document,
                                           const Result<PoolCurves>& planned) const {
  if (const auto owner = owner_of_name(document)) {
    return bad_input(Diagnostic{
        "", 0, "model.name", document.curve.model,
        fmt::format("another name: job {} has this one with batch {}, and its model is another "
                    "one (other dimensions, sequence or gpu)",
                    owner->value, document.curve.global_batch)});
  }
  if (planned || planned.error().code != ErrorCode::bad_input) return planned;
  for (const schedule::PoolState& pool : core_->state().training.pools) {
    const Curve* known = find_curve(pool, document.curve);
    if (known == nullptr || known->origin() != CurveOrigin::measured) continue;
    if (!document.is_rigid || known->rate_at(document.gpus).value > 0) return PoolCurves{};
  }
  return planned;
}

void Controller::learn_curve(const formats::JobDocument& document, const PoolCurves& planned) {
  if (!document.is_training) return;
  const Curve* stated = document.throughput ? &*document.throughput : nullptr;
  for (CurveUpdated& curve : curves_said(document.curve, stated, planned)) {
    const Curve* known = find_curve(*core_->state().training.find_pool(curve.pool), document.curve);
    if (known == nullptr || *known != curve.curve) tell(std::move(curve));
  }
}

// A new curve, if this report says that the known one is not what the job does.
std::optional<Curve> Controller::measured_curve(LiveJob& job, const RunProgress& progress) {
  const schedule::TrainingJob& known = core_->state().training.job(job.status.job);
  if (known.spec == nullptr || job.status.gpus == 0) return std::nullopt;
  if (std::exchange(job.rate_of, job.status.generation) != job.status.generation) job.rate = {};
  // What a profile tells counts when all its sizes were seen.
  if (!job.rate.hear(progress) || is_profile(known.spec->curve)) return std::nullopt;
  return measured_.hear({gpu_of(known.pool), job.curve}, static_cast<std::int32_t>(job.status.gpus),
                        job.rate, find_curve(core_->state().training.pool_of(known), job.curve),
                        now_);
}

// The curve that the answer rests on: the one known when it is given.
void Controller::show_curve(LiveJob& job, const Record& record) {
  const bool is_answer = std::holds_alternative<TrainingAccepted>(record.what) ||
                         std::holds_alternative<PromiseMade>(record.what) ||
                         std::holds_alternative<PlannedProvisionally>(record.what) ||
                         std::holds_alternative<JobUnpromised>(record.what) ||
                         std::holds_alternative<PromiseRefused>(record.what);
  if (!is_answer || job.status.curve || job.status.iterations == 0) return;
  const schedule::TrainingState& training = core_->state().training;
  const schedule::PoolState* pool = training.find_pool(training.job(job.status.job).pool);
  const Curve* curve = pool == nullptr ? nullptr : find_curve(*pool, job.curve);
  if (curve == nullptr) return;
  const bool is_its_own = job.is_stated && curve->origin() == CurveOrigin::assumed;
  job.status.curve = ShownCurve{is_its_own ? "stated" : std::string{to_string(curve->origin())},
                                {curve->measured().begin(), curve->measured().end()},
                                {}};
  if (curve->origin() == CurveOrigin::measured)
    job.status.curve->measured_on = measured_.sizes({gpu_of(pool->pool->id), job.curve});
}

void Controller::note_change(LiveJob& job, const ChangeTimes& times) {
  if (times == ChangeTimes{}) return;  // nobody told
  job.status.last_change = times;
  if (!std::exchange(job.is_changed, true)) changed_.push_back(job.status.job);
  const auto observe = [&](const char* part, Duration time) {
    if (time == Duration{0}) return;
    metrics_
        .histogram("weir_change_seconds", "Time that changes of GPUs and starts took, by part.",
                   {{"part", part}, {"warm", times.is_warm ? "true" : "false"}})
        .observe(to_seconds(time));
  };
  observe("announce", times.announce);
  observe("save", times.save);
  observe("stop", times.stop);
  observe("wait", times.wait);
  observe("start", times.start);
  observe("import", times.import);
  observe("load", times.load);
  observe("step", times.step);
  // Of others nobody knows when they began to work.
  if (job.status.iterations == 0 || !tells_progress(*job.launch)) return;
  if (const auto cost =
          changes_.hear(job.status.gpus, times.lost(), core_->state().training.rescale_cost))
    tell(RescaleCostMeasured{cost->base, cost->per_doubling});
}

// A job that was run to be measured was planned with any rate; now it has its own.
void Controller::tell_measured(const LiveJob& job, const std::optional<Curve>& curve) {
  const schedule::TrainingState& training = core_->state().training;
  const schedule::TrainingJob& known = training.job(job.status.job);
  if (known.spec == nullptr || !job.rate.rate()) return;
  const PoolIndex pool = known.pool;
  const CurveKey key = known.spec->curve;
  const Curve* before = find_curve(training.pool_of(known), key);
  const bool has_any_rate =
      is_not_measured_yet(key) && before != nullptr && before->origin() != CurveOrigin::measured;
  if (has_any_rate) {
    const std::vector<CurvePoint> seen{
        {static_cast<std::int32_t>(job.status.gpus), *job.rate.rate()}};
    tell_like_pools(pool, key, merged(*before, seen));
  }
  if (curve) tell_like_pools(pool, job.curve, *curve);
}

GpuModelId Controller::gpu_of(PoolIndex pool) const {
  for (const Node& node : config_.cluster.nodes) {
    if (node.pool == pool && node.gpu_count > 0) return node.model;
  }
  return kNoGpuModel;
}

// What was learnt on a kind of GPU holds wherever there are such.
void Controller::tell_like_pools(PoolIndex pool, const CurveKey& key, const Curve& curve) {
  std::vector<PoolIndex> alike;
  for (const schedule::PoolState& other : core_->state().training.pools) {
    if (gpu_of(other.pool->id) == gpu_of(pool)) alike.push_back(other.pool->id);
  }
  for (const PoolIndex other : alike) tell(CurveUpdated{other, key, curve});
}

// How fast jobs are is a share of their curve, which is another one now.
void Controller::show_speeds(const CurveAdopted& adopted) {
  const schedule::TrainingState& training = core_->state().training;
  for (const JobId id : training.find_pool(adopted.pool)->active) {
    LiveJob* job = find(id);
    if (job == nullptr || training.job(id).spec->curve != adopted.key) continue;
    job->status.speed_permille = training.job(id).speed_permille;
    if (!std::exchange(job->is_changed, true)) changed_.push_back(id);
  }
}

}  // namespace weir::control
