// SPDX-License-Identifier: Apache-2.0
#include "predict/overlap/contention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace weir::predict {
namespace {

constexpr double kWholeWavesUpTo = 8;
// What moves at all has at least this rate or share.
constexpr double kLeastShare = 0.05;
// Rates are measured to about this.
constexpr double kHardlyMoves = 0.02;

double interpolate(const std::vector<double>& places, const std::vector<double>& values,
                   double at) {
  const auto above = std::upper_bound(places.begin(), places.end(), at);
  if (above == places.begin()) return values.front();
  if (above == places.end()) return values.back();
  const auto i = static_cast<std::size_t>(above - places.begin());
  const double part = (at - places[i - 1]) / (places[i] - places[i - 1]);
  return values[i - 1] + part * (values[i] - values[i - 1]);
}

// The mean of the largest falling curve below and the smallest above.
void make_falling(std::vector<double>& values) {
  std::vector<double> below = values;
  std::vector<double> above = values;
  for (std::size_t i = 1; i < values.size(); ++i) below[i] = std::min(below[i], below[i - 1]);
  for (std::size_t i = values.size(); i-- > 1;) above[i - 1] = std::max(above[i - 1], above[i]);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = (below[i] + above[i]) / 2;
}

double usable_rate(double measured) {
  return measured < kHardlyMoves ? kStandstill : std::clamp(measured, kLeastShare, 1.0);
}

// Holding SMs only comes first, as fast as it can last.
double pace_order(double target) {
  if (target < 0) return 0;
  return target == 0 ? std::numeric_limits<double>::infinity() : target;
}

}  // namespace

double wave_growth(int blocks, int blocks_per_sm, int sms, int left) {
  const double per_wave = static_cast<double>(blocks_per_sm) * sms;
  const double alone = blocks / per_wave;
  const double beside = blocks / (static_cast<double>(blocks_per_sm) * left);
  if (alone > kWholeWavesUpTo) return beside / alone;
  return std::ceil(beside) / std::ceil(alone);
}

double modelled_rate(const ContendedGpu& gpu, const OverlapKernel& kernel, int ctas, double gbps) {
  if (ctas == 0) return 1;
  const int left = std::max(1, gpu.sms - ctas);
  double sm_part = static_cast<double>(left) / gpu.sms;
  if (kernel.blocks > 0) {
    sm_part = 1 / wave_growth(kernel.blocks, kernel.blocks_per_sm, gpu.sms, left);
  }
  double memory_part = 1;
  if (kernel.memory_gbps > 0) {
    const double free = gpu.memory_gbps - gpu.memory_per_wire_byte * gbps;
    memory_part = std::min(1.0, free / kernel.memory_gbps);
  }
  return std::max(kLeastShare, std::min(sm_part, memory_part) * (1 - gpu.residual));
}

double modelled_collective_share(const ContendedGpu& gpu, const OverlapKernel& kernel, double rate,
                                 double gbps) {
  const double wanted = gpu.memory_per_wire_byte * gbps;
  if (wanted <= 0) return 1;
  const double free = gpu.memory_gbps - kernel.memory_gbps * rate;
  return std::clamp(free / wanted, kLeastShare, 1.0);
}

ContentionCurve::ContentionCurve(const std::vector<MeasuredRate>& rows)
    : spread_{columns_of(rows, CollectivePlace::spread)},
      between_{columns_of(rows, CollectivePlace::between)} {
  for (const MeasuredRate& row : rows) most_ctas_ = std::max(most_ctas_, row.ctas);
}

ContentionCurve::Columns ContentionCurve::columns_of(const std::vector<MeasuredRate>& rows,
                                                     CollectivePlace place) {
  Columns columns;
  std::set<int> all_ctas;
  std::set<double> paces;
  std::map<std::pair<int, double>, MeasuredRate> measured;
  for (const MeasuredRate& row : rows) {
    if (row.place != place) continue;
    all_ctas.insert(row.ctas);
    paces.insert(pace_order(row.target_gbps));
    measured[{row.ctas, pace_order(row.target_gbps)}] = row;
  }
  // By pace, then CTAs. What was not measured is as at the pace before, or with fewer CTAs.
  std::vector<std::vector<double>> grid;
  for (const double pace : paces) {
    std::vector<double> line;
    for (const int ctas : all_ctas) {
      const auto found = measured.find({ctas, pace});
      double rate = 1;
      if (found != measured.end()) {
        rate = usable_rate(found->second.rate);
      } else if (!grid.empty()) {
        rate = grid.back()[line.size()];
      } else if (!line.empty()) {
        rate = line.back();
      }
      line.push_back(rate);
    }
    grid.push_back(std::move(line));
  }
  for (std::vector<double>& line : grid) make_falling(line);
  std::size_t column = 0;
  for (const int ctas : all_ctas) {
    AtCtas at{ctas, {}, {}};
    std::vector<double> rates;
    for (const std::vector<double>& line : grid) rates.push_back(line[column]);
    make_falling(rates);
    std::size_t line = 0;
    for (const double pace : paces) {
      const double rate = rates[line++];
      double gbps = pace;
      if (std::isinf(pace)) {
        // What it moved then; no further point where a pace that was asked for is already more.
        const auto found = measured.find({ctas, pace});
        if (found == measured.end()) continue;
        gbps = found->second.gbps;
        if (!at.gbps.empty() && gbps <= at.gbps.back()) continue;
      }
      at.gbps.push_back(gbps);
      at.rates.push_back(rate);
    }
    if (at.gbps.empty()) {
      at.gbps.push_back(0);
      at.rates.push_back(rates.back());
    }
    columns.push_back(std::move(at));
    ++column;
  }
  return columns;
}

double ContentionCurve::rate(int ctas, double gbps, CollectivePlace place) const {
  if (ctas <= 0) return 1;
  const bool is_between = spread_.empty() || (place == CollectivePlace::between && knows_places());
  std::vector<double> places{0};
  std::vector<double> rates{1};
  for (const AtCtas& at : is_between ? between_ : spread_) {
    places.push_back(1 + std::log2(at.ctas));
    rates.push_back(std::min(rates.back(), interpolate(at.gbps, at.rates, gbps)));
  }
  return interpolate(places, rates, 1 + std::log2(ctas));
}

bool needs_places(const ContentionCurves& curves, const OverlapKernel& kernel) {
  const auto curve = curves.find(kernel.curve);
  return kernel.cluster > 1 && curve != curves.end() && curve->second.knows_places();
}

double contended_rate(const ContendedGpu& gpu, const ContentionCurves& curves,
                      const OverlapKernel& kernel, int ctas, double gbps, CollectivePlace place) {
  const auto curve = curves.find(kernel.curve);
  if (curve == curves.end()) return modelled_rate(gpu, kernel, ctas, gbps);
  const double measured = curve->second.rate(ctas, gbps, place);
  if (ctas <= curve->second.most_ctas()) return measured;
  return std::min(measured, modelled_rate(gpu, kernel, ctas, gbps));
}

}  // namespace weir::predict
