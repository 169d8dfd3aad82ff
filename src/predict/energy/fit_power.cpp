// SPDX-License-Identifier: Apache-2.0
#include "predict/energy/fit_power.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "predict/energy/bounded_least_squares.h"

namespace weir::predict {
namespace {

constexpr double kMostOverlap = 10;
constexpr std::array<double, 3> kFirstOverlaps{1, 2, 6};
constexpr double kMostScaled = 1e3;  // of a coefficient, where 1 is all of the mean

// Which values a set of points has, as far as coefficients depend on it.
struct Reach {
  std::set<double> clocks;
  std::set<double> batches;
  std::set<std::int32_t> sizes_inside;  // several GPUs of one node
  std::set<std::int32_t> sizes_across;
  std::set<std::int32_t> nodes_across;
  std::set<double> shared_batches;  // on several GPUs
  bool has_single = false;

  explicit Reach(std::span<const ProfilePoint> points) {
    for (const ProfilePoint& point : points) {
      clocks.insert(point.at.clock);
      batches.insert(point.at.local_batch);
      has_single = has_single || point.at.gpus == 1;
      if (point.at.gpus == 1) continue;
      shared_batches.insert(point.at.local_batch);
      (point.at.nodes > 1 ? sizes_across : sizes_inside).insert(point.at.gpus);
      if (point.at.nodes > 1) nodes_across.insert(point.at.nodes);
    }
  }
};

// One coefficient of the time: where it stands, and what it multiplies at a point.
struct TimeTerm {
  double TimeModel::*member;
  double (*factor)(const JobConfiguration&);
};

bool is_inside(const JobConfiguration& at) {
  return at.gpus > 1 && at.nodes <= 1;
}
bool is_across(const JobConfiguration& at) {
  return at.gpus > 1 && at.nodes > 1;
}
double volume(const JobConfiguration& at) {
  return 2.0 * (at.gpus - 1) / at.gpus;
}

constexpr TimeTerm kPerIteration{&TimeModel::per_iteration,
                                 [](const JobConfiguration&) { return 1.0; }};
constexpr TimeTerm kPerSample{&TimeModel::per_sample,
                              [](const JobConfiguration& at) { return at.local_batch; }};
constexpr TimeTerm kPerSampleClocked{
    &TimeModel::per_sample_at_full_clock,
    [](const JobConfiguration& at) { return at.local_batch / at.clock; }};
constexpr TimeTerm kSyncInside{&TimeModel::sync_inside_node, [](const JobConfiguration& at) {
                                 return is_inside(at) ? 1.0 : 0.0;
                               }};
constexpr TimeTerm kVolumeInside{
    &TimeModel::sync_volume_inside_node,
    [](const JobConfiguration& at) { return is_inside(at) ? volume(at) : 0.0; }};
constexpr TimeTerm kSyncAcross{&TimeModel::sync_across_nodes, [](const JobConfiguration& at) {
                                 return is_across(at) ? 1.0 : 0.0;
                               }};
constexpr TimeTerm kVolumeAcross{
    &TimeModel::sync_volume_across_nodes,
    [](const JobConfiguration& at) { return is_across(at) ? volume(at) : 0.0; }};
constexpr TimeTerm kPerNode{&TimeModel::sync_per_node, [](const JobConfiguration& at) {
                              return is_across(at) ? static_cast<double>(at.nodes) : 0.0;
                            }};

// The coefficients that the points can tell.
std::vector<TimeTerm> known_terms(const Reach& reach) {
  std::vector<TimeTerm> terms{kPerSample};
  if (reach.batches.size() > 1) terms.push_back(kPerIteration);
  if (reach.clocks.size() > 1) terms.push_back(kPerSampleClocked);
  if (!reach.sizes_inside.empty()) terms.push_back(kSyncInside);
  if (reach.sizes_inside.size() > 1) terms.push_back(kVolumeInside);
  if (!reach.sizes_across.empty()) terms.push_back(kSyncAcross);
  if (reach.sizes_across.size() > 1) terms.push_back(kVolumeAcross);
  if (reach.nodes_across.size() > 1 && reach.sizes_across.size() > 2) terms.push_back(kPerNode);
  return terms;
}

double seconds_of(const TimeModel& model, const JobConfiguration& at) {
  return model.iteration_seconds(model.compute_seconds(at.local_batch, at.clock),
                                 model.sync_seconds(at.gpus, at.nodes));
}

double watts_of(const TimeModel& model, const GpuPower& power, const JobConfiguration& at) {
  const double compute = model.compute_seconds(at.local_batch, at.clock);
  const double seconds = seconds_of(model, at);
  return at.gpus * power.joules(at.clock, compute, seconds) / seconds;
}

// Each coefficient is searched as the share of the mean time its term would be with it at 1.
class TimeFit {
 public:
  TimeFit(std::span<const ProfilePoint> points, const Reach& reach)
      : points_{points}, terms_{known_terms(reach)} {
    has_overlap_ = reach.shared_batches.size() > 1 && points.size() > terms_.size() + 1;
    double mean = 0;
    for (const ProfilePoint& point : points)
      mean += point.seconds / static_cast<double>(points.size());
    for (const TimeTerm& term : terms_) {
      double sum = 0;
      double count = 0;
      for (const ProfilePoint& point : points) {
        sum += term.factor(point.at);
        if (term.factor(point.at) > 0) count += 1;
      }
      units_.push_back(mean * count / sum);
    }
  }

