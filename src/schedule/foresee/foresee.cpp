// SPDX-License-Identifier: Apache-2.0
#include "schedule/foresee/foresee.h"

#include <algorithm>
#include <compare>
#include <map>
#include <set>
#include <utility>

#include "schedule/admit/slots.h"

namespace weir::schedule {
namespace {

// What an engine would report. Of one moment, ends come first.
struct Due {
  Time at;
  bool is_ready = false;  // its ranks are; else: it has ended
  JobId job;
  friend auto operator<=>(const Due&, const Due&) = default;
};

class Playing {
 public:
  Playing(SupposedCore made, Time now, const ForeseeLimits& limits)
      : made_{std::move(made)}, limits_{limits}, now_{now} {
    forecast_.from = forecast_.until = now;
  }

  Forecast play() {
    note_known_jobs();
    for (const Record& record : std::exchange(made_.records, {})) hear(record);
    decide();
    const Time end = now_ + limits_.horizon;
    while (!is_answered()) {
      const Time next = std::min(due_.empty() ? Time::max() : heard_at(*due_.begin()), wake_up_);
      if (next == Time::max()) break;
      const bool is_enough = next > end || decisions_ >= limits_.decisions ||
                             (limits_.may_go_on && !limits_.may_go_on());
      if (is_enough) {
        forecast_.is_complete = false;
        break;
      }
      now_ = std::max(now_, next);
      const bool has_news = hear_engine();
      if (has_news || std::exchange(has_new_plans_, false) || wake_up_ <= now_) decide();
    }
    return finish();
  }

 private:
  const TrainingState& training() const { return made_.core.state().training; }

  // Ranks are heard of at once, ends at the next slot.
  Time heard_at(const Due& due) const {
    return due.is_ready ? due.at : slot_after(due.at, made_.config.training.slot);
  }

  bool is_answered() const {
    const auto find = [&](JobId job) {
      const auto at = place_.find(job);
      return at == place_.end() ? nullptr : &forecast_.jobs[at->second];
    };
    if (limits_.only_until_start_of) {
      const ForeseenJob* job = find(*limits_.only_until_start_of);
      return job == nullptr || job->started || job->answer == ForeseenAnswer::refused;
    }
    if (limits_.only_until_end_of) {
      const ForeseenJob* job = find(*limits_.only_until_end_of);
      return job == nullptr || job->finished || job->answer == ForeseenAnswer::refused;
    }
    return false;
  }

  // Jobs that were there before anything was supposed. A job that was handed over comes with the
  // records instead.
  void note_known_jobs() {
    const std::set<JobId> told = told_of();
    for (std::size_t i = 0; i < training().jobs.size(); ++i) {
      const JobId id{i + 1};
      const TrainingJob& job = training().jobs[i];
      if (job.spec == nullptr || told.contains(id)) continue;
      ForeseenJob& known = add(id, job.spec);
      known.is_at_risk = job.is_at_risk;
      if (job.phase == TrainingPhase::waits_for_curve)
        known.answer = ForeseenAnswer::waits_for_a_curve;
      if (job.is_promised()) known.answer = ForeseenAnswer::promised;
      if (limits_.keeps_records) keep_how_it_stands(id, job);
      if (job.block.is_none()) continue;
      known.started = now_;
      known.most_gpus = job.block.size;
      held_[id] = {now_, job.block.size};
      plan_reports(id);
    }
  }

  std::set<JobId> told_of() const {
    std::set<JobId> told;
    for (const Record& record : made_.records) {
      if (const auto* accepted = std::get_if<TrainingAccepted>(&record.what))
        told.insert(accepted->job);
    }
    return told;
  }

  void keep_how_it_stands(JobId id, const TrainingJob& job) {
    const auto keep = [&](auto what, ReasonCode why) {
      forecast_.records.push_back(Record{now_, {why, 0}, std::move(what)});
    };
    keep(TrainingAccepted{id, job.spec, job.pool, 0}, ReasonCode::as_reported);
    if (job.is_promised())
      keep(PromiseMade{id, job.spec->deadline, job.timeline}, ReasonCode::as_promised);
    if (!job.block.is_none())
      keep(JobResized{id, job.generation, job.block},
           job.is_promised() ? ReasonCode::as_promised : ReasonCode::left_over);
  }

  ForeseenJob& add(JobId id, std::shared_ptr<const TrainingSpec> spec) {
    place_[id] = forecast_.jobs.size();
    ForeseenJob job;
    job.job = id;
    job.spec = std::move(spec);
    job.came = now_;
    forecast_.jobs.push_back(std::move(job));
    return forecast_.jobs.back();
  }

  ForeseenJob& of(JobId id) { return forecast_.jobs[place_.at(id)]; }

  // Whether there is something to decide.
  bool hear_engine() {
    bool any = false;
    while (!due_.empty() && heard_at(*due_.begin()) <= now_) {
      const Due due = *due_.begin();
      due_.erase(due_.begin());
      if (due.is_ready) {
        tell(RanksReady{due.job, training().job(due.job).generation});
      } else {
        of(due.job).finished = due.at;
        forecast_.until = std::max(forecast_.until, due.at);
        tell(JobFinished{due.job});
        any = true;
      }
    }
    return any;
  }

  void decide() {
    has_new_plans_ = false;
    ++decisions_;
    tell(TimerFired{});
    wake_up_ = made_.core.wake_up();
  }

