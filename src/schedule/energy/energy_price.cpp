// SPDX-License-Identifier: Apache-2.0
#include "schedule/energy/energy_price.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "schedule/energy/capped_options.h"
#include "schedule/energy/power_use.h"

namespace weir::schedule {
namespace {

// Seconds per kWh: below, it does not matter; above, nothing more is saved.
constexpr double kLeast = 0.3;
constexpr double kMost = 3e5;
constexpr Duration kMonth = std::chrono::hours{30 * 24};
constexpr double kForever = 1e12;  // iterations
constexpr double kPrior = 0.05;    // of the budget: how much the first guess weighs
constexpr double kMostOfPaid = 5;  // times what was paid on average

// How much of what was set then still counts.
double kept_of(const PoolView& view, Time set_at) {
  const Duration memory = view.config.price_memory;
  if (memory <= Duration{0}) return 0;
  return std::exp(-to_seconds(view.now - set_at) / to_seconds(memory));
}

// Of a price per unit, whatever the unit is.
struct PriceRange {
  double least = 0;
  double most = 0;
};

PriceRange price_range(const PoolView& view) {
  const double units = view.state.energy.supply->mean(view.now, view.now + kMonth);
  return units > 0 ? PriceRange{kLeast / units, kMost / units} : PriceRange{kLeast, kMost};
}

// Units used so far, until now.
double used_by(const PoolView& view) {
  const EnergyAccount& account = view.state.energy;
  const Time from = std::max(account.since, account.terms->from);
  double used = account.used;
  if (view.now > from) {
    for (const PoolState& pool : view.state.pools)
      used += emitted(*account.supply, pool_watts(view.state, pool), from, view.now);
  }
  return used;
}

double expected_by(const PoolView& view) {
  const EnergyAccount& account = view.state.energy;
  const Time from = std::max(account.since, account.terms->from);
  return account.expected +
         (view.now > from ? account.expected_per_second * to_seconds(view.now - from) : 0);
}

// Work that came so far: kinds, each with options and GPU-seconds at its least size.
struct Kind {
  PricedOptions options;
  double iterations = 0;
  double gpu_seconds = 0;
};

std::vector<Kind> kinds_seen(const PoolView& view, const PoolPower* power) {
  std::vector<Kind> kinds;
  for (const auto& [key, iterations] : view.pool.iterations_seen) {
    const auto curve = view.pool.curves.find(key);
    if (curve == view.pool.curves.end() || curve->second->empty()) continue;
    TrainingSpec spec;
    spec.curve = key;
    TrainingJob job;
    job.spec = std::make_shared<const TrainingSpec>(spec);
    job.sizes = std::make_shared<const SizeTable>(
        size_table(*curve->second, spec, *view.pool.pool, view.state));
    if (job.sizes->empty()) continue;
    const SizeOption& least = job.sizes->front();
    const double amount = static_cast<double>(iterations);
    kinds.push_back({priced_options(view.pool, job, power), amount,
                     amount / (static_cast<double>(least.rate.value) / 1e6) * least.gpus});
  }
  return kinds;
}

class Projection {
 public:
  Projection(const PoolView& view, const EnergyPool& pool) {
    const EnergyTerms& terms = *view.state.energy.terms;
    budget_ = static_cast<double>(*terms.budget_micros) / 1e6;
    used_ = used_by(view);
    const double prior = kPrior * budget_;
    overhead_ = (used_ + prior) / (expected_by(view) + prior);
    kinds_ = kinds_seen(view, pool.power());
    double seen = 0;
    for (const Kind& kind : kinds_) seen += kind.gpu_seconds;
    double to_come = static_cast<double>(terms.expected_gpu_seconds) - seen;
    if (terms.expected_gpu_seconds == 0 && view.now > terms.from && terms.until > view.now)
      to_come = seen * to_seconds(terms.until - view.now) / to_seconds(view.now - terms.from);
    // Of what came so far, so much is still to come.
    const double coming = seen > 0 ? std::max(0.0, to_come) / seen : 0;
    const PriceTerms prices = pool.terms(0);
    for (const PricedJob& job : pool.jobs()) add(job, job.left, prices);
    for (const PricedJob& job : pool.held()) add(job, job.left, prices);
    // Their supply is the mean of all that is foreseen.
    if (coming > 0) {
      for (const Kind& kind : kinds_)
        add({&kind.options, kForever, false, 0}, coming * kind.iterations, prices);
    }
  }

  double budget() const { return budget_; }
  double used() const { return used_; }

  // What will have been used in the end, if of each job's options the picked one is used.
  template <class Pick>
  double with(const Pick& pick) const {
    double units = 0;
    for (const Part& part : parts_) {
      const WorkCost* costs = costs_.data() + part.begin;
      units += part.iterations * costs[pick(*part.options, costs)].units;
    }
    return used_ + overhead_ * units;
  }

  // Every job on what costs it least.
  double at(double price) const {
    return with([price](const PricedOptions& options, const WorkCost* costs) {
      std::size_t best = 0;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < options.size(); ++k) {
        const double cost = costs[k].seconds + price * costs[k].units;
        if (cost >= least) continue;
        least = cost;
        best = k;
      }
      return best;
    });
  }

  // Every job on as much as it may have.
  double under(const EnergyCaps& caps) const {
    return with([&caps](const PricedOptions& options, const WorkCost*) {
      return static_cast<std::size_t>(capped_options(options, caps).back());
    });
  }

