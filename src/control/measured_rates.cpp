// SPDX-License-Identifier: Apache-2.0
#include "control/measured_rates.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace weir::control {
namespace {

constexpr Duration kStretch = from_seconds(60);

// How many times one size is the other; the larger over the smaller, in thousandths.
std::int64_t distance(std::int32_t a, std::int32_t b) {
  return std::int64_t{1000} * std::max(a, b) / std::min(a, b);
}

// The measured size nearest to `gpus` of which `shape` knows something too; null: none.
const CurvePoint* nearest_common(std::int32_t gpus, const Curve& shape,
                                 std::span<const CurvePoint> measured) {
  const CurvePoint* nearest = nullptr;
  for (const CurvePoint& point : measured) {
    if (shape.rate_at(point.gpus).value <= 0) continue;
    if (nearest == nullptr || distance(gpus, point.gpus) < distance(gpus, nearest->gpus))
      nearest = &point;
  }
  return nearest;
}

IterationRate scaled(IterationRate rate, IterationRate to, IterationRate from) {
  const WideInteger value = static_cast<WideInteger>(rate.value) * to.value / from.value;
  return IterationRate{std::max<std::int64_t>(1, static_cast<std::int64_t>(value))};
}

bool is_noise(IterationRate a, IterationRate b) {
  return std::abs(a.value - b.value) * kNoiseParts <= b.value;
}

}  // namespace

std::optional<IterationRate> RunRate::hear(const RunProgress& progress) {
  if (progress.elapsed <= Duration{0}) return rate_;  // nobody knows when that was
  const Report here{progress.iterations, progress.elapsed};
  // A step back: it began again from a checkpoint.
  if (!from_ || here.iterations < last_.iterations || here.elapsed < last_.elapsed) {
    from_ = later_ = here;
    rate_.reset();
  }
  last_ = here;
  if (here.elapsed - later_.elapsed >= kStretch &&
      here.iterations - later_.iterations >= kBelievableSteps) {
    from_ = later_;
    later_ = here;
  }
  const std::int64_t steps = here.iterations - from_->iterations;
  const Duration time = here.elapsed - from_->elapsed;
  if (steps >= kBelievableSteps && time >= kBelievableTime) {
    const WideInteger value = kFemtoPerIteration * steps / time.count();
    rate_ = IterationRate{std::max<std::int64_t>(1, static_cast<std::int64_t>(value))};
  }
  return rate_;
}

IterationRate RunRate::smoothed(std::optional<IterationRate> earlier) {
  if (!earlier_) earlier_ = earlier;
  return *earlier_ ? IterationRate{((*earlier_)->value + rate_->value) / 2} : *rate_;
}

Curve merged(const Curve& shape, std::span<const CurvePoint> measured) {
  std::vector<CurvePoint> points{measured.begin(), measured.end()};
  for (const CurvePoint& known : shape.measured()) {
    const bool is_measured =
        std::any_of(measured.begin(), measured.end(),
                    [&](const CurvePoint& point) { return point.gpus == known.gpus; });
    if (is_measured) continue;
    const CurvePoint* like = nearest_common(known.gpus, shape, measured);
    points.push_back({known.gpus, like == nullptr
                                      ? known.rate
                                      : scaled(known.rate, like->rate, shape.rate_at(like->gpus))});
  }
  return Curve{std::move(points), CurveOrigin::measured};
}

Curve curve_when_stated(const Curve* known, const Curve& stated) {
  if (known != nullptr && known->origin() == CurveOrigin::measured)
    return merged(stated, known->measured());
  if (known != nullptr && known->origin() == CurveOrigin::profiled) {
    const Curve together = merged(stated, known->measured());
    return Curve{{together.measured().begin(), together.measured().end()}, CurveOrigin::profiled};
  }
  return Curve{{stated.measured().begin(), stated.measured().end()}, CurveOrigin::assumed};
}

Curve curve_when_planned(const Curve* known, const Curve& planned) {
  const bool was_seen = known != nullptr && (known->origin() == CurveOrigin::measured ||
                                             known->origin() == CurveOrigin::profiled);
  return was_seen ? curve_when_stated(known, planned) : planned;
}

std::vector<std::int32_t> MeasuredRates::sizes(const Key& key) const {
  std::vector<std::int32_t> sizes;
  const auto seen = seen_.find(key);
  if (seen == seen_.end() || seen->second.ran_before) return sizes;
  for (const auto& [gpus, rate] : seen->second.rates) sizes.push_back(gpus);
  return sizes;
}

std::optional<Curve> MeasuredRates::hear(const Key& key, std::int32_t gpus, RunRate& run,
                                         const Curve* known, Time now) {
  Seen& seen = seen_[key];
  const bool was_measured = known != nullptr && known->origin() == CurveOrigin::measured;
  if (seen.rates.empty()) seen.ran_before = was_measured;
  const IterationRate known_rate = known == nullptr ? IterationRate{} : known->rate_at(gpus);
  std::optional<IterationRate> earlier;
  if (const auto at = seen.rates.find(gpus); at != seen.rates.end()) {
    earlier = at->second;
  } else if (was_measured && known_rate.value > 0) {
    earlier = known_rate;
  }
  const IterationRate rate = run.smoothed(earlier);
  seen.rates[gpus] = rate;
  if (was_measured && is_noise(rate, known_rate)) return std::nullopt;
  if (seen.told && now - *seen.told < kTellCurveEvery) return std::nullopt;
  seen.told = now;
  std::vector<CurvePoint> measured;
  for (const auto& [size, figure] : seen.rates) measured.push_back({size, figure});
  return merged(known == nullptr ? Curve{} : *known, measured);
}

}  // namespace weir::control
