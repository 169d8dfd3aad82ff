// SPDX-License-Identifier: Apache-2.0
#include "simulate/published/elasticflow_plan.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace weir::simulate::published {
namespace {

Seconds rounded_up(double seconds) {
  return static_cast<Seconds>(std::ceil(seconds));
}

class Planner {
 public:
  Planner(const PlanInput& input, const Steps& free)
      : input_{input},
        job_{*input.job},
        before_{free},
        free_{free},
        left_{input.job->left},
        last_seen_{input.cluster_gpus} {
    from_ = input.now;
    gpus_[from_] = 0;
    deadline_slot_ = on_slot(job_.deadline);
    if (deadline_slot_ >= input.now && !free_.contains(deadline_slot_)) {
      const auto after = free_.lower_bound(deadline_slot_);
      last_seen_ = std::prev(after)->second;
      free_.emplace_hint(after, deadline_slot_, last_seen_);
    }
  }

  ElasticPlan make() {
    if (input_.gpus_now) {
      if (auto plan = begin_with(*input_.gpus_now)) return std::move(*plan);
    }
    if (auto plan = by_the_deadline()) return std::move(*plan);
    take_all_until_the_deadline();
    return after_the_deadline();
  }

 private:
  Seconds on_slot(Seconds time) const { return aligned(input_.now, time, input_.slot); }

  // Up to the true deadline in the last slot.
  Seconds length_of(Seconds from, Seconds to) const {
    return (to == deadline_slot_ ? job_.deadline : to) - from;
  }
  double work(Seconds from, Seconds to, std::int32_t gpus) const {
    return static_cast<double>(length_of(from, to)) * job_.rate_at(gpus);
  }

  ElasticPlan finished(Seconds end, Seconds real_end) {
    return {merged(gpus_), end, real_end, merged(free_)};
  }

  // The first piece on that many GPUs. A plan when it suffices.
  std::optional<ElasticPlan> begin_with(std::int32_t gpus) {
    const auto next_piece = before_.upper_bound(from_);
    const Seconds until = next_piece == before_.end() ? deadline_slot_ : next_piece->first;
    gpus_[from_] = gpus;
    const double rate = job_.rate_at(gpus);
    const Seconds real_end = rounded_up(static_cast<double>(from_) + left_ / rate);
    const Seconds end = on_slot(real_end);
    if (until >= end && job_.deadline >= real_end) {
      std::int32_t last = input_.cluster_gpus;
      for (auto step = before_.lower_bound(from_); step != before_.end() && step->first < end;
           ++step) {
        last = free_[step->first];
        free_[step->first] -= gpus;
      }
      if (from_ != end) free_[from_] = before_.at(from_) - gpus;
      if (!before_.contains(end)) free_[end] = last;
      return finished(end, real_end);
    }
    left_ -= work(from_, until, gpus);
    free_[from_] -= gpus;
    from_ = until;
    gpus_[from_] = 0;
    return std::nullopt;
  }

  // The least level that suffices: backwards from the deadline at that level until what is left is
  // done, and the level below before.
  std::optional<ElasticPlan> by_the_deadline() {
    std::int32_t level = job_.next_size(0);
    while (level <= input_.cluster_gpus && level <= job_.most) {
      for (const auto& [time, unused] : free_) {
        static_cast<void>(unused);
        if (time < deadline_slot_) gpus_.emplace(time, 0);
      }
      Seconds until = deadline_slot_;
      double done = 0;
      for (auto step = free_.rbegin(); step != free_.rend(); ++step) {
        const auto& [time, available] = *step;
        if (time >= deadline_slot_) continue;
        if (time < from_) break;
        const std::int32_t gpus =
            available < level ? std::min(level, job_.largest_on(available)) : level;
        if (gpus > 0) {
          done += work(time, until, gpus);
          if (done >= left_) return with_levels(lower_level_, level, time);
        }
        until = time;
      }
      lower_level_ = level;
      level = job_.next_size(level);
      if (level == lower_level_) break;
    }
    return std::nullopt;
  }

