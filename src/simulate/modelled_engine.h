// SPDX-License-Identifier: Apache-2.0
//
// A cluster that runs training jobs as their curves say, on a virtual clock: it does what the
// scheduler's records tell it and reports what an engine would. A job pays when its GPUs change and
// only then: the base cost if exactly these GPUs formed a group before, the full cost otherwise. A
// start is a change. While it pays it makes no progress.
//
// A job saves its state before a change that the scheduler wants, and every so often while it runs
// (what that costs is part of its curve). When a node is lost under it, what it did since is lost too.
//
// A job that runs as its curve says need not report; one that does not reports each time it has
// drifted by another hundredth of its work, or by what it does in ten seconds; and each time it has done
// half of what is left, down to a second: real jobs report every few seconds.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <unordered_set>
#include <vector>

#include "domain/event.h"
#include "domain/power_table.h"
#include "domain/record.h"
#include "schedule/admit/size_table.h"

namespace weir::simulate {

class ModelledEngine {
 public:
  // `checkpoint_every`: how long a job runs between two saves; 0: nothing it does is ever lost.
  explicit ModelledEngine(const schedule::RescaleCost& cost, Duration checkpoint_every = {})
      : cost_{cost}, checkpoint_every_{checkpoint_every} {}

  // A job the scheduler accepted. `speed_permille` of its curve is what it really does.
  // One that runs in one piece begins anew with every change.
  void add(JobId job, const Curve& curve, Work work, std::int64_t speed_permille,
           bool in_one_piece = false);
  void resize(Time now, PoolIndex pool, const JobResized& change);
  // Its GPUs run at another clock; that costs nothing.
  void set_clock(Time now, const ClockSet& change);
  // Its network gives it that much of its rate from now on.
  void set_network(Time now, JobId job, std::int64_t millionths);
  // Its circuits are being moved: it makes no progress for so long.
  void pause(Time now, JobId job, Duration time);
  // Its ranks are gone: it has done what it last saved. A change is to follow.
  void fall_back(Time now, JobId job);

  struct Happening {
    Time at;
    JobId job;
    bool is_finish = false;  // else: its ranks are ready
    std::uint32_t generation = 0;
    bool is_progress = false;  // neither: the job tells how far it is
    std::uint32_t pace = 0;    // of a finish: how often the job's clock had been set
  };
  // The next thing to happen; Time::max() when nothing will.
  Time next_at();
  Happening take_next();

  // What the job has done by then.
  Work done_at(JobId job, Time now) const;
  std::int64_t rescales() const { return rescales_; }
  // GPU-time handed out so far to jobs, in GPU-nanoseconds, of changes made until now.
  WideInteger gpu_time() const { return gpu_time_; }
  // Time that the job lost to its network until it changed last or ended.
  Duration lost_to_network(JobId job) const { return runs_[job.value].lost_to_network; }
  std::int64_t rescales_of(JobId job) const { return runs_[job.value].rescales; }

 private:
  struct Run {
    Curve curve;
    Work all;
    Work left;
    IterationRate rate;
    Time since;
    Time ready;
    GpuBlock block;
    std::int64_t speed_permille = 1000;
    std::int64_t rescales = 0;
    std::int64_t clocked_millionths = kAllMillionths;
    std::int64_t network_millionths = kAllMillionths;
    Duration lost_to_network{0};
    std::uint32_t generation = 0;
    std::uint32_t pace = 0;
    bool is_over = false;
    bool will_report = false;  // a report of its progress is planned
    bool in_one_piece = false;
  };
  struct Later {
    bool operator()(const Happening& a, const Happening& b) const {
      if (a.at != b.at) return a.at > b.at;
      if (a.is_finish != b.is_finish) return b.is_finish;  // releases first
      return a.job > b.job;
    }
  };
  void advance(Run& run, Time now);
  void set_pace(Time now, JobId job, Run& run);
  void plan_report(JobId job, Run& run, Time after);
  bool is_current(const Happening& happening) const;

  schedule::RescaleCost cost_;
  Duration checkpoint_every_;
  std::vector<Run> runs_;  // by id
  std::priority_queue<Happening, std::vector<Happening>, Later> queue_;
  std::unordered_set<std::uint64_t> known_groups_;
  std::int64_t rescales_ = 0;
  WideInteger gpu_time_ = 0;
};

}  // namespace weir::simulate