  TimeModel best() const {
    LeastSquares best{{}, std::numeric_limits<double>::infinity()};
    for (const double overlap : kFirstOverlaps) {
      if (!has_overlap_ && overlap > 1) break;
      const LeastSquares found = bounded_least_squares(
          [this](std::span<const double> values, std::span<double> residuals) {
            const TimeModel model = model_of(values);
            for (std::size_t i = 0; i < points_.size(); ++i)
              residuals[i] = std::log(seconds_of(model, points_[i].at) / points_[i].seconds);
          },
          points_.size(), start_with(overlap));
      if (found.sum_of_squares < best.sum_of_squares) best = found;
    }
    return model_of(best.values);
  }

 private:
  // The time per sample never falls to 0: an iteration takes some time whatever else there is.
  std::vector<BoundedValue> start_with(double overlap) const {
    const double share = 1 / static_cast<double>(terms_.size());
    std::vector<BoundedValue> values(terms_.size(), {share, 0, kMostScaled});
    values[0].least = 1e-9;
    if (has_overlap_) values.push_back({overlap, 1, kMostOverlap});
    return values;
  }

  TimeModel model_of(std::span<const double> values) const {
    TimeModel model;
    for (std::size_t i = 0; i < terms_.size(); ++i) model.*terms_[i].member = values[i] * units_[i];
    if (has_overlap_) model.overlap = values[terms_.size()];
    return model;
  }

  std::span<const ProfilePoint> points_;
  std::vector<TimeTerm> terms_;
  std::vector<double> units_;
  bool has_overlap_ = false;
};

// p0 and p1 as shares of the mean power of a GPU, and p2 / p1.
GpuPower fit_gpu_power(std::span<const ProfilePoint> points, const Reach& reach,
                       const TimeModel& time) {
  double mean = 0;
  for (const ProfilePoint& point : points)
    mean += point.watts / point.at.gpus / static_cast<double>(points.size());
  const auto power_of = [mean](std::span<const double> values) {
    const double full = values[0] + values[1];
    return GpuPower{mean * full, values[0] / full, values[2]};
  };
  const bool tells_clock = reach.clocks.size() > 1;
  const bool tells_waiting = tells_clock && !reach.shared_batches.empty();
  const std::vector<BoundedValue> values{{0.5, 1e-6, kMostScaled},
                                         {tells_clock ? 0.5 : 0, 0, tells_clock ? kMostScaled : 0},
                                         {tells_waiting ? 0.5 : 1, 0, 1}};
  const LeastSquares found = bounded_least_squares(
      [&](std::span<const double> at, std::span<double> residuals) {
        for (std::size_t i = 0; i < points.size(); ++i)
          residuals[i] = std::log(watts_of(time, power_of(at), points[i].at) / points[i].watts);
      },
      points.size(), values);
  return power_of(found.values);
}

std::optional<PowerFit> fit_points(std::span<const ProfilePoint> points) {
  const Reach reach{points};
  if (points.size() < kFewestFitPoints) return std::nullopt;
  if (reach.clocks.size() == 1 && reach.batches.size() == 1) return std::nullopt;
  PowerFit fit;
  fit.time = TimeFit{points, reach}.best();
  fit.power = fit_gpu_power(points, reach, fit.time);
  for (const ProfilePoint& point : points) {
    fit.time_quality.add(seconds_of(fit.time, point.at), point.seconds);
    fit.power_quality.add(watts_of(fit.time, fit.power, point.at), point.watts);
  }
  return fit;
}

enum class Way : std::uint8_t { gpus, batch, clock };

struct Difference {
  Way way;
  double distance;  // in logarithms
};

// Nothing when two configurations differ in more than one way, or not at all.
std::optional<Difference> difference(const JobConfiguration& from, const JobConfiguration& to) {
  const bool is_same_size = from.gpus == to.gpus && from.nodes == to.nodes;
  const bool is_same_batch = from.local_batch == to.local_batch;
  const bool is_same_clock = from.clock == to.clock;
  if (is_same_size && is_same_batch && !is_same_clock)
    return Difference{Way::clock, std::log(to.clock / from.clock)};
  if (is_same_size && !is_same_batch && is_same_clock)
    return Difference{Way::batch, std::log(to.local_batch / from.local_batch)};
  if (from.gpus != to.gpus && is_same_batch && is_same_clock)
    return Difference{Way::gpus, std::log(static_cast<double>(to.gpus) / from.gpus)};
  return std::nullopt;
}

// The nearest measured neighbours along one way.
struct Neighbours {
  const ProfilePoint* below = nullptr;
  const ProfilePoint* above = nullptr;
  double to_below = -std::numeric_limits<double>::infinity();
  double to_above = std::numeric_limits<double>::infinity();

