// SPDX-License-Identifier: Apache-2.0
//
// What the loop tells of itself for charts: the cluster's figures, now and over time, and how jobs go
// on. Nothing is decided here, and nothing of it is in the log.
#include <algorithm>
#include <cmath>

#include "control/controller.h"

namespace weir::control {
namespace {

// Counting anew takes a look at every job that runs.
constexpr Duration kFragmentedEvery = std::chrono::seconds{1};

std::int64_t jobs_in(const StoreTotals& totals, ShownPhase phase) {
  const auto at = totals.by_phase.find(std::string{to_string(phase)});
  return at == totals.by_phase.end() ? 0 : at->second;
}

std::int64_t gpus_up(const schedule::TrainingState& training) {
  std::int64_t sum = 0;
  for (const schedule::PoolState& pool : training.pools) {
    for (std::size_t node = 0; node < pool.is_up.size(); ++node)
      sum += pool.is_up[node] != 0 ? pool.pool->gpus[node] : 0;
  }
  return sum;
}

}  // namespace

void Controller::overview(std::function<void(std::optional<Overview>)> answer) {
  const auto look = [this, answer] {
    Overview shown;
    shown.at = clocks_->wall();
    shown.gpus = config_.cluster.gpu_count();
    shown.nodes = static_cast<std::int64_t>(config_.cluster.nodes.size());
    shown.figures = figures();
    shown.phases = store_.totals().by_phase;
    answer(std::move(shown));
  };
  const auto refuse = [answer] { answer(std::nullopt); };
  if (!post(LookItem{look, refuse})) refuse();
}

// Requires: the core is as stored.
ClusterFigures Controller::figures() {
  const StoreTotals totals = store_.totals();
  ClusterFigures made;
  made.gpus_up = static_cast<double>(gpus_up(core_->state().training));
  made.gpus_in_use = static_cast<double>(gpus_in_use_);
  made.gpus_fragmented = gpus_fragmented();
  made.running = static_cast<double>(jobs_in(totals, ShownPhase::running));
  made.waiting = static_cast<double>(jobs_in(totals, ShownPhase::waiting) +
                                     jobs_in(totals, ShownPhase::queued) +
                                     jobs_in(totals, ShownPhase::paused));
  made.open = static_cast<double>(promises_open_);
  made.at_risk = static_cast<double>(promises_at_risk_);
  made.promises = totals.promises;
  return made;
}

double Controller::gpus_fragmented() {
  if (!fragmented_at_ || now_ - *fragmented_at_ >= kFragmentedEvery) {
    fragmented_at_ = now_;
    fragmented_ = fragmented_gpus(core_->state().training, asked_sizes_);
  }
  return fragmented_;
}

// Before anything is decided in the batch: what is shown is stored. In the step in which it starts, or
// can write again, the server does not know enough.
void Controller::take_sample_if_due() {
  const Time wall = clock_->to_wall(now_);
  const std::int64_t step = beginning_of_step(
      wall, std::chrono::duration_cast<std::chrono::seconds>(kSampleEvery).count());
  if (!sampled_step_) sampled_step_ = step;
  if (std::exchange(*sampled_step_, step) == step) return;
  batch_.sample = ClusterSample{wall, figures(), config_.keep_history};
}

// The sizes that were asked for before this start.
void Controller::restore_asked_sizes() {
  asked_sizes_ = {};
  const std::uint64_t jobs = core_->state().training.jobs.size();
  for (std::uint64_t id = jobs - std::min<std::uint64_t>(jobs, AskedSizes::kJobs) + 1; id <= jobs;
       ++id) {
    const auto document = reader_.job_document(JobId{id});
    if (!document || !*document) continue;
    if (const auto job = formats::read_job_json(**document, "store"))
      asked_sizes_.add(job->gpus, largest_block());
  }
}

std::uint32_t Controller::largest_block() const {
  std::uint32_t largest = 1;
  for (const schedule::PoolState& pool : core_->state().training.pools)
    largest = std::max(largest, pool.pool->largest_block);
  return largest;
}

void Controller::count_open(const JobStatus& status, std::int64_t by) {
  if (!status.is_promised || is_over(status.phase)) return;
  promises_open_ += by;
  if (status.is_at_risk) promises_at_risk_ += by;
}

// The point of the batch at hand; what it shows beside rate and loss is known at its end.
ProgressPoint& Controller::point_of(LiveJob& job) {
  if (!job.point) {
    job.point.emplace();
    pointed_.push_back(job.status.job);
  }
  return *job.point;
}

void Controller::note_progress(LiveJob& job, const RunProgress& progress) {
  ProgressPoint& point = point_of(job);
  if (const auto rate = job.rate.rate()) point.rate = static_cast<double>(rate->value) / 1e6;
  if (progress.loss && std::isfinite(*progress.loss)) point.loss = progress.loss;
}

void Controller::note_change_of_gpus(LiveJob& job) {
  point_of(job).rate.reset();
}

void Controller::add_points_to_batch() {
  for (const JobId id : pointed_) {
    LiveJob& job = live_.at(id);
    ProgressPoint point = *std::exchange(job.point, std::nullopt);
    point.job = id;
    point.at = now_;
    point.gpus = job.status.gpus;
    point.done = job.status.done;
    batch_.progress.push_back(point);
    if (!job.points) {
      if (const auto count = reader_.count_progress(id)) job.points = *count;
    }
    if (!job.points || ++*job.points <= kMostProgressPoints) continue;
    batch_.to_thin_out.push_back(id);
    job.points.reset();
  }
  pointed_.clear();
}

}  // namespace weir::control
