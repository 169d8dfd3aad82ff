// SPDX-License-Identifier: Apache-2.0
//
// Jobs of which nobody knows how fast they are: those that ask for it are measured first, and those
// that can wait for ever run on the GPUs they ask for, to be measured there.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "control/controller.h"
#include "control/profiling.h"

namespace weir::control {
namespace {

bool is_known(const schedule::TrainingState& training, const CurveKey& key) {
  return std::any_of(training.pools.begin(), training.pools.end(),
                     [&](const schedule::PoolState& pool) { return pool.curves.contains(key); });
}

// Null: the run is gone.
std::string why_nothing_was_told(const JobStatus* run) {
  if (run != nullptr && run->phase == ShownPhase::finished)
    return "the run was done before it had told enough";
  return run == nullptr || run->exit.empty() ? "the run was cancelled" : run->exit;
}

}  // namespace

// Without a deadline, a job need not wait until somebody knows how fast it is, if it will tell: it runs
// on the GPUs it asks for.
bool Controller::runs_to_be_measured(const formats::JobDocument& document) const {
  return document.is_training && document.kind == DeadlineKind::none &&
         !document.is_to_be_profiled && !document.throughput && !document.planned &&
         tells_progress(document.launch) && !is_known(core_->state().training, document.curve);
}

TrainingSpec Controller::spec_to_be_measured(TrainingSpec spec) const {
  const std::int32_t most = std::min(spec.asked_gpus, static_cast<std::int32_t>(largest_block()));
  spec.curve = not_measured_yet(spec.curve);
  spec.asked_gpus =
      static_cast<std::int32_t>(std::bit_floor(static_cast<std::uint32_t>(std::max(1, most))));
  spec.is_rigid = true;
  return spec;
}

void Controller::tell_any_rate(const CurveKey& key) {
  std::vector<PoolIndex> pools;
  for (const schedule::PoolState& pool : core_->state().training.pools) {
    if (!pool.curves.contains(key)) pools.push_back(pool.pool->id);
  }
  for (const PoolIndex pool : pools) tell(CurveUpdated{pool, key, any_rate()});
}

// After a start: measuring begins anew, and what was under way for it is of no use any more.
void Controller::resume_profiles() {
  profiles_.clear();
  std::vector<JobId> orphans;
  for (const auto& [id, job] : live_) {
    const schedule::TrainingJob& known = core_->state().training.job(id);
    if (known.spec != nullptr && is_profile(known.spec->curve)) orphans.push_back(id);
  }
  std::sort(orphans.begin(), orphans.end());
  for (const JobId id : orphans) tell(JobCancelled{id});
  begin_profiles();
}

// For every job that waits to be measured, unless another of the same kind is being measured.
void Controller::begin_profiles() {
  std::vector<JobId> waiting;
  for (const auto& [id, job] : live_) {
    if (job.to_profile != nullptr && job.status.phase == ShownPhase::waiting) waiting.push_back(id);
  }
  std::sort(waiting.begin(), waiting.end());
  for (const JobId id : waiting) begin_profile(id);
}

void Controller::begin_profile(JobId id) {
  LiveJob& job = live_.at(id);
  if (job.to_profile == nullptr || job.status.phase != ShownPhase::waiting) return;
  job.status.is_being_profiled = true;
  if (!std::exchange(job.is_changed, true)) changed_.push_back(id);
  for (const auto& [other, profile] : profiles_) {
    const LiveJob* measured = find(other);
    if (other == id || (measured != nullptr && measured->curve == job.curve)) return;
  }
  profiles_.emplace(
      id,
      Profile{
          pass_for(*job.to_profile, static_cast<std::int32_t>(largest_block())), {}, {}, {}, {}});
}

// Whoever is measured goes on to the next size, or is answered.
void Controller::advance_profiles() {
  if (profiles_.empty()) return;
  std::vector<JobId> parents;
  for (const auto& [id, profile] : profiles_) parents.push_back(id);
  bool is_any_over = false;
  for (const JobId id : parents) {
    const LiveJob* parent = find(id);
    const bool is_wanted = parent != nullptr && parent->status.phase == ShownPhase::waiting;
    if (is_wanted && advance(id, profiles_.at(id))) continue;
    if (const auto run = profiles_.at(id).run) tell(JobCancelled{*run});
    profiles_.erase(id);
    is_any_over = true;
  }
  if (is_any_over) begin_profiles();
}

// False when it is over.
bool Controller::advance(JobId parent, Profile& profile) {
  if (profile.run) {
    if (!has_ended(profile)) return true;
    profile.run.reset();
  }
  if (!profile.pass.is_over()) {
    profile.run = start_profile_run(parent, profile.pass.size());
    return true;
  }
  LiveJob& job = live_.at(parent);
  if (!profile.pass.points().empty()) {
    tell_like_pools(profile.pool, job.curve, Curve{profile.pass.points(), CurveOrigin::profiled});
    return false;
  }
  job.status.exit = fmt::format("it could not be measured on {} GPU{}: {}", profile.pass.size(),
                                profile.pass.size() == 1 ? "" : "s", profile.why);
  tell(JobFailed{parent});
  return false;
}

// Whether the run at hand has told enough, or will tell no more.
bool Controller::has_ended(Profile& profile) {
  const JobId id = *profile.run;
  const LiveJob* run = find(id);
  if (run == nullptr || is_over(run->status.phase)) {
    profile.why = why_nothing_was_told(run == nullptr ? nullptr : &run->status);
    profile.pass.failed();
    return true;
  }
  if (run->status.gpus == 0) {
    profile.running_since.reset();
    return false;
  }
  if (!profile.running_since) profile.running_since = now_;
  if (const auto rate = run->rate.rate()) {
    profile.pool = core_->state().training.job(id).pool;
    profile.pass.measured(*rate);
  } else if (now_ - *profile.running_since >= kLongestProfileRun) {
    profile.why = "the run told of too few steps in 10m";
    profile.pass.failed();
  } else {
    return false;
  }
  profile.running_since.reset();
  tell(JobCancelled{id});
  return true;
}

JobId Controller::start_profile_run(JobId parent, std::int32_t gpus) {
  Submission submission;
  submission.document = profile_run(*live_.at(parent).to_profile, gpus);
  submission.json = formats::write_job_json(submission.document);
  TrainingSpec spec;
  spec.name = submission.document.name;
  spec.curve = profile_of(submission.document.curve);
  spec.iterations = submission.document.iterations;
  spec.asked_gpus = gpus;
  spec.is_rigid = true;
  tell_any_rate(spec.curve);
  const JobId id = core_->state().next_job();
  submitted_ = &submission;
  tell(TrainingSubmitted{std::move(spec)});
  submitted_ = nullptr;
  return id;
}

}  // namespace weir::control
