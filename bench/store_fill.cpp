// SPDX-License-Identifier: Apache-2.0
#include "store_fill.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "control/job_status.h"
#include "formats/cluster_shorthand.h"

namespace weir::bench {
namespace {

constexpr std::uint32_t kGpus = 16;
constexpr Duration kBetweenJobs = std::chrono::seconds{10};
constexpr Duration kRunTime = std::chrono::seconds{6000};
const CurveKey kCurve{"resnet50", 256};

TrainingSpec spec_of(std::uint64_t number, Time at) {
  TrainingSpec spec;
  spec.name = fmt::format("train-{:07}", number);
  spec.curve = kCurve;
  spec.iterations = 60'000;
  spec.deadline_kind = DeadlineKind::hard;
  spec.deadline = at + 3 * kRunTime;
  return spec;
}

GpuBlock block_of(std::uint64_t number) {
  return {static_cast<std::uint32_t>(number % kGpus), 1};
}

Timeline timeline_of(std::uint64_t number, Time at) {
  return {{{at, block_of(number)}}, at + kRunTime};
}

control::JobView view_of(std::uint64_t number, control::ShownPhase phase, Time at) {
  control::JobStatus status;
  status.job = JobId{number};
  status.name = spec_of(number, at).name;
  status.phase = phase;
  status.submitted = at;
  status.deadline_kind = DeadlineKind::hard;
  status.deadline = at + 3 * kRunTime;
  status.is_promised = true;
  status.generation = 1;
  status.iterations = 60'000;
  status.started = at;
  if (control::is_over(phase)) status.ended = at;
  return {JobId{number}, std::string{control::to_string(phase)}, at, control::to_json(status)};
}

// Writes batches and keeps the state beside them, for the snapshot.
class Filler {
 public:
  Filler(control::Store& store, const StoreFill& fill)
      : store_{store},
        fill_{fill},
        state_{fill_initial_state()},
        now_{std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()) -
             kBetweenJobs * static_cast<std::int64_t>(fill.jobs)} {}

  Result<FilledStore> run() {
    adopt_curve();
    for (std::uint64_t number = 1; number <= fill_.jobs; ++number) {
      submit(number);
      if (number <= fill_.jobs - fill_.active) finish(number);
      now_ += kBetweenJobs;
      if (!wants_snapshot() && batch_.decisions.size() < kBatch) continue;
      if (auto flushed = flush(); !flushed) return tl::unexpected{std::move(flushed).error()};
      if (!wants_snapshot()) continue;
      snapshot_entry_ = store_.end().entry;
      if (auto saved = store_.save_snapshot(snapshot_entry_, control::write_snapshot(state_));
          !saved)
        return tl::unexpected{std::move(saved).error()};
    }
    if (auto flushed = flush(); !flushed) return tl::unexpected{std::move(flushed).error()};
    return FilledStore{store_.end(), snapshot_entry_, now_};
  }

 private:
  static constexpr std::size_t kBatch = 512;

  bool wants_snapshot() const {
    return snapshot_entry_ == 0 && records_ + fill_.records_after_snapshot >= fill_.records;
  }

  void add(Event event, std::vector<Record> records) {
    for (const Record& record : records) schedule::evolve(state_, record);
    records_ += records.size();
    batch_.decisions.push_back({std::move(event), std::move(records)});
  }

  void adopt_curve() {
    const Curve curve{{{1, IterationRate{10'000'000}}}, CurveOrigin::measured};
    add({now_, CurveUpdated{PoolIndex{0}, kCurve, curve}},
        {{now_, {}, CurveAdopted{PoolIndex{0}, kCurve, std::make_shared<const Curve>(curve)}}});
  }

  void submit(std::uint64_t number) {
    const std::size_t before = batch_.decisions.size();
    if (number <= fill_.jobs - fill_.active) {
      add_submission(batch_, number, now_);
    } else {
      add_waiting(number);
    }
    for (std::size_t i = before; i < batch_.decisions.size(); ++i) {
      for (const Record& record : batch_.decisions[i].records) schedule::evolve(state_, record);
      records_ += batch_.decisions[i].records.size();
    }
  }

  // A job without a deadline that has not begun.
  void add_waiting(std::uint64_t number) {
    control::Batch promised;
    add_submission(promised, number, now_);
    TrainingSpec spec = spec_of(number, now_);
    spec.deadline_kind = DeadlineKind::none;
    const JobId job{number};
    batch_.decisions.push_back(
        {{now_, TrainingSubmitted{spec}},
         {{now_,
           {},
           TrainingAccepted{job, std::make_shared<const TrainingSpec>(spec), PoolIndex{0}, 0}},
          {now_, {ReasonCode::no_promise_asked, 0}, JobUnpromised{job, {}, {}}}}});
    batch_.new_jobs.push_back(std::move(promised.new_jobs.front()));
    batch_.views.push_back(view_of(number, control::ShownPhase::queued, now_));
  }

  // What happened to a job since it came, and its end.
  void finish(std::uint64_t number) {
    const JobId job{number};
    add({now_, RanksReady{job, 1}},
        {{now_, {}, JobObserved{job, work_of_iterations(60'000), now_, 1000}}});
    const std::uint64_t wanted = fill_.records * number / fill_.jobs;
    for (std::int64_t step = 1; records_ + 2 < wanted && step < 50; ++step) {
      const Work done = work_of_iterations(1'000 * step);
      add({now_, ProgressReported{job, done}},
          {{now_, {}, JobObserved{job, work_of_iterations(60'000) - done, now_, 1000}},
           {now_,
            {ReasonCode::ahead_of_plan, 0},
            TimelineRevised{job, timeline_of(number, now_)}}});
    }
    add({now_, JobFinished{job}}, {{now_, {}, JobReleased{job}}});
    batch_.views.push_back(view_of(number, control::ShownPhase::finished, now_));
  }

  Result<void> flush() {
    auto committed = store_.commit(batch_);
    batch_ = {};
    return committed;
  }

  control::Store& store_;
  StoreFill fill_;
  schedule::State state_;
  control::Batch batch_;
  Time now_;
  std::size_t records_ = 0;
  std::uint64_t snapshot_entry_ = 0;
};

}  // namespace

Cluster fill_cluster() {
  return formats::parse_cluster_shorthand("2x8xA100").value();
}

schedule::State fill_initial_state() {
  return schedule::initial_state_for_training(fill_cluster());
}

void add_submission(control::Batch& batch, std::uint64_t number, Time at) {
  const JobId job{number};
  const auto spec = std::make_shared<const TrainingSpec>(spec_of(number, at));
  batch.decisions.push_back(
      {{at, TrainingSubmitted{*spec}},
       {{at, {}, TrainingAccepted{job, spec, PoolIndex{0}, 6000}},
        {at,
         {ReasonCode::fits_beside_promises, 0},
         PromiseMade{job, spec->deadline, timeline_of(number, at)}},
        {at, {ReasonCode::as_promised, 0}, JobResized{job, 1, block_of(number)}}}});
  std::string document = fmt::format(
      R"({{"name":"{}","command":["sleep","3600"],"iterations":60000,"environment":{{"NOTE":"{}"}}}})",
      spec->name, std::string(400, 'n'));
  batch.new_jobs.push_back({job, spec->name, std::move(document),
                            fmt::format("{:016x}-{}", number * 0x9e3779b97f4a7c15U, number),
                            "0123456789abcdef"});
  batch.views.push_back(view_of(number, control::ShownPhase::running, at));
}

Result<FilledStore> fill_store(control::Store& store, const StoreFill& fill) {
  return Filler{store, fill}.run();
}

}  // namespace weir::bench
