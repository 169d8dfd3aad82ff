// SPDX-License-Identifier: Apache-2.0
//
// When pending workloads will start. The scheduler is played forward many times from now: running pods end after a
// time drawn from what pods like them took, given how long they have run already; those that wait run for a time drawn
// likewise; newcomers come as they came of late. The 10, 50 and 90 % points of the starts are the band.
//
// Limits: the play knows the queue, sizes, selectors, affinity to nodes, taints and volumes, but no affinity between
// pods, no spreading and no preemption: a pod that would push out others is said to wait longer than it will.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "observe/kubernetes/calibration.h"
#include "observe/kubernetes/durations.h"
#include "observe/kubernetes/explanation.h"

namespace weir::observe {

struct PredictOptions {
  std::uint64_t seed = 1;
  int draws = 100;
  double longest_backoff = 10;  // seconds: podMaxBackoffSeconds of kube-scheduler
  // Ends and arrivals played in all draws together; fewer draws are made when one takes many.
  std::size_t most_events = 200'000;
};

// Of one workload.
struct StartDraws {
  // From now, ascending; one per draw. Where it did not start in the play: the time at which the play ended, if other
  // pods started, for it is at least that; kNever where no node could take it.
  std::vector<double> seconds;
  static constexpr double kNever = 1e18;

  bool is_immediate() const { return !seconds.empty() && seconds[seconds.size() / 2] <= 0; }
  bool is_known() const { return !seconds.empty() && seconds[seconds.size() / 2] < kNever; }
  WaitBand band() const;
};

struct Prediction {
  std::vector<StartDraws> starts;  // parallel to the workloads
  int draws = 0;
  double arrivals_per_hour = 0;
};

Prediction predict_starts(const ClusterObjects& objects, std::span<const PendingWorkload> pending,
                          const LearnedDurations& learned, const PredictOptions& options = {});

// What people reckon by hand: those before it in the queue and itself, one after the other, each for the mean duration.
double naive_wait(std::size_t position, double mean_seconds);

}  // namespace weir::observe
