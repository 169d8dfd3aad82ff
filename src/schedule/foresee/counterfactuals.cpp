// SPDX-License-Identifier: Apache-2.0
#include "schedule/foresee/counterfactuals.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace weir::schedule {
namespace {

using Change = Counterfactual::Change;

// Less is not worth telling.
constexpr Duration kWorthTelling = std::chrono::minutes{1};
constexpr std::int32_t kMostNodes = 8;
constexpr std::size_t kMostDecisions = 2'000;  // of one trial
constexpr std::size_t kMostOfOthers = 2;       // lines about the cancellation of others
constexpr Duration kRounded = std::chrono::minutes{1};

class CounterfactualSearch {
 public:
  CounterfactualSearch(State& state, const CoreConfig& config, Time now, const Asked& asked,
                       const CounterfactualLimits& limits)
      : state_{state}, config_{config}, now_{now}, asked_{asked}, limits_{limits} {}

  std::vector<Counterfactual> run() {
    const auto wish = wish_of_job();
    if (!wish) return {};
    wish_ = *wish;
    if (wish_ == Wish::promise && try_again()) return std::move(found_);
    if (wish_ != Wish::promise) before_ = outcome({});
    if (wish_ == Wish::start && before_ == now_) return {};  // it is about to
    try_more_gpus();
    try_without_others();
    if (wish_ == Wish::promise) try_later_deadline();
    if (found_.size() > limits_.most) found_.resize(limits_.most);
    return std::move(found_);
  }

 private:
  const TrainingState& training() const { return state_.training; }

  std::optional<Wish> wish_of_job() const {
    if (!training().knows(asked_.job)) return std::nullopt;
    const TrainingJob& job = training().job(asked_.job);
    if (job.phase == TrainingPhase::refused && asked_.again) return Wish::promise;
    if (job.phase != TrainingPhase::promised && job.phase != TrainingPhase::unpromised)
      return std::nullopt;
    if (job.is_at_risk && job.spec->deadline > now_) return Wish::in_time;
    return job.block.is_none() ? std::optional{Wish::start} : std::nullopt;
  }

  bool may_go_on() const { return !limits_.may_go_on || limits_.may_go_on(); }

  // When the wish comes true if that is supposed; never: Time::max().
  Time outcome(const Supposition& what) {
    ForeseeLimits limits;
    limits.may_go_on = limits_.may_go_on;
    limits.decisions = kMostDecisions;
    if (wish_ == Wish::promise) {
      const SupposedCore made = suppose(state_.fork(), config_, now_, what);
      for (const Record& record : made.records) {
        const auto* promise = std::get_if<PromiseMade>(&record.what);
        if (promise != nullptr && promise->job == made.submitted.back())
          return promise->timeline.end;
      }
      return Time::max();
    }
    (wish_ == Wish::start ? limits.only_until_start_of : limits.only_until_end_of) = asked_.job;
    const Forecast forecast = foresee(state_.fork(), config_, now_, what, limits);
    for (const ForeseenJob& job : forecast.jobs) {
      if (job.job != asked_.job) continue;
      if (wish_ == Wish::start) return job.started.value_or(Time::max());
      return job.is_on_time() ? *job.finished : Time::max();
    }
    return Time::max();
  }

  bool is_better(Time at) const {
    if (at == Time::max()) return false;
    if (wish_ == Wish::promise || before_ == Time::max()) return true;
    return wish_ == Wish::start && at + kWorthTelling <= before_;
  }

  // Whether it helps; if so it is told.
  bool try_change(Counterfactual tried) {
    if (!may_go_on()) return false;
    if (wish_ == Wish::promise && tried.supposition.submitted.empty())
      tried.supposition.submitted.push_back(*asked_.again);
    const Time at = outcome(tried.supposition);
    if (!is_better(at)) return false;
    tried.wish = wish_;
    tried.at = at;
    found_.push_back(std::move(tried));
    return true;
  }

  bool is_well_formed(const TrainingSpec& spec) const {
    return spec.deadline_kind == DeadlineKind::none || spec.margin < spec.deadline - now_;
  }

  bool try_again() {
    if (!is_well_formed(asked_.again->spec)) return false;
    Counterfactual again;
    again.change = Change::submitted_again;
    return try_change(std::move(again));
  }