  void offer(const ProfilePoint& point, double distance) {
    if (distance < 0 && distance > to_below) {
      below = &point;
      to_below = distance;
    }
    if (distance > 0 && distance < to_above) {
      above = &point;
      to_above = distance;
    }
  }
  bool enclose() const { return below != nullptr && above != nullptr; }
  double span() const { return to_above - to_below; }
};

double between(double below, double above, double part) {
  return std::exp(std::log(below) + part * (std::log(above) - std::log(below)));
}

}  // namespace

FittedJob::FittedJob(std::vector<ProfilePoint> points) : points_{std::move(points)} {
  std::sort(points_.begin(), points_.end(),
            [](const ProfilePoint& a, const ProfilePoint& b) { return a.at < b.at; });
  fit_ = fit_points(points_);
}

std::optional<PowerPrediction> FittedJob::predict(const JobConfiguration& at) const {
  const auto cell = std::find_if(points_.begin(), points_.end(),
                                 [&](const ProfilePoint& point) { return point.at == at; });
  if (cell != points_.end())
    return PowerPrediction{cell->seconds, cell->watts, PredictionSource::measured};
  if (!fit_) return interpolate(at);
  if (!is_reached(at)) return std::nullopt;
  return PowerPrediction{seconds_of(fit_->time, at), watts_of(fit_->time, fit_->power, at),
                         PredictionSource::fitted};
}

bool FittedJob::is_reached(const JobConfiguration& at) const {
  const Reach reach{points_};
  if (reach.clocks.size() == 1 && at.clock != *reach.clocks.begin()) return false;
  if (reach.batches.size() == 1 && at.local_batch != *reach.batches.begin()) return false;
  if (at.gpus == 1) return reach.has_single;
  const auto& sizes = at.nodes > 1 ? reach.sizes_across : reach.sizes_inside;
  return sizes.size() > 1 || sizes.count(at.gpus) == 1;
}

// Straight in logarithms, along the way on which the neighbours are nearest to each other.
std::optional<PowerPrediction> FittedJob::interpolate(const JobConfiguration& at) const {
  std::array<Neighbours, 3> ways;
  for (const ProfilePoint& point : points_) {
    const auto apart = difference(at, point.at);
    if (apart) ways[static_cast<std::size_t>(apart->way)].offer(point, apart->distance);
  }
  const Neighbours* best = nullptr;
  for (const Neighbours& way : ways)
    if (way.enclose() && (best == nullptr || way.span() < best->span())) best = &way;
  if (best == nullptr) return std::nullopt;
  const double part = -best->to_below / best->span();
  return PowerPrediction{between(best->below->seconds, best->above->seconds, part),
                         between(best->below->watts, best->above->watts, part),
                         PredictionSource::interpolated};
}

}  // namespace weir::predict
