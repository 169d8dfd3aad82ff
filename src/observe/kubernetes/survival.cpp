// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/survival.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weir::observe {

Survival::Survival(std::vector<double> ended, std::vector<double> not_ended) {
  std::ranges::sort(ended);
  std::ranges::sort(not_ended);
  if (!ended.empty())
    mean_ = std::accumulate(ended.begin(), ended.end(), 0.0) / static_cast<double>(ended.size());
  auto still_there = static_cast<double>(ended.size() + not_ended.size());
  double left = 1;
  std::size_t censored = 0;
  for (std::size_t i = 0; i < ended.size();) {
    const double age = ended[i];
    for (; censored < not_ended.size() && not_ended[censored] < age; ++censored) --still_there;
    double count = 0;
    for (; i < ended.size() && ended[i] == age; ++i) ++count;
    left *= 1 - count / still_there;
    still_there -= count;
    ends_.push_back(age);
    survival_.push_back(std::max(0.0, left));
  }
}

double Survival::beyond(double t) const {
  const auto at = std::ranges::upper_bound(ends_, t);
  if (at == ends_.begin()) return 1;
  const double left = survival_[static_cast<std::size_t>(at - ends_.begin()) - 1];
  if (at != ends_.end() || t <= ends_.back()) return left;
  return left * std::pow(ends_.back() / t, kTailShape);
}

double Survival::age_with(double left) const {
  const auto at = std::ranges::partition_point(survival_, [&](double s) { return s > left; });
  if (at != survival_.end()) return ends_[static_cast<std::size_t>(at - survival_.begin())];
  if (ends_.empty()) return 0;
  return ends_.back() * std::pow(survival_.back() / left, 1 / kTailShape);
}

double Survival::draw(SeededRng& rng, double age) const {
  const double uniform = 1 - rng.uniform();  // in (0, 1]
  const double left = beyond(age);
  if (left <= 0) return std::max(age, 1e-3) * std::pow(uniform, -1 / kTailShape);
  return std::max(age, age_with(uniform * left));
}

}  // namespace weir::observe