  ElasticPlan with_levels(std::int32_t lower, std::int32_t higher, Seconds from_when) {
    const auto gpus_at = [&](Seconds time) {
      return std::min(time >= from_when ? higher : lower, job_.largest_on(free_.at(time)));
    };
    std::optional<Seconds> piece;
    std::int32_t gpus = 0;
    std::optional<std::pair<Seconds, Seconds>> ends;  // on a slot, and really
    const auto end_within = [&](Seconds from) {
      const Seconds real = rounded_up(left_ / job_.rate_at(gpus));
      return std::pair{from + aligned(0, real, input_.slot), from + real};
    };
    for (auto step = free_.lower_bound(from_); step != free_.end() && step->first <= deadline_slot_;
         ++step) {
      const Seconds time = step->first;
      if (piece) {
        gpus_[*piece] = gpus;
        free_[*piece] -= gpus;
        if (gpus > 0) {
          const double done = work(*piece, time, gpus);
          if (*piece >= from_when && done >= left_) {
            ends = end_within(*piece);
            break;
          }
          left_ -= done;
        }
      }
      piece = time;
      gpus = gpus_at(time);
    }
    if (!ends) {  // by a rounding error
      gpus_[*piece] = gpus;
      free_[*piece] -= gpus;
      ends = gpus > 0 ? end_within(*piece) : std::pair{*piece + input_.slot, *piece + 1};
    }
    const auto [end, real_end] = *ends;
    std::int32_t last = input_.cluster_gpus;
    for (auto step = before_.lower_bound(from_); step != before_.end() && step->first < end; ++step)
      last = step->second;
    if (!before_.contains(end)) free_[end] = last;
    return finished(end, real_end);
  }

  void take_all_until_the_deadline() {
    std::optional<Seconds> piece;
    std::int32_t gpus = 0;
    for (auto step = free_.lower_bound(from_); step != free_.end() && step->first <= deadline_slot_;
         ++step) {
      const Seconds time = step->first;
      if (piece) {
        gpus_[*piece] = gpus;
        free_[*piece] -= gpus;
        if (gpus > 0) left_ -= work(*piece, time, gpus);
      }
      piece = time;
      gpus = std::min(lower_level_, job_.largest_on(step->second));
    }
  }

  ElasticPlan after_the_deadline() {
    Seconds piece = std::max(deadline_slot_, from_);
    for (const auto& [time, unused] : free_) {
      static_cast<void>(unused);
      if (time <= deadline_slot_) continue;
      const std::int32_t gpus = job_.largest_on(free_[piece]);
      gpus_[piece] = gpus;
      if (gpus > 0) {
        const double rate = job_.rate_at(gpus);
        const double done = static_cast<double>(time - piece) * rate;
        if (done >= left_) return late_end(piece, gpus);
        left_ -= done;
        for (auto step = before_.begin(); step != before_.end() && step->first < piece; ++step)
          last_seen_ = free_[step->first];
        for (auto step = free_.lower_bound(piece); step != free_.end() && step->first < time;
             ++step) {
          step->second -= gpus;
        }
      }
      piece = time;
    }
    const std::int32_t gpus = input_.gpus_now.value_or(std::min(input_.cluster_gpus, job_.most));
    gpus_[piece] = gpus;
    const Seconds real_end = rounded_up(static_cast<double>(piece) + left_ / job_.rate_at(gpus));
    const Seconds end = on_slot(real_end);
    free_[piece] = input_.cluster_gpus - gpus;
    free_[end] = input_.cluster_gpus;
    return finished(end, real_end);
  }

  ElasticPlan late_end(Seconds piece, std::int32_t gpus) {
    const Seconds real_end = rounded_up(static_cast<double>(piece) + left_ / job_.rate_at(gpus));
    const Seconds end = on_slot(real_end);
    std::int32_t last = last_seen_;
    for (auto step = free_.lower_bound(deadline_slot_); step != free_.end() && step->first < end;
         ++step) {
      if (const auto known = before_.find(step->first); known != before_.end())
        last = known->second;
      if (step->first >= piece) step->second -= gpus;
    }
    if (piece != end) free_[piece] = last - gpus;
    if (!before_.contains(end)) free_[end] = last;
    return finished(end, real_end);
  }

  const PlanInput& input_;
  const PublishedJob& job_;
  const Steps& before_;
  Steps free_;
  Steps gpus_;
  double left_;
  Seconds from_;           // where planning stands
  Seconds deadline_slot_;  // the deadline, on a slot
  std::int32_t lower_level_ = 0;
  std::int32_t last_seen_;  // free GPUs before the deadline, as the public code remembers them
};

}  // namespace

std::int64_t gpu_time(const Steps& gpus, Seconds end) {
  std::int64_t sum = 0;
  for (auto step = gpus.begin(); step != gpus.end(); ++step) {
    const auto next = std::next(step);
    sum += step->second * ((next == gpus.end() ? end : next->first) - step->first);
  }
  return sum;
}

std::int64_t ElasticPlan::gpu_time() const {
  return published::gpu_time(gpus, end);
}

ElasticPlan plan_elastically(const PlanInput& input, const Steps& free) {
  return Planner{input, free}.make();
}

}  // namespace weir::simulate::published
