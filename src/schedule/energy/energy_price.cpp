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

// What was used and expected of a budget until now, where the account ends earlier.
BudgetAccount until_now(const PoolView& view, BudgetAccount budget, double watts) {
  const EnergyAccount& account = view.state.energy;
  const Time from = std::max(account.since, account.terms->from);
  if (view.now <= from) return budget;
  budget.used += emitted(*account.supply, watts, from, view.now);
  budget.expected += budget.expected_per_second * to_seconds(view.now - from);
  return budget;
}

BudgetAccount cluster_until_now(const PoolView& view) {
  double watts = 0;
  for (const PoolState& pool : view.state.pools) watts += pool_watts(view.state, pool);
  return until_now(view, view.state.energy.budget, watts);
}

std::vector<BudgetAccount> tenants_until_now(const PoolView& view) {
  const EnergyAccount& account = view.state.energy;
  std::vector<BudgetAccount> budgets = account.of_tenants;
  if (budgets.empty()) return budgets;
  std::vector<double> watts(budgets.size());
  for (const PoolState& pool : view.state.pools) {
    for (const JobDraw& draw : job_draws(view.state, pool)) {
      if (const auto payer = account.terms->payer_of(view.state.job(draw.job).spec->tenant))
        watts[*payer] += draw.watts;
    }
  }
  for (std::size_t i = 0; i < budgets.size(); ++i)
    budgets[i] = until_now(view, budgets[i], watts[i]);
  return budgets;
}

// The place of a tenant with a budget of its own in the terms; for work, nobody: only the cluster pays.
constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();

// Work that came so far: kinds, each with options and GPU-seconds at its least size.
struct Kind {
  std::size_t payer = kNobody;
  PricedOptions options;
  double iterations = 0;
  double gpu_seconds = 0;
};

std::vector<Kind> kinds_seen(const PoolView& view, const PoolPower* power) {
  std::vector<Kind> kinds;
  for (const auto& [seen, iterations] : view.pool.iterations_seen) {
    const CurveKey& key = seen.kind;
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
    const auto payer =
        seen.payer.empty() ? std::nullopt : view.state.energy.terms->payer_of(seen.payer);
    kinds.push_back({payer.value_or(kNobody), priced_options(view.pool, job, power), amount,
                     amount / (static_cast<double>(least.rate.value) / 1e6) * least.gpus});
  }
  return kinds;
}

// The work at hand and the work to come, and what it costs on each option.
class WorkAhead {
 public:
  WorkAhead(const PoolView& view, const EnergyPool& pool) : kinds_{kinds_seen(view, pool.power())} {
    const PriceTerms prices = pool.terms(0);
    for (std::size_t i = 0; i < pool.jobs().size(); ++i)
      add(pool.jobs()[i], pool.jobs()[i].left, prices,
          pool.payer_of(pool.ids()[i]).value_or(kNobody), false);
    for (std::size_t i = 0; i < pool.held().size(); ++i)
      add(pool.held()[i], pool.held()[i].left, prices,
          pool.payer_of(pool.held_ids()[i]).value_or(kNobody), false);
    // Their supply is the mean of all that is foreseen.
    for (const Kind& kind : kinds_)
      add({&kind.options, kForever, false, 0}, kind.iterations, prices, kind.payer, true);
  }
  WorkAhead(const WorkAhead&) = delete;
  WorkAhead& operator=(const WorkAhead&) = delete;

  // Work of one kind.
  struct Part {
    double iterations = 0;  // at hand, or seen so far of what is to come
    const PricedOptions* options = nullptr;
    std::size_t begin = 0;  // of its costs
    std::size_t payer = kNobody;
    bool is_to_come = false;
  };
  const std::vector<Part>& parts() const { return parts_; }
  const WorkCost* costs(const Part& part) const { return costs_.data() + part.begin; }

  // GPU-seconds that came so far; of one payer, or (kNobody) of all.
  double seen(std::size_t payer) const {
    double sum = 0;
    for (const Kind& kind : kinds_) {
      if (payer == kNobody || kind.payer == payer) sum += kind.gpu_seconds;
    }
    return sum;
  }

 private:
  void add(const PricedJob& job, double iterations, const PriceTerms& terms, std::size_t payer,
           bool is_to_come) {
    parts_.push_back({iterations, job.options, costs_.size(), payer, is_to_come});
    for (const PricedOption& option : *job.options) costs_.push_back(work_cost(job, option, terms));
  }

  std::vector<Kind> kinds_;
  std::vector<Part> parts_;
  std::vector<WorkCost> costs_;
};

