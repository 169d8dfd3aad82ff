// SPDX-License-Identifier: Apache-2.0
#include "plan/overlap/overlap_search.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <tuple>

namespace weir::plan {
namespace {

using predict::OverlapStep;
using predict::OverlapTimeline;
using predict::SentGroups;
using predict::StepMoment;

// Moments nearer than this part of the whole step are the same: sums in another order.
constexpr double kSameMoment = 1e-11;

// Fronts that points come to are reduced at so many times their limit: memory stays bounded however many groups may be
// sent together.
constexpr std::size_t kCrowded = 16;

struct FrontPoint {
  StepMoment at;
  double sending = 0;     // sum of the collectives' times alone
  std::int64_t ctas = 0;  // of all collectives
  std::size_t choice = 0;
  std::size_t parent_group = 0;  // sent before
  std::size_t parent = 0;        // in that group's front
};

class OverlapSearch {
 public:
  OverlapSearch(const OverlapStep& step, const OverlapSearchLimits& limits)
      : step_{step},
        limits_{limits},
        choices_{limits.choices},
        same_{kSameMoment * step.without_overlap_ms()},
        fronts_(step.groups().size() + 1) {
    if (!choices_.empty()) return;
    choices_.resize(step.ctas().size());
    std::iota(choices_.begin(), choices_.end(), std::size_t{0});
  }

  OverlapPlan find() {
    const std::size_t groups = step_.groups().size();
    fronts_[0].push_back({.at = wait_before(0, {})});
    for (std::size_t sent = 0; sent < groups; ++sent) {
      if (sent > 0) reduce(fronts_[sent]);
      extend(sent);
    }
    if (groups > 0) reduce(fronts_[groups]);
    return step_.timeline().starts() > 1 ? best_or_alike(best()) : best();
  }

 private:
  // Whatever is sent next, it needs at least the next group.
  StepMoment wait_before(std::size_t group, StepMoment at) const {
    const double work =
        group < step_.groups().size() ? step_.groups()[group].ready_ms : step_.timeline().total();
    return OverlapTimeline::wait_for(at, work);
  }

  void extend(std::size_t sent) {
    const std::size_t groups = step_.groups().size();
    for (std::size_t end = sent + 1; end <= std::min(groups, sent + limits_.window); ++end) {
      const std::int64_t bytes = step_.bytes(sent, end);
      if (end > sent + 1 && bytes > limits_.bytes) break;
      const double ready = step_.groups()[end - 1].ready_ms;
      for (const std::size_t choice : choices_) {
        const double alone = step_.alone_ms(bytes, choice);
        const std::size_t slowed_by = step_.slows_like(bytes, choice);
        for (std::size_t p = 0; p < fronts_[sent].size(); ++p) {
          const FrontPoint& from = fronts_[sent][p];
          const StepMoment start = OverlapTimeline::wait_for(from.at, ready);
          const StepMoment over = step_.timeline().advance(start, alone, slowed_by);
          fronts_[end].push_back({wait_before(end, over), from.sending + alone,
                                  from.ctas + step_.ctas()[choice], choice, sent, p});
          ++transitions_;
        }
        if (limits_.front > 0 && fronts_[end].size() > kCrowded * limits_.front)
          reduce(fronts_[end]);
      }
    }
  }

  // Leaves the points that no other makes pointless, earliest first; so their work ascends, too.
  void reduce(std::vector<FrontPoint>& front) const {
    std::sort(front.begin(), front.end(), [](const FrontPoint& a, const FrontPoint& b) {
      return std::tie(a.at.time_ms, b.at.work_ms, a.sending, a.choice, a.parent_group, a.parent) <
             std::tie(b.at.time_ms, a.at.work_ms, b.sending, b.choice, b.parent_group, b.parent);
    });
    std::vector<FrontPoint> kept;
    for (const FrontPoint& point : front) {
      if (kept.empty() || point.at.work_ms > kept.back().at.work_ms + same_) {
        kept.push_back(point);
      } else if (is_same(point, kept.back()) && is_lighter(point, kept.back())) {
        kept.back() = point;
      }
    }
    front = std::move(kept);
    if (limits_.front > 0 && front.size() > limits_.front) thin(front);
  }