  template <class What>
  void tell(What what) {
    for (const Record& record : made_.core.handle(Event{now_, std::move(what)})) hear(record);
  }

  void hear(const Record& record) {
    std::visit([&](const auto& what) { note(what); }, record.what);
    if (limits_.keeps_records) forecast_.records.push_back(record);
  }

  template <class Other>
  void note(const Other&) {}
  void note(const TrainingAccepted& record) {
    ForeseenJob& job = add(record.job, record.spec);
    const bool waits = training().job(record.job).phase == TrainingPhase::waits_for_curve;
    if (waits) job.answer = ForeseenAnswer::waits_for_a_curve;
  }
  void note(const PromiseMade& record) { of(record.job).answer = ForeseenAnswer::promised; }
  void note(const PlannedProvisionally& record) {
    of(record.job).answer = ForeseenAnswer::promised;
  }
  void note(const JobUnpromised& record) { of(record.job).answer = ForeseenAnswer::no_promise; }
  void note(const PromiseRefused& record) {
    of(record.job).answer = ForeseenAnswer::refused;
    of(record.job).earliest = record.earliest;
  }
  void note(const PromiseAtRisk& record) { of(record.job).is_at_risk = true; }
  void note(const TimelineRevised&) { has_new_plans_ = true; }
  void note(const JobResized& record) {
    ForeseenJob& job = of(record.job);
    hold(record.job, record.block.size);
    job.most_gpus = std::max(job.most_gpus, record.block.size);
    if (!record.block.is_none() && !job.started) job.started = now_;
    plan_reports(record.job);
  }
  void note(const JobObserved& record) { plan_reports(record.job); }
  void note(const JobReleased& record) {
    hold(record.job, 0);
    plan_reports(record.job);
  }
  void note(const CurveAdopted& record) {
    const PoolState* pool = training().find_pool(record.pool);
    for (const JobId id : pool->active) {
      if (place_.contains(id) && training().job(id).spec->curve == record.key) plan_reports(id);
    }
  }

  void hold(JobId job, std::uint32_t gpus) {
    auto& [since, had] = held_[job];
    forecast_.gpu_time += static_cast<WideInteger>(had) * (now_ - since).count();
    since = now_;
    had = gpus;
  }

  void plan_reports(JobId id) {
    if (const auto old = reports_.find(id); old != reports_.end()) {
      for (const Due& due : old->second) due_.erase(due);
      reports_.erase(old);
    }
    const TrainingJob& job = training().job(id);
    if (job.spec == nullptr || job.block.is_none()) return;
    std::vector<Due>& reports = reports_[id];
    const Time begin = std::max({now_, job.observed_at, job.ready_at});
    if (!job.is_ready) reports.push_back({std::max(now_, job.ready_at), true, id});
    if (job.rate().value > 0) {
      const Duration takes = time_for(job.left_at(begin), job.rate());
      if (takes <= 2 * limits_.horizon) reports.push_back({begin + takes, false, id});
    }
    due_.insert(reports.begin(), reports.end());
  }

  Forecast finish() {
    for (auto& [job, had] : held_) hold(job, 0);
    for (const PoolState& pool : training().pools) {
      forecast_.gpus += pool.gpus_up();
      forecast_.pools.push_back(pool.pool);
    }
    const std::set<JobId> supposed = [&] {
      std::set<JobId> all;
      for (const auto& job : made_.submitted) {
        if (job) all.insert(*job);
      }
      return all;
    }();
    for (ForeseenJob& job : forecast_.jobs) {
      const auto original = made_.original.find(job.job);
      if (supposed.contains(job.job)) {
        job.job = JobId{};
      } else if (original != made_.original.end()) {
        job.job = original->second;
      }
    }
    return std::move(forecast_);
  }

  SupposedCore made_;
  ForeseeLimits limits_;
  Time now_;
  Forecast forecast_;
  std::map<JobId, std::size_t> place_;  // in the forecast
  std::map<JobId, std::vector<Due>> reports_;
  std::set<Due> due_;
  std::map<JobId, std::pair<Time, std::uint32_t>> held_;  // GPUs, since when
  Time wake_up_ = Time::max();
  std::size_t decisions_ = 0;
  bool has_new_plans_ = false;  // since the last decision
};

}  // namespace

Forecast foresee(State state, const CoreConfig& config, Time now, const Supposition& what,
                 const ForeseeLimits& limits) {
  return Playing{suppose(std::move(state), config, now, what), now, limits}.play();
}

ForecastTotals totals_of(const Forecast& forecast) {
  ForecastTotals totals;
  double waited = 0;
  std::int64_t starts = 0;
  for (const ForeseenJob& job : forecast.jobs) {
    ++totals.jobs;
    totals.refused += job.answer == ForeseenAnswer::refused;
    totals.finished += job.finished.has_value();
    if (job.answer == ForeseenAnswer::promised) {
      ++totals.promised;
      totals.kept += job.is_on_time();
    }
    if (!job.started) continue;
    ++starts;
    waited += to_seconds(*job.started - job.came);
  }
  if (starts > 0) totals.mean_wait_seconds = waited / static_cast<double>(starts);
  const double offered = to_seconds(forecast.until - forecast.from) * forecast.gpus;
  if (offered > 0) totals.utilisation = static_cast<double>(forecast.gpu_time) / 1e9 / offered;
  return totals;
}

}  // namespace weir::schedule
