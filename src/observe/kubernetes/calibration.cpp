// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/calibration.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

namespace weir::observe {
namespace {

using SortedJson = nlohmann::json;

// Before enough starts were seen, these stand for them: the points of a normal distribution whose 10 and 90 % points
// are -1 and 1.
constexpr double kPrior[] = {-1.53, -1.12, -0.83, -0.6, -0.4, -0.2, 0,
                             0.2,   0.4,   0.6,   0.83, 1.12, 1.53};
constexpr double kNarrowest = 0.05;  // half-width in logarithms that a side has at least

double log_seconds(double seconds) {
  return std::log(std::max(0.0, seconds) + 1);
}

double half_width(double from, double to) {
  return std::max(kNarrowest, log_seconds(to) - log_seconds(from));
}

// The score below which a fraction lies, with undecided ones (Kaplan-Meier from below).
double point(const std::vector<std::pair<double, bool>>& scores, double fraction) {
  double left = 1;
  auto there = static_cast<double>(scores.size());
  double last = 0;
  for (const auto& [score, is_decided] : scores) {
    if (is_decided) {
      left *= 1 - 1 / there;
      last = score;
      if (1 - left >= fraction - 1e-9) return score;
    }
    --there;
  }
  return scores.empty() ? last : std::max(last, scores.back().first);
}

}  // namespace

double score_of(double wait, const WaitBand& raw) {
  const double distance = log_seconds(wait) - log_seconds(raw.median);
  return distance /
         (distance >= 0 ? half_width(raw.median, raw.high) : half_width(raw.low, raw.median));
}

void Calibration::predicted(const std::string& pod, Time at, const WaitBand& raw) {
  if (open_.size() < kKeptOpen) open_.try_emplace(pod, Open{at, raw});
}

void Calibration::started(const std::string& pod, Time at) {
  const auto found = open_.find(pod);
  if (found == open_.end()) return;
  scores_.push_back(score_of(to_seconds(at - found->second.at), found->second.raw));
  if (scores_.size() > kKeptScores) scores_.pop_front();
  ++seen_;
  open_.erase(found);
}

Calibration::Points Calibration::points(Time now) const {
  std::vector<std::pair<double, bool>> scores;
  for (const double score : kPrior) scores.emplace_back(score, true);
  for (const double score : scores_) scores.emplace_back(score, true);
  for (const auto& [pod, open] : open_)
    scores.emplace_back(score_of(to_seconds(now - open.at), open.raw), false);
  std::ranges::sort(scores, [](const auto& a, const auto& b) {
    return std::pair{a.first, !a.second} < std::pair{b.first, !b.second};
  });
  Points points{point(scores, 0.1), point(scores, 0.5), point(scores, 0.9)};
  points.median = std::max(points.low, points.median);
  points.high = std::max(points.median, points.high);
  return points;
}

WaitBand Calibration::adjusted(const WaitBand& raw, Time now) const {
  const auto all = points(now);
  const auto at = [&](double score) {
    const double width =
        score >= 0 ? half_width(raw.median, raw.high) : half_width(raw.low, raw.median);
    return std::max(0.0, std::exp(log_seconds(raw.median) + score * width) - 1);
  };
  return {at(all.low), at(all.median), at(all.high)};
}

std::string Calibration::to_json() const {
  SortedJson open = SortedJson::object();
  for (const auto& [pod, one] : open_) {
    open[pod] = {one.at.time_since_epoch().count(), one.raw.low, one.raw.median, one.raw.high};
  }
  return SortedJson{{"scores", scores_}, {"seen", seen_}, {"open", open}}.dump(
      -1, ' ', false, SortedJson::error_handler_t::replace);
}

Result<Calibration> Calibration::from_json(std::string_view text, const std::string& file) {
  Calibration calibration;
  try {
    const auto all = SortedJson::parse(text);
    calibration.scores_ = all.at("scores").get<std::deque<double>>();
    calibration.seen_ = all.at("seen").get<std::size_t>();
    for (const auto& [pod, one] : all.at("open").items()) {
      calibration.open_[pod] = {
          Time{Duration{one.at(0).get<std::int64_t>()}},
          {one.at(1).get<double>(), one.at(2).get<double>(), one.at(3).get<double>()}};
    }
  } catch (const SortedJson::exception& error) {
    return bad_input(
        {file, 0, "", error.what(), "what weir wrote there, or no file: it learns anew"});
  }
  return calibration;
}

}  // namespace weir::observe