// What will have been used of one budget in the end.
class Projection {
 public:
  // `payer`: kNobody for the cluster's budget. `least`: what each payer pays at least.
  Projection(const PoolView& view, const WorkAhead& work, std::size_t payer,
             const BudgetAccount& account, std::vector<double> least = {})
      : work_{work}, payer_{payer}, least_{std::move(least)} {
    const EnergyTerms& terms = *view.state.energy.terms;
    const std::int64_t micros =
        payer != kNobody ? terms.tenants[payer].budget_micros : terms.budget_micros.value_or(0);
    const std::int64_t expected =
        payer != kNobody ? terms.tenants[payer].expected_gpu_seconds : terms.expected_gpu_seconds;
    budget_ = static_cast<double>(micros) / 1e6;
    used_ = account.used;
    const double prior = kPrior * budget_;
    overhead_ = used_ + prior > 0 ? (used_ + prior) / (account.expected + prior) : 1;
    const double seen = work.seen(payer);
    double to_come = static_cast<double>(expected) - seen;
    if (expected == 0 && view.now > terms.from && terms.until > view.now)
      to_come = seen * to_seconds(terms.until - view.now) / to_seconds(view.now - terms.from);
    // Of what came so far, so much is still to come.
    coming_ = seen > 0 ? std::max(0.0, to_come) / seen : 0;
  }

  double budget() const { return budget_; }
  double used() const { return used_; }

  // If of each job's options the picked one is used.
  template <class Pick>
  double with(const Pick& pick) const {
    double units = 0;
    for (const WorkAhead::Part& part : work_.parts()) {
      if (payer_ != kNobody && part.payer != payer_) continue;
      const double iterations = part.is_to_come ? coming_ * part.iterations : part.iterations;
      if (iterations == 0) continue;
      units += iterations * work_.costs(part)[pick(part, work_.costs(part))].units;
    }
    return used_ + overhead_ * units;
  }

  // Every job on what costs it least.
  double at(double price) const {
    return with([&](const WorkAhead::Part& part, const WorkCost* costs) {
      const double least_price = part.payer != kNobody && !least_.empty() ? least_[part.payer] : 0;
      const double paid = std::max(price, least_price);
      std::size_t best = 0;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < part.options->size(); ++k) {
        const double cost = costs[k].seconds + paid * costs[k].units;
        if (cost >= least) continue;
        least = cost;
        best = k;
      }
      return best;
    });
  }

  // Every job on as much as it may have.
  double under(const EnergyCaps& caps) const {
    return with([&caps](const WorkAhead::Part& part, const WorkCost*) {
      return static_cast<std::size_t>(capped_options(*part.options, caps).back());
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
  const WorkAhead& work_;
  std::size_t payer_;
  std::vector<double> least_;
  double budget_ = 0;
  double used_ = 0;
  double overhead_ = 1;
  double coming_ = 0;
};

// At which the budget lasts. `account`: as it stood when the last price was set, or since.
EnergyPrice lasting_price(const PoolView& view, const Projection& projection,
                          const BudgetAccount& account) {
  const PriceRange range = price_range(view);
  // Towards the end hardly anything can be saved any more, at whatever price: it stays near what was
  // paid so far.
  const double most = account.used > 0.1 * projection.budget()
                          ? std::max(range.least, kMostOfPaid * account.paid / account.used)
                          : range.most;
  if (projection.used() >= projection.budget()) {
    const bool overdraws = view.state.energy.terms->when_spent == WhenSpent::overdraw;
    return {overdraws ? most : range.most, true};
  }
  const double solved = std::min(projection.solve(range), most);
  if (account.priced_at == Time::min()) return {solved, false};
  const double before = static_cast<double>(account.price_nanos) / 1e9;
  const double kept = kept_of(view, account.priced_at);
  const double smooth = std::exp(kept * std::log(std::max(before, range.least)) +
                                 (1 - kept) * std::log(std::max(solved, range.least)));
  if (solved > smooth && projection.at(smooth) > projection.budget()) return {solved, false};
  return {smooth <= range.least * (1 + 1e-9) ? 0 : smooth, false};
}

}  // namespace

std::vector<double> EnergyPrices::least_prices() const {
  std::vector<double> prices;
  for (const EnergyPrice& price : tenants) prices.push_back(price.seconds_per_unit);
  return prices;
}

EnergyPrices energy_prices(const PoolView& view, const EnergyPool& pool) {
  const EnergyAccount& account = view.state.energy;
  EnergyPrices prices;
  if (account.terms == nullptr) return prices;
  if (account.terms->price_nanos)
    prices.cluster.seconds_per_unit = static_cast<double>(*account.terms->price_nanos) / 1e9;
  if (!account.terms->has_budget()) return prices;
  const WorkAhead work{view, pool};
  const std::vector<BudgetAccount> tenants = tenants_until_now(view);
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    prices.tenants.push_back(
        lasting_price(view, Projection{view, work, i, tenants[i]}, account.of_tenants[i]));
  }
  if (account.terms->budget_micros && !account.terms->price_nanos) {
    const Projection all{view, work, kNobody, cluster_until_now(view), prices.least_prices()};
    prices.cluster = lasting_price(view, all, account.budget);
  }
  return prices;
}