  bool is_same(const FrontPoint& a, const FrontPoint& b) const {
    return std::abs(a.at.time_ms - b.at.time_ms) <= same_ &&
           std::abs(a.at.work_ms - b.at.work_ms) <= same_;
  }

  // Of ways to the same moment the one that sends less, then the one that takes fewer CTAs from computing.
  bool is_lighter(const FrontPoint& a, const FrontPoint& b) const {
    if (std::abs(a.sending - b.sending) > same_) return a.sending < b.sending;
    return a.ctas < b.ctas;
  }

  // The first point, and of each slice of time the one with most work.
  void thin(std::vector<FrontPoint>& front) const {
    const double from = front.front().at.time_ms;
    const double width = front.back().at.time_ms - from;
    const auto slices = static_cast<double>(std::max<std::size_t>(2, limits_.front) - 1);
    const auto slice_of = [&](const FrontPoint& point) {
      return std::min(slices - 1, std::floor((point.at.time_ms - from) / width * slices));
    };
    std::vector<FrontPoint> kept{front.front()};
    for (std::size_t i = 1; i < front.size(); ++i) {
      const bool is_last = i + 1 == front.size() || slice_of(front[i + 1]) != slice_of(front[i]);
      if (is_last) kept.push_back(front[i]);
    }
    front = std::move(kept);
  }

  OverlapPlan best() const {
    OverlapPlan plan;
    plan.transitions = transitions_;
    const std::vector<FrontPoint>& last = fronts_.back();
    plan.step_ms = last.front().at.time_ms;
    std::size_t group = fronts_.size() - 1;
    std::size_t index = 0;
    while (group > 0) {
      const FrontPoint& point = fronts_[group][index];
      plan.sent.push_back({group, point.choice});
      group = point.parent_group;
      index = point.parent;
    }
    std::reverse(plan.sent.begin(), plan.sent.end());
    return plan;
  }

  // Where the start of a collective decides what it leaves, being ahead can be worse, and a front is no proof. At
  // least no choice for all alike is better than what is found, neither with each group alone nor with those groups
  // together that the answer sends together.
  OverlapPlan best_or_alike(OverlapPlan plan) const {
    for (const std::size_t choice : choices_) take_if_better(all_alike(step_, choice), plan);
    for (const std::size_t choice : choices_) {
      std::vector<SentGroups> alike = plan.sent;
      for (SentGroups& sent : alike) sent.choice = choice;
      take_if_better(std::move(alike), plan);
    }
    return plan;
  }

  void take_if_better(std::vector<SentGroups> sent, OverlapPlan& plan) const {
    const double ms = step_.step_ms(sent);
    if (ms >= plan.step_ms - same_) return;
    plan.step_ms = ms;
    plan.sent = std::move(sent);
  }

  const OverlapStep& step_;
  const OverlapSearchLimits& limits_;
  std::vector<std::size_t> choices_;
  double same_;
  std::vector<std::vector<FrontPoint>> fronts_;  // by groups sent
  std::uint64_t transitions_ = 0;
};

}  // namespace

OverlapPlan search_overlap(const OverlapStep& step, const OverlapSearchLimits& limits) {
  return OverlapSearch{step, limits}.find();
}

std::vector<double> uniform_step_ms(const OverlapStep& step, const std::vector<SentGroups>& sent) {
  std::vector<double> times;
  for (std::size_t choice = 0; choice < step.ctas().size(); ++choice) {
    std::vector<SentGroups> alike = sent;
    for (SentGroups& part : alike) part.choice = choice;
    times.push_back(step.step_ms(alike));
  }
  return times;
}

std::size_t fewest_near_best(const std::vector<double>& step_ms) {
  const double best = *std::min_element(step_ms.begin(), step_ms.end());
  std::size_t choice = 0;
  while (step_ms[choice] > best * (1 + kTooNearToTell)) ++choice;
  return choice;
}

}  // namespace weir::plan
