// SPDX-License-Identifier: Apache-2.0
//
// Throughput from life: what jobs really make per second on so many GPUs of a kind, by their own
// reports, and the curve that follows from it. Sizes that were seen count as seen. What was known of
// the others is taken to be right about the shape: it is scaled as the nearest seen size asks for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "domain/curve.h"
#include "domain/engine.h"
#include "domain/gpu_model.h"
#include "domain/time.h"

namespace weir::control {

// A figure is believed after so many steps and so long, counted from a run's first report: what came
// before was start-up.
inline constexpr std::int64_t kBelievableSteps = 5;
inline constexpr Duration kBelievableTime = from_seconds(5);
// Less than this is noise: one in twenty.
inline constexpr std::int64_t kNoiseParts = 20;
inline constexpr Duration kTellCurveEvery = from_seconds(30);

// One run of a job, on the same GPUs from beginning to end.
class RunRate {
 public:
  // What the run makes per second of late, one to two minutes or more if it is slow; none before it can be believed.
  std::optional<IterationRate> hear(const RunProgress& progress);
  // The last one.
  std::optional<IterationRate> rate() const { return rate_; }
  // Halfway between what earlier runs made, if there were any, and this one. Only what is given first
  // is earlier: later it has this run in it. Requires: rate().
  IterationRate smoothed(std::optional<IterationRate> earlier);

 private:
  struct Report {
    std::int64_t iterations = 0;
    Duration elapsed{};
  };
  std::optional<Report> from_;
  Report later_;  // where the next stretch begins
  Report last_;
  std::optional<IterationRate> rate_;
  std::optional<std::optional<IterationRate>> earlier_;
};

// The curve of `shape`, but for the measured sizes as they were measured. Its origin: measured.
Curve merged(const Curve& shape, std::span<const CurvePoint> measured);

// What is known once a user has stated a curve. It says nothing new about sizes that were measured or profiled;
// other sizes of it are scaled likewise.
Curve curve_when_stated(const Curve* known, const Curve& stated);
// And once one was planned, which is better than what somebody assumes.
Curve curve_when_planned(const Curve* known, const Curve& planned);

class MeasuredRates {
 public:
  // What was learnt belongs to a model and batch on a kind of GPU.
  struct Key {
    GpuModelId gpu;
    CurveKey curve;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  // A run with a believable rate on so many GPUs. Gives a new curve when `known` (null: none) is not
  // what was measured and one was not given just before. Requires: run.rate().
  std::optional<Curve> hear(const Key& key, std::int32_t gpus, RunRate& run, const Curve* known,
                            Time now);
  // The sizes that ran; those of a curve beside them are scaled. Empty: not known, because some ran before the start.
  std::vector<std::int32_t> sizes(const Key& key) const;

 private:
  struct Seen {
    std::map<std::int32_t, IterationRate> rates;  // by size
    std::optional<Time> told;
    bool ran_before =
        false;  // the first curve heard of was measured already, at sizes that it does not tell
  };
  std::map<Key, Seen> seen_;
};

}  // namespace weir::control
