// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/overhead_drift.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "predict/kernels/kernel_features.h"
#include "predict/kernels/launch_sketch.h"
#include "predict/kernels/nonnegative_least_squares.h"

namespace weir::predict {
namespace {

constexpr std::size_t kLeastTable = 500;    // rows
constexpr std::size_t kLeastSequence = 40;  // rows that launch the same kernels
constexpr double kUnrelated = 0.1;          // correlation of rows and their work
constexpr double kWorthIt = 0.1;            // of the middle time, in the last row
constexpr double kLeastKernelShare = 0.2;  // of a measured time is the kernel's, whatever the drift
constexpr int kDriftPasses = 6;
constexpr double kSmallMiss = 0.03;
constexpr double kEvenSection = 1e-9;       // growth in which a section counts as even
constexpr std::size_t kGrowthSections = 4;  // of a table: the overhead grows evenly in each

using DriftRows = std::vector<const KernelSample*>;

double work_size(const KernelSample& sample) {
  const KernelWork work = kernel_work(sample.call);
  return std::log(std::max({work.flops, work.all_bytes(), 1.0}));
}

double correlation_of_rows_and_work(const DriftRows& rows) {
  const auto count = static_cast<double>(rows.size());
  double row_mean = 0;
  double work_mean = 0;
  for (const KernelSample* sample : rows) {
    row_mean += static_cast<double>(sample->row) / count;
    work_mean += work_size(*sample) / count;
  }
  double both = 0;
  double row_square = 0;
  double work_square = 0;
  for (const KernelSample* sample : rows) {
    const double row = static_cast<double>(sample->row) - row_mean;
    const double work = work_size(*sample) - work_mean;
    both += row * work;
    row_square += row * row;
    work_square += work * work;
  }
  return row_square > 0 && work_square > 0 ? both / std::sqrt(row_square * work_square) : 1;
}

// Milliseconds by which the overhead grows in each section of the table.
using SectionGrowth = std::array<double, kGrowthSections>;

// How far into each section a row stands, from 0 to 1.
SectionGrowth sections_before(std::int64_t row, std::int64_t last_row) {
  const double place = static_cast<double>(row) / static_cast<double>(last_row) * kGrowthSections;
  SectionGrowth shares{};
  for (std::size_t i = 0; i < kGrowthSections; ++i)
    shares[i] = std::clamp(place - static_cast<double>(i), 0.0, 1.0);
  return shares;
}

// Of kernels that are launched alike: the coefficients of the sections beside those of the work. Far misses count less
// with each pass.
SectionGrowth growth_of_sequence(const DriftRows& rows, std::int64_t last_row,
                                 const KernelModel& model) {
  using Columns = std::array<double, kWorkColumns + kGrowthSections>;
  std::vector<Columns> columns;
  columns.reserve(rows.size());
  for (const KernelSample* sample : rows) {
    const LaunchSketch sketch = sketch_of(sample->call, sample->launch, model.device.sms);
    const KernelFeatures features =
        kernel_features(sample->call, sketch,
                        launch_size(sketch, kernel_work(sample->call), sample->launch), model);
    Columns& one = columns.emplace_back();
    const auto next = std::copy(features.columns.begin(), features.columns.end(), one.begin());
    const SectionGrowth sections = sections_before(sample->row, last_row);
    std::copy(sections.begin(), sections.end(), next);
  }
  std::vector<double> fitted;
  for (int pass = 0; pass < kDriftPasses; ++pass) {
    NonnegativeLeastSquares squares{kWorkColumns + kGrowthSections};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      double weight = 1 / rows[i]->milliseconds;
      if (pass > 0) {
        double sum = 0;
        for (std::size_t c = 0; c < fitted.size(); ++c) sum += fitted[c] * columns[i][c];
        const double ratio = std::clamp(sum / rows[i]->milliseconds, 0.1, 10.0);
        weight /= std::sqrt(std::max(std::abs(std::log(ratio)), kSmallMiss));
      }
      squares.add(columns[i], rows[i]->milliseconds, weight);
    }
    fitted = squares.solve();
  }
  SectionGrowth growth{};
  std::copy(fitted.begin() + kWorkColumns, fitted.end(), growth.begin());
  return growth;
}

struct WeighedGrowth {
  SectionGrowth growth{};
  std::size_t rows = 0;
};

// Half of the rows are in sequences with less.
double middle_growth(std::vector<WeighedGrowth>& sequences, std::size_t section) {
  std::sort(sequences.begin(), sequences.end(),
            [section](const WeighedGrowth& a, const WeighedGrowth& b) {
              return a.growth[section] < b.growth[section];
            });
  std::size_t all = 0;
  for (const WeighedGrowth& one : sequences) all += one.rows;
  std::size_t below = 0;
  for (const WeighedGrowth& one : sequences) {
    below += one.rows;
    if (2 * below >= all) return one.growth[section];
  }
  return 0;
}

double middle_time(const DriftRows& rows) {
  std::vector<double> times;
  times.reserve(rows.size());
  for (const KernelSample* sample : rows) times.push_back(sample->milliseconds);
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                   times.end());
  return times[times.size() / 2];
}