  double solve(const PriceRange& range) const {
    if (at(0) <= budget_) return 0;
    double low = range.least;
    double high = range.most;
    if (at(high) > budget_) return high;
    while (high / low > 1.005) {
      const double middle = std::sqrt(low * high);
      (at(middle) > budget_ ? low : high) = middle;
    }
    return high;
  }

 private:
  // Work of one kind.
  struct Part {
    double iterations = 0;
    const PricedOptions* options = nullptr;
    std::size_t begin = 0;  // of its costs
  };

  void add(const PricedJob& job, double iterations, const PriceTerms& terms) {
    parts_.push_back({iterations, job.options, costs_.size()});
    for (const PricedOption& option : *job.options) costs_.push_back(work_cost(job, option, terms));
  }

  std::vector<Kind> kinds_;
  std::vector<Part> parts_;
  std::vector<WorkCost> costs_;
  double budget_ = 0;
  double used_ = 0;
  double overhead_ = 1;
};

}  // namespace

EnergyPrice energy_price(const PoolView& view, const EnergyPool& pool) {
  const EnergyAccount& account = view.state.energy;
  if (account.terms == nullptr) return {};
  if (account.terms->price_nanos)
    return {static_cast<double>(*account.terms->price_nanos) / 1e9, false};
  if (!account.terms->budget_micros) return {};
  const Projection projection{view, pool};
  const PriceRange range = price_range(view);
  const double before = static_cast<double>(account.price_nanos) / 1e9;
  // Towards the end hardly anything can be saved any more, at whatever price: it stays near what was
  // paid so far.
  const double most = account.used > 0.1 * projection.budget()
                          ? std::max(range.least, kMostOfPaid * account.paid / account.used)
                          : range.most;
  if (projection.used() >= projection.budget()) {
    return {account.terms->when_spent == WhenSpent::overdraw ? most : range.most, true};
  }
  const double solved = std::min(projection.solve(range), most);
  if (account.priced_at == Time::min()) return {solved, false};
  const double kept = kept_of(view, account.priced_at);
  const double smooth = std::exp(kept * std::log(std::max(before, range.least)) +
                                 (1 - kept) * std::log(std::max(solved, range.least)));
  if (solved > smooth && projection.at(smooth) > projection.budget()) return {solved, false};
  return {smooth <= range.least * (1 + 1e-9) ? 0 : smooth, false};
}

std::optional<EnergyPriceSet> price_record(const PoolView& view, const EnergyPool& pool,
                                           const EnergyPrice& price,
                                           const std::vector<WantedBlock>& wanted) {
  const EnergyAccount& account = view.state.energy;
  if (account.terms == nullptr || !account.terms->budget_micros) return std::nullopt;
  const PriceTerms terms = pool.terms(price.seconds_per_unit);
  double per_second = 0;
  const auto add = [&](JobId id, const PricedJob& job) {
    const auto want =
        std::lower_bound(wanted.begin(), wanted.end(), id,
                         [](const WantedBlock& block, JobId of) { return block.job < of; });
    if (want == wanted.end() || want->job != id) return;
    for (const PricedOption& option : *job.options) {
      const bool is_it = option.gpus == static_cast<std::int32_t>(want->block.size) &&
                         option.clock_permille == want->clock_permille;
      if (is_it) per_second += option.rate * cheapest_work(job, terms, 0).units;
    }
  };
  for (std::size_t i = 0; i < pool.jobs().size(); ++i) add(pool.ids()[i], pool.jobs()[i]);
  for (std::size_t i = 0; i < pool.held().size(); ++i) add(pool.held_ids()[i], pool.held()[i]);
  return EnergyPriceSet{std::llround(price.seconds_per_unit * 1e9), std::llround(per_second * 1e9)};
}

CapPace cap_pace(const PoolView& view, const EnergyPool& pool) {
  const EnergyAccount& account = view.state.energy;
  const std::vector<EnergyCaps>& path = view.config.cap_path;
  if (account.terms == nullptr || !account.terms->budget_micros || path.empty())
    return {view.config.caps, std::nullopt};
  const Projection projection{view, pool};
  std::size_t solved = 0;
  while (solved + 1 < path.size() && projection.under(path[solved]) > projection.budget()) ++solved;
  double place = static_cast<double>(solved);
  if (account.priced_at != Time::min()) {
    const double before = static_cast<double>(account.price_nanos) / 1e9;
    const double kept = kept_of(view, account.priced_at);
    const double smooth = kept * before + (1 - kept) * place;
    const bool overspends =
        projection.under(path[static_cast<std::size_t>(std::lround(smooth))]) > projection.budget();
    if (smooth > place || !overspends) place = smooth;
  }
  return {path[static_cast<std::size_t>(std::lround(place))], place};
}

std::optional<EnergyPriceSet> cap_record(const EnergyPool& pool, const CapPace& pace,
                                         const std::vector<int>& options) {
  if (!pace.place) return std::nullopt;
  double per_second = 0;
  const PriceTerms terms = pool.terms(0);
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (options[i] == kNoOption) continue;
    const PricedJob& job = pool.jobs()[i];
    const auto most = static_cast<std::size_t>(capped_options(*job.options, pace.caps).back());
    per_second += (*job.options)[static_cast<std::size_t>(options[i])].rate *
                  work_cost(job, (*job.options)[most], terms).units;
  }
  return EnergyPriceSet{std::llround(*pace.place * 1e9), std::llround(per_second * 1e9)};
}

}  // namespace weir::schedule