std::vector<EnergyPriceSet> price_records(const PoolView& view, const EnergyPool& pool,
                                          const EnergyPrices& prices,
                                          const std::vector<WantedBlock>& wanted) {
  const EnergyAccount& account = view.state.energy;
  if (account.terms == nullptr || !account.terms->has_budget()) return {};
  const PriceTerms terms = pool.terms(prices.cluster.seconds_per_unit);
  double per_second = 0;
  std::vector<double> of_tenants(prices.tenants.size());
  const auto add = [&](JobId id, const PricedJob& job) {
    const auto want =
        std::lower_bound(wanted.begin(), wanted.end(), id,
                         [](const WantedBlock& block, JobId of) { return block.job < of; });
    if (want == wanted.end() || want->job != id) return;
    for (const PricedOption& option : *job.options) {
      const bool is_it = option.gpus == static_cast<std::int32_t>(want->block.size) &&
                         option.clock_permille == want->clock_permille;
      if (!is_it) continue;
      const double units = option.rate * cheapest_work(job, terms, 0).units;
      per_second += units;
      if (const auto payer = pool.payer_of(id)) of_tenants[*payer] += units;
    }
  };
  for (std::size_t i = 0; i < pool.jobs().size(); ++i) add(pool.ids()[i], pool.jobs()[i]);
  for (std::size_t i = 0; i < pool.held().size(); ++i) add(pool.held_ids()[i], pool.held()[i]);
  const auto record = [](const EnergyPrice& price, double units, std::string tenant) {
    return EnergyPriceSet{std::llround(price.seconds_per_unit * 1e9), std::llround(units * 1e9),
                          std::move(tenant)};
  };
  std::vector<EnergyPriceSet> records;
  if (account.terms->budget_micros) records.push_back(record(prices.cluster, per_second, {}));
  for (std::size_t i = 0; i < of_tenants.size(); ++i)
    records.push_back(record(prices.tenants[i], of_tenants[i], account.terms->tenants[i].tenant));
  return records;
}

CapPace cap_pace(const PoolView& view, const EnergyPool& pool) {
  const EnergyAccount& account = view.state.energy;
  const std::vector<EnergyCaps>& path = view.config.cap_path;
  if (account.terms == nullptr || !account.terms->budget_micros || path.empty())
    return {view.config.caps, std::nullopt};
  const WorkAhead work{view, pool};
  const Projection projection{view, work, kNobody, cluster_until_now(view)};
  std::size_t solved = 0;
  while (solved + 1 < path.size() && projection.under(path[solved]) > projection.budget()) ++solved;
  double place = static_cast<double>(solved);
  if (account.budget.priced_at != Time::min()) {
    const double before = static_cast<double>(account.budget.price_nanos) / 1e9;
    const double kept = kept_of(view, account.budget.priced_at);
    const double smooth = kept * before + (1 - kept) * place;
    const bool overspends =
        projection.under(path[static_cast<std::size_t>(std::lround(smooth))]) > projection.budget();
    if (smooth > place || !overspends) place = smooth;
  }
  return {path[static_cast<std::size_t>(std::lround(place))], place};
}

std::vector<EnergyPriceSet> cap_records(const EnergyPool& pool, const CapPace& pace,
                                        const std::vector<int>& options) {
  if (!pace.place) return {};
  double per_second = 0;
  const PriceTerms terms = pool.terms(0);
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (options[i] == kNoOption) continue;
    const PricedJob& job = pool.jobs()[i];
    const auto most = static_cast<std::size_t>(capped_options(*job.options, pace.caps).back());
    per_second += (*job.options)[static_cast<std::size_t>(options[i])].rate *
                  work_cost(job, (*job.options)[most], terms).units;
  }
  return {EnergyPriceSet{std::llround(*pace.place * 1e9), std::llround(per_second * 1e9)}};
}

}  // namespace weir::schedule