// Empty where there is none.
OverheadGrowth growth_of_table(const DriftRows& rows, const KernelModel& model) {
  if (rows.size() < kLeastTable || std::abs(correlation_of_rows_and_work(rows)) > kUnrelated)
    return {};
  std::map<std::string, DriftRows> by_launch;
  OverheadGrowth growth;
  for (const KernelSample* sample : rows) {
    by_launch[sample->call.dtype + " " + sample->call.variant + " " + sample->launch.algorithm]
        .push_back(sample);
    growth.last_row = std::max(growth.last_row, sample->row);
  }
  if (growth.last_row == 0) return {};
  std::vector<WeighedGrowth> sequences;
  for (const auto& [key, alike] : by_launch)
    if (alike.size() >= kLeastSequence)
      sequences.push_back({growth_of_sequence(alike, growth.last_row, model), alike.size()});
  growth.milliseconds = {0};
  for (std::size_t section = 0; section < kGrowthSections; ++section)
    growth.milliseconds.push_back(growth.milliseconds.back() + middle_growth(sequences, section));
  return growth.last_milliseconds() > kWorthIt * middle_time(rows) ? growth : OverheadGrowth{};
}

}  // namespace

std::string drift_key(const KernelCall& call) {
  return std::string{to_string(call.family)} + "/" + call.op;
}

const OverheadGrowth* OverheadDrift::growth_of(const KernelCall& call) const {
  if (growth.empty()) return nullptr;
  const auto at = growth.find(drift_key(call));
  return at == growth.end() ? nullptr : &at->second;
}

double overhead_at(const OverheadGrowth& growth, double row) {
  if (growth.milliseconds.size() < 2 || growth.last_row == 0) return 0;
  const std::size_t sections = growth.milliseconds.size() - 1;
  const double place = row / static_cast<double>(growth.last_row) * static_cast<double>(sections);
  const auto section = static_cast<std::size_t>(
      std::clamp(std::floor(place), 0.0, static_cast<double>(sections - 1)));
  const double from = growth.milliseconds[section];
  return from + (growth.milliseconds[section + 1] - from) * (place - static_cast<double>(section));
}

double OverheadDrift::milliseconds(const KernelSample& sample) const {
  const OverheadGrowth* const found = growth_of(sample.call);
  return found == nullptr ? 0 : overhead_at(*found, static_cast<double>(sample.row));
}

double OverheadDrift::kernel_milliseconds(const KernelSample& sample) const {
  return kernel_milliseconds(sample, milliseconds(sample));
}

double OverheadDrift::kernel_milliseconds(const KernelSample& sample, double overhead) {
  return std::max(sample.milliseconds - overhead, kLeastKernelShare * sample.milliseconds);
}

// The middle of all times, which weigh by what they are divided by: in a section of even growth, by its logarithm.
double with_unknown_overhead(double kernel, std::span<const double> overheads) {
  if (overheads.size() < 2) return kernel;
  const auto weight = [&](double from, double to) {
    const double growth = (to - from) / (kernel + from);
    return growth > kEvenSection ? std::log1p(growth) / (to - from) : 1 / (kernel + from);
  };
  double half = 0;
  for (std::size_t i = 1; i < overheads.size(); ++i)
    half += weight(overheads[i - 1], overheads[i]) / 2;
  for (std::size_t i = 1; i < overheads.size(); ++i) {
    const double from = overheads[i - 1];
    const double here = weight(from, overheads[i]);
    if (half <= here) return (kernel + from) * std::exp(half * (overheads[i] - from));
    half -= here;
  }
  return kernel + overheads.back();
}

OverheadDrift find_overhead_drift(std::span<const KernelSample* const> samples,
                                  const DeviceSpec& device) {
  KernelModel model;
  model.device = device;
  std::map<std::string, DriftRows> tables;
  for (const KernelSample* sample : samples) tables[drift_key(sample->call)].push_back(sample);
  OverheadDrift found;
  for (const auto& [key, rows] : tables) {
    const OverheadGrowth growth = growth_of_table(rows, model);
    if (!growth.milliseconds.empty()) found.growth[key] = growth;
  }
  return found;
}

KernelsAlone kernels_alone(std::span<const KernelSample* const> samples, const DeviceSpec& device,
                           bool looks_for_drift) {
  KernelsAlone alone;
  if (looks_for_drift) alone.drift = find_overhead_drift(samples, device);
  alone.samples.reserve(samples.size());
  alone.pointers.reserve(samples.size());
  for (const KernelSample* sample : samples) {
    KernelSample& one = alone.samples.emplace_back(*sample);
    one.milliseconds = alone.drift.kernel_milliseconds(*sample);
    alone.pointers.push_back(&one);
  }
  return alone;
}

KernelModel fit_kernels_alone(std::span<const KernelSample* const> samples,
                              const DeviceSpec& device, const KernelFitOptions& options) {
  const KernelsAlone alone = kernels_alone(samples, device, options.with_drift);
  // What is left of a call without its overhead has the overhead's noise too. On the public tables neighbours would make
  // held-out convolutions 1 % worse.
  KernelFitOptions how = options;
  for (const auto& [key, growth] : alone.drift.growth) how.noisy.insert(key);
  KernelModel model = fit_kernels(alone.pointers, device, how);
  model.drift = alone.drift.growth;
  return model;
}

}  // namespace weir::predict
