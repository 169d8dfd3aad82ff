// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/observation.h"

#include <fmt/format.h>

#include "observe/kubernetes/explain.h"
#include "observe/kubernetes/pending.h"

namespace weir::observe {
namespace {

Time after(Time now, double seconds) {
  return now + std::chrono::duration_cast<Duration>(std::chrono::duration<double>{seconds});
}

// What time alone can heal: others end.
bool heals_by_waiting(Constraint constraint) {
  switch (constraint) {
    case Constraint::insufficient:
    case Constraint::fragmented:
    case Constraint::gang:
    case Constraint::pod_count:
    case Constraint::not_seen_yet:
      return true;
    default:
      return false;
  }
}

std::string why_no_prediction(const PendingObservation& pending, const StartDraws& draws,
                              const LearnedDurations& learned) {
  if (!heals_by_waiting(pending.explanation.constraint)) {
    return "It does not start by waiting: see why, and the changes.";
  }
  if (pending.workload.pods.empty()) return "Its pods do not exist yet.";
  if (learned.ended_pods() == 0)
    return "No pod has ended since weir began to look: it has learnt no durations yet.";
  if (!draws.is_known()) return "It did not start in most of the plays.";
  return "";
}

std::string basis_of(const Prediction& prediction, const LearnedDurations& learned,
                     const Calibration& calibration) {
  return fmt::format(
      "kube-scheduler played forward {} times with durations learnt from {} ended pods and {:.0f} "
      "arrivals per hour, "
      "calibrated on {} starts",
      prediction.draws, learned.ended_pods(), prediction.arrivals_per_hour,
      calibration.starts_seen());
}

// Right now, if nothing else comes in between: a scheduler needs a moment.
constexpr WaitBand kAtOnce{0, 1, 10};

void add_prediction(PendingObservation& pending, const StartDraws& draws, const std::string& basis,
                    Time now, const LearnedDurations& learned, const Calibration& calibration) {
  pending.no_prediction = why_no_prediction(pending, draws, learned);
  if (!pending.no_prediction.empty()) return;
  WaitBand band = kAtOnce;
  if (!draws.is_immediate()) {
    pending.raw = draws.band();
    band = calibration.adjusted(*pending.raw, now);
  }
  pending.predicted_start =
      StartBand{after(now, band.low), after(now, band.median), after(now, band.high), basis};
}

}  // namespace

Observation observe(const ClusterObjects& objects, const LearnedDurations& learned,
                    const Calibration& calibration, const ObserveOptions& options) {
  Observation observation;
  observation.at = objects.at;
  auto workloads = pending_workloads(objects);
  observation.cluster = summarize(objects, workloads);
  const auto prediction = predict_starts(objects, workloads, learned, options.predict);
  const auto basis = basis_of(prediction, learned, calibration);
  Explainer explainer{objects};
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    PendingObservation pending;
    pending.explanation = explainer.explain(workloads[i], i < options.most_changes);
    pending.workload = std::move(workloads[i]);
    add_prediction(pending, prediction.starts[i], basis, objects.at, learned, calibration);
    observation.pending.push_back(std::move(pending));
  }
  return observation;
}

void note_predictions(const Observation& observation, Calibration& calibration) {
  for (const auto& pending : observation.pending) {
    if (!pending.raw) continue;
    for (const auto& pod : pending.workload.pods)
      calibration.predicted(pod->meta.full_name(), observation.at, *pending.raw);
  }
}

}  // namespace weir::observe