  // The fewest that help, and the fewest that help at once if those are more.
  void try_more_gpus() {
    if (wish_ == Wish::promise && !is_well_formed(asked_.again->spec)) return;
    const PoolState& pool = *training().find_pool(training().job(asked_.job).pool);
    const auto stride = static_cast<std::int32_t>(pool.pool->stride);
    // A node that is not full would keep blocks from spanning nodes.
    const bool has_small_blocks =
        pool.pool->largest_block < pool.pool->stride ||
        (pool.pool->largest_block == pool.pool->stride && pool.pool->nodes.size() == 1);
    bool has_told = false;
    const auto try_nodes = [&](Change change, std::int32_t nodes, std::int32_t gpus_each) {
      Counterfactual more;
      more.change = change;
      more.count = change == Change::more_gpus ? gpus_each : nodes;
      more.supposition.more_nodes = {{pool.pool->id, nodes, gpus_each}};
      if (!try_change(std::move(more))) return false;
      if (std::exchange(has_told, true)) {
        const Time at = found_.back().at;
        const bool is_sooner = at + kWorthTelling <= found_[found_.size() - 2].at;
        if (!is_sooner) found_.pop_back();
      }
      return is_as_good_as_can_be(found_.back().at);
    };
    if (has_small_blocks) {
      for (std::int32_t gpus = 1; gpus < stride; gpus *= 2) {
        if (try_nodes(Change::more_gpus, 1, gpus)) return keep_first_and_last();
      }
    }
    const std::int32_t whole = *std::max_element(pool.pool->gpus.begin(), pool.pool->gpus.end());
    for (std::int32_t nodes = 1; nodes <= kMostNodes; nodes *= 2) {
      if (try_nodes(Change::more_nodes, nodes, whole)) return keep_first_and_last();
    }
    keep_first_and_last();
  }

  bool is_as_good_as_can_be(Time at) const { return wish_ != Wish::start || at == now_; }

  void keep_first_and_last() {
    if (found_.size() > 2) found_.erase(found_.begin() + 1, found_.end() - 1);
  }

  // Those with the least left to do are missed least.
  void try_without_others() {
    if (wish_ == Wish::promise && !is_well_formed(asked_.again->spec)) return;
    const PoolState& pool = *training().find_pool(training().job(asked_.job).pool);
    struct Other {
      WideInteger gpu_time;
      JobId job;
    };
    std::vector<Other> others;
    for (const JobId id : pool.active) {
      if (id == asked_.job) continue;
      const TrainingJob& job = training().job(id);
      if (job.sizes->empty()) continue;
      const SizeOption& least = job.sizes->front();
      const Duration takes = time_for(job.left_at(now_), least.rate);
      others.push_back({static_cast<WideInteger>(takes.count()) * least.gpus, id});
    }
    std::sort(others.begin(), others.end(), [](const Other& a, const Other& b) {
      return a.gpu_time != b.gpu_time ? a.gpu_time < b.gpu_time : a.job < b.job;
    });
    if (others.size() > limits_.most_others) others.resize(limits_.most_others);
    std::size_t told = 0;
    for (const Other& other : others) {
      Counterfactual without;
      without.change = Change::other_cancelled;
      without.other = other.job;
      without.supposition.cancelled = {other.job};
      told += try_change(std::move(without)) ? 1 : 0;
      if (told == kMostOfOthers) return;
    }
  }

  void try_later_deadline() {
    SupposedJob hurried = *asked_.again;
    hurried.spec.deadline_kind = DeadlineKind::hard;
    hurried.spec.margin = Duration{0};
    hurried.spec.deadline = now_ + Duration{1};
    const SupposedCore asked = suppose(state_.fork(), config_, now_, {.submitted = {hurried}});
    std::vector<Time> candidates;
    for (const Record& record : asked.records) {
      const auto* refused = std::get_if<PromiseRefused>(&record.what);
      if (refused == nullptr || !refused->earliest) continue;
      const Time earliest = *refused->earliest + asked_.again->spec.margin;
      const Time rounded{(earliest.time_since_epoch() / kRounded + 1) * kRounded};
      candidates = {rounded, rounded + (earliest - now_) / 4, rounded + (earliest - now_)};
    }
    if (candidates.empty()) {
      const Duration span = std::max<Duration>(asked_.again->spec.deadline - now_, kRounded);
      candidates = {now_ + 2 * span, now_ + 4 * span, now_ + 8 * span};
    }
    for (const Time deadline : candidates) {
      if (deadline <= asked_.again->spec.deadline) continue;
      Counterfactual later;
      later.change = Change::later_deadline;
      later.deadline = deadline;
      later.supposition.submitted = {*asked_.again};
      later.supposition.submitted.front().spec.deadline = deadline;
      if (try_change(std::move(later))) return;
    }
  }

  State& state_;
  const CoreConfig& config_;
  Time now_;
  const Asked& asked_;
  const CounterfactualLimits& limits_;
  Wish wish_ = Wish::start;
  Time before_ = Time::max();
  std::vector<Counterfactual> found_;
};

}  // namespace

std::vector<Counterfactual> counterfactuals(State& state, const CoreConfig& config, Time now,
                                            const Asked& asked,
                                            const CounterfactualLimits& limits) {
  return CounterfactualSearch{state, config, now, asked, limits}.run();
}

}  // namespace weir::schedule
