// SPDX-License-Identifier: Apache-2.0
#include "schedule/energy/energy_price.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "schedule/energy/power_use.h"

namespace weir::schedule {
namespace {

constexpr double kLeast = 1e-3;  // seconds per unit: below, it does not matter
constexpr double kMost = 1e3;
constexpr double kForever = 1e12;  // iterations
constexpr double kPrior = 0.05;    // of the budget: how much the first guess weighs
constexpr double kMostOfPaid = 5;  // times what was paid on average
constexpr Duration kMemory = std::chrono::hours{24};

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
    const std::vector<Kind> kinds = kinds_seen(view, pool.power());
    double seen = 0;
    for (const Kind& kind : kinds) seen += kind.gpu_seconds;
    double to_come = static_cast<double>(terms.expected_gpu_seconds) - seen;
    if (terms.expected_gpu_seconds == 0 && view.now > terms.from && terms.until > view.now)
      to_come = seen * to_seconds(terms.until - view.now) / to_seconds(view.now - terms.from);
    // Of what came so far, so much is still to come.
    const double coming = seen > 0 ? std::max(0.0, to_come) / seen : 0;
    const PriceTerms prices = pool.terms(0);
    for (const PricedJob& job : pool.jobs()) add(job, job.left, prices);
    // Their supply is the mean of all that is foreseen.
    if (coming > 0) {
      for (const Kind& kind : kinds)
        add({&kind.options, kForever, false, 0}, coming * kind.iterations, prices);
    }
  }

  double budget() const { return budget_; }
  double used() const { return used_; }

  // What will have been used in the end: every job on what costs it least.
  double at(double price) const {
    double units = 0;
    std::size_t begin = 0;
    for (const Part& part : parts_) {
      double least = std::numeric_limits<double>::infinity();
      double used = 0;
      for (std::size_t k = begin; k < part.end; ++k) {
        const WorkCost& option = options_[k];
        const double cost = option.seconds + price * option.units;
        if (cost >= least) continue;
        least = cost;
        used = option.units;
      }
      units += part.iterations * used;
      begin = part.end;
    }
    return used_ + overhead_ * units;
  }

  // Within the limits of a price.
  double solve() const {
    if (at(0) <= budget_) return 0;
    double low = kLeast;
    double high = kMost;
    if (at(high) > budget_) return kMost;
    while (high / low > 1.005) {
      const double middle = std::sqrt(low * high);
      (at(middle) > budget_ ? low : high) = middle;
    }
    return high;
  }

 private:
  // Work of one kind, with its options up to `end`.
  struct Part {
    double iterations = 0;
    std::size_t end = 0;
  };

  void add(const PricedJob& job, double iterations, const PriceTerms& terms) {
    for (const PricedOption& option : *job.options)
      options_.push_back(work_cost(job, option, terms));
    parts_.push_back({iterations, options_.size()});
  }

  std::vector<Part> parts_;
  std::vector<WorkCost> options_;
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
  const double before = static_cast<double>(account.price_nanos) / 1e9;
  // Towards the end hardly anything can be saved any more, at whatever price: it stays near what was
  // paid so far.
  const double most = account.used > 0.1 * projection.budget()
                          ? std::max(kLeast, kMostOfPaid * account.paid / account.used)
                          : kMost;
  if (projection.used() >= projection.budget()) {
    return {account.terms->when_spent == WhenSpent::overdraw ? most : kMost, true};
  }
  const double solved = std::min(projection.solve(), most);
  if (account.priced_at == Time::min()) return {solved, false};
  const double kept = std::exp(-to_seconds(view.now - account.priced_at) / to_seconds(kMemory));
  const double smooth = std::exp(kept * std::log(std::max(before, kLeast)) +
                                 (1 - kept) * std::log(std::max(solved, kLeast)));
  if (solved > smooth && projection.at(smooth) > projection.budget()) return {solved, false};
  return {smooth <= kLeast ? 0 : smooth, false};
}

std::optional<EnergyPriceSet> price_record(const PoolView& view, const EnergyPool& pool,
                                           const EnergyPrice& price,
                                           const std::vector<int>& options) {
  const EnergyAccount& account = view.state.energy;
  if (account.terms == nullptr || !account.terms->budget_micros) return std::nullopt;
  const PriceTerms terms = pool.terms(price.seconds_per_unit);
  double per_second = 0;
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (options[i] == kNoOption) continue;
    const PricedJob& job = pool.jobs()[i];
    per_second += (*job.options)[static_cast<std::size_t>(options[i])].rate *
                  cheapest_work(job, terms, 0).units;
  }
  return EnergyPriceSet{std::llround(price.seconds_per_unit * 1e9), std::llround(per_second * 1e9)};
}

}  // namespace weir::schedule
