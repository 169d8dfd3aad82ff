// SPDX-License-Identifier: Apache-2.0
#include "simulate/modelled_engine.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace weir::simulate {

void ModelledEngine::add(JobId job, const Curve& curve, Work work, std::int64_t speed_permille,
                         bool in_one_piece) {
  if (runs_.size() <= job.value) runs_.resize(job.value + 1);
  Run& run = runs_[job.value];
  run.curve = curve;
  run.all = run.left = work;
  run.speed_permille = speed_permille;
  run.in_one_piece = in_one_piece;
}

void ModelledEngine::advance(Run& run, Time now) {
  gpu_time_ += static_cast<WideInteger>(run.block.size) * (now - run.since).count();
  const Time from = std::max(run.since, run.ready);
  if (!run.block.is_none() && now > from) {
    const Work done = run.rate * (now - from);
    run.left = done < run.left ? run.left - done : Work{};
    if (run.network_millionths != kAllMillionths)
      run.lost_to_network += Duration{
          static_cast<std::int64_t>(static_cast<WideInteger>((now - from).count()) *
                                    (kAllMillionths - run.network_millionths) / kAllMillionths)};
  }
  run.since = now;
}

void ModelledEngine::fall_back(Time now, JobId job) {
  Run& run = runs_[job.value];
  const Work before = run.left;
  const Time from = std::max(run.since, run.ready);
  const bool has_run = !run.block.is_none() && now > from;
  advance(run, now);
  if (!has_run || checkpoint_every_ <= Duration{0}) return;
  const Duration saved = (now - from) / checkpoint_every_ * checkpoint_every_;
  const Work done = run.rate * saved;
  run.left = done < before ? before - done : Work{};
}

void ModelledEngine::resize(Time now, PoolIndex pool, const JobResized& change) {
  Run& run = runs_[change.job.value];
  advance(run, now);
  if (run.in_one_piece) run.left = run.all;
  run.block = change.block;
  run.generation = change.generation;
  if (change.block.is_none()) return;
  ++rescales_;
  ++run.rescales;
  const auto level = static_cast<std::uint64_t>(std::bit_width(change.block.size));
  const std::uint64_t group = std::uint64_t{pool.value} << 48 | level << 32 | change.block.first;
  const bool is_known = !known_groups_.insert(group).second;
  run.ready = now + (is_known ? cost_.known(change.block.size) : cost_.full(change.block.size));
  run.clocked_millionths = kAllMillionths;
  run.network_millionths = kAllMillionths;
  run.will_report = false;
  queue_.push({run.ready, change.job, false, run.generation});
  set_pace(now, change.job, run);
  plan_report(change.job, run, run.ready);
}

void ModelledEngine::set_clock(Time now, const ClockSet& change) {
  Run& run = runs_[change.job.value];
  advance(run, now);
  run.clocked_millionths = change.rate_millionths;
  if (!run.block.is_none()) set_pace(now, change.job, run);
}

void ModelledEngine::set_network(Time now, JobId job, std::int64_t millionths) {
  Run& run = runs_[job.value];
  if (run.is_over || run.block.is_none() || run.network_millionths == millionths) return;
  advance(run, now);
  run.network_millionths = millionths;
  set_pace(now, job, run);
  if (!run.will_report) plan_report(job, run, std::max(now, run.ready));
}

void ModelledEngine::pause(Time now, JobId job, Duration time) {
  Run& run = runs_[job.value];
  if (run.is_over || run.block.is_none()) return;
  advance(run, now);
  run.ready = std::max(now, run.ready) + time;
  run.lost_to_network += time;
  set_pace(now, job, run);
}

// From now on, or from when its ranks are ready.
void ModelledEngine::set_pace(Time now, JobId job, Run& run) {
  const IterationRate full = run.curve.rate_at(static_cast<std::int32_t>(run.block.size));
  run.rate = IterationRate{clocked(full, run.clocked_millionths).value * run.speed_permille / 1000};
  if (run.network_millionths != kAllMillionths)
    run.rate = clocked(run.rate, run.network_millionths);
  ++run.pace;
  if (run.rate.value <= 0) return;
  const Time end = std::max(now, run.ready) + time_for(run.left, run.rate);
  queue_.push({end, job, true, run.generation, false, run.pace});
}

void ModelledEngine::plan_report(JobId job, Run& run, Time after) {
  if (run.speed_permille == 1000 && run.network_millionths == kAllMillionths) return;
  constexpr Duration kAtLeast = from_seconds(10);
  constexpr Duration kAtTheEnd = from_seconds(1);
  const std::int64_t full =
      clocked(run.curve.rate_at(static_cast<std::int32_t>(run.block.size)), run.clocked_millionths)
          .value;
  if (full <= 0) return;
  const IterationRate drift{std::max<std::int64_t>(1, std::abs(full - run.rate.value))};
  const Work hundredth{run.all.femto_iterations / 100};
  const Work worth_telling = std::min(hundredth, run.rate * kAtLeast);
  const Duration until_half = time_for(run.all - done_at(job, after), IterationRate{full}) / 2;
  const Duration until_next =
      std::min(std::max(kAtLeast, time_for(worth_telling, drift)), std::max(kAtTheEnd, until_half));
  queue_.push({after + until_next, job, false, run.generation, true});
  run.will_report = true;
}

bool ModelledEngine::is_current(const Happening& happening) const {
  const Run& run = runs_[happening.job.value];
  return !run.is_over && run.generation == happening.generation &&
         (!happening.is_finish || run.pace == happening.pace);
}

Time ModelledEngine::next_at() {
  while (!queue_.empty() && !is_current(queue_.top())) queue_.pop();
  return queue_.empty() ? Time::max() : queue_.top().at;
}

ModelledEngine::Happening ModelledEngine::take_next() {
  const Happening next = queue_.top();
  queue_.pop();
  Run& run = runs_[next.job.value];
  if (next.is_finish) {
    advance(run, next.at);
    run.is_over = true;
  }
  if (next.is_progress) {
    run.will_report = false;
    plan_report(next.job, run, next.at);
  }
  return next;
}

Work ModelledEngine::done_at(JobId job, Time now) const {
  const Run& run = runs_[job.value];
  const Time from = std::max(run.since, run.ready);
  Work left = run.left;
  if (!run.block.is_none() && now > from) {
    const Work done = run.rate * (now - from);
    left = done < left ? left - done : Work{};
  }
  return run.all - left;
}

}  // namespace weir::simulate
