// SPDX-License-Identifier: Apache-2.0
//
// What energy costs and what is wanted of it: told to the core as events, like everything it learns.
// People and feeds speak of the wall clock, the core of its own time; when the one is set, the other
// is told anew.
#include <memory>
#include <utility>

#include "control/controller.h"
#include "control/measured_power.h"
#include "schedule/energy/power_use.h"
#include "schedule/energy/priced_options.h"

namespace weir::control {
namespace {

constexpr Duration kMeasureEnergyEvery = std::chrono::seconds{5};
constexpr Duration kLearnPowerEvery = std::chrono::minutes{1};
constexpr Duration kLongEnoughToMeasure = std::chrono::seconds{30};

tl::unexpected<Error> energy_not_now(std::string why) {
  Diagnostics details;
  details.add({"", 0, "", std::move(why), "try again later"});
  return tl::unexpected<Error>(Error{ErrorCode::unavailable, std::move(details)});
}

}  // namespace

void Controller::configure_energy(std::optional<EnergyWish> wish,
                                  std::function<void(Result<void>)> answer) {
  if (!post(EnergyItem{std::move(wish), answer}))
    answer(energy_not_now("the server is stopping or overloaded"));
}

void Controller::hear_supply(SupplyNews news) {
  post(std::move(news));
}

void Controller::energy(std::function<void(Result<ShownEnergy>)> answer) {
  const auto look = [this, answer] { answer(shown_energy()); };
  const auto refuse = [answer] { answer(energy_not_now("the store cannot be written")); };
  if (!post(LookItem{look, refuse})) answer(energy_not_now("the server is stopping or overloaded"));
}

void Controller::process(EnergyItem& item) {
  energy_wish_ = std::move(item.wish);
  is_wish_known_ = true;
  if (!energy_wish_) supply_ = {};
  for (const schedule::PoolState& pool : core_->state().training.pools)
    pools_to_power_.insert(pool.pool->id);
  adopt_energy();
  answers_.push_back([to = item.answer] { to({}); });
  refusals_.push_back(
      [to = item.answer] { to(energy_not_now("the decision could not be stored")); });
}

void Controller::process(SupplyNews& news) {
  // A budget of grams cannot be kept with prices: what was known stays.
  if (energy_wish_ && energy_wish_->budget_is_carbon && !news.series.empty() &&
      is_carbon(news.kind.quantity) != *energy_wish_->budget_is_carbon) {
    news.state.problem = "it tells of " + to_string(news.kind) + ", which the budget is not in";
    news.state.stale_since = supply_.state.stale_since.value_or(clock_->to_wall(now_));
    news.kind = supply_.kind;
    news.series = supply_.series;
  }
  const bool was_stale = supply_.state.stale_since.has_value();
  supply_ = std::move(news);
  if (supply_.state.stale_since.has_value() != was_stale) {
    metrics_
        .counter("weir_energy_feed_changes_total",
                 "Times that the supply became stale, or known again.",
                 {{"to", was_stale ? "fresh" : "stale"}})
        .add();
  }
  {
    const std::lock_guard lock{mutex_};
    supply_trouble_ = stale_line(supply_.state);
  }
  adopt_energy();
}

// What is the same as before leaves no trace.
void Controller::adopt_energy() {
  const schedule::EnergyAccount& known = core_->state().training.energy;
  if (!energy_wish_) {
    if (!is_wish_known_) return;  // nobody has said anything yet
    if (known.terms != nullptr) tell(EnergyConfigured{});
    return;
  }
  if (!supply_.series.empty()) {
    SupplySeries series = supply_.series.shifted(-clock_->wall_ahead());
    if (known.supply == nullptr || known.kind != supply_.kind || *known.supply != series)
      tell(SupplyUpdated{supply_.kind, std::move(series)});
  }
  if (core_->state().training.energy.supply == nullptr) return;  // until somebody knows it
  EnergyTerms terms = energy_wish_->terms;
  if (terms.has_budget()) {
    terms.from = clock_->from_wall(terms.from);
    terms.until = clock_->from_wall(terms.until);
  }
  const auto& now_known = core_->state().training.energy.terms;
  if (now_known == nullptr || *now_known != terms) tell(EnergyConfigured{std::move(terms)});
}

// What jobs draw follows from their curves, where nobody measured it.
void Controller::tell_power_tables() {
  if (!energy_wish_ || !energy_wish_->model || core_->state().training.energy.terms == nullptr)
    return;
  std::vector<PowerTableUpdated> news;
  for (const PoolIndex id : std::exchange(pools_to_power_, {})) {
    const schedule::PoolState& pool = *core_->state().training.find_pool(id);
    CurveBook curves;
    for (const auto& [key, curve] : pool.curves) curves.curves.emplace(key, *curve);
    const PowerBook book = energy_wish_->model(id, curves);
    for (const auto& [key, table] : book.tables) {
      if (table.empty()) continue;
      const auto known = pool.power.find(key);
      const bool is_measured = pool.measured_power.contains(key);
      PowerTable after = is_measured ? as_measured(table, *known->second) : table;
      if (known == pool.power.end() || *known->second != schedule::undominated(after))
        news.push_back({id, key, std::move(after),
                        is_measured ? CurveOrigin::measured : CurveOrigin::assumed});
    }
  }
  for (PowerTableUpdated& table : news) tell(std::move(table));
}

// In the views of the batch at hand.
void Controller::show_energy() {
  const schedule::TrainingState& training = core_->state().training;
  const schedule::EnergyAccount& account = training.energy;
  if (changed_.empty() || account.supply == nullptr) return;
  std::map<JobId, double> watts;
  if (account.terms != nullptr) {
    for (const schedule::PoolState& pool : training.pools) {
      for (const schedule::JobDraw& draw : job_draws(training, pool)) watts[draw.job] = draw.watts;
    }
  }
  const Time now = std::max(now_, account.since);
  const double units = emitted(*account.supply, 1, account.since, now);
  for (const JobId id : changed_) {
    const schedule::TrainingJob& job = training.job(id);
    const auto draw = watts.find(id);
    const double drawn = draw == watts.end() ? 0 : draw->second;
    const double joules = job.energy.joules + drawn * to_seconds(now - account.since);
    JobStatus& status = live_.at(id).status;
    if (joules == 0 && !status.energy) continue;
    if (!status.energy) status.energy.emplace();
    status.energy->kwh = joules / 3.6e6;
    status.energy->amount = job.energy.units + drawn * units;
    status.energy->unit = amount_unit(account.kind);
    const bool is_measured =
        job.spec != nullptr && training.pool_of(job).measured_power.contains(job.spec->curve);
    if (job.spec != nullptr || status.energy->source.empty())
      status.energy->source = is_measured ? "measured" : "modelled";
    if (!job.block.is_none()) status.energy->clock_permille = job.clock_permille;
  }
}

ShownEnergy Controller::shown_energy() const {
  ShownEnergy shown =
      energy_figures(core_->state().training, config_.cluster, now_, clock_->wall_ahead());
  shown.feed = supply_.state;
  shown.is_wanted = energy_wish_.has_value();
  if (energy_wish_) shown.assumed = energy_wish_->assumed;
  return shown;
}

void Controller::measure_energy() {
  if (!energy_wish_ || (energy_measured_at_ && now_ - *energy_measured_at_ < kMeasureEnergyEvery))
    return;
  energy_measured_at_ = now_;
  const ShownEnergy shown = shown_energy();
  const auto set = [&](const char* name, const char* help, double value) {
    metrics_.gauge(name, help).set(value);
  };
  set("weir_energy_watts", "What the cluster draws, modelled, with the site's overhead.",
      shown.watts);
  set("weir_energy_kwh", "What it has used since energy was first asked about.", shown.kwh);
  set("weir_energy_amount", "The same in grams of CO2, or in money.", shown.amount);
  set("weir_energy_supply_per_kwh", "Grams of CO2, or money, for a kilowatt-hour now.",
      shown.per_kwh.value_or(0));
  set("weir_energy_supply_stale", "1 when the supply's source is down or has ended.",
      shown.feed.stale_since || !shown.per_kwh ? 1 : 0);
  set("weir_energy_supply_age_seconds", "Since the supply's source last answered.",
      shown.feed.read_at ? to_seconds(clock_->to_wall(now_) - *shown.feed.read_at) : 0);
  set("weir_energy_feed_failures", "Times that the supply's source did not answer.",
      static_cast<double>(shown.feed.failures));
  if (shown.terms && shown.terms->budget_micros) {
    const double budget = static_cast<double>(*shown.terms->budget_micros) / 1e6;
    set("weir_energy_budget", "The budget, in grams of CO2 or in money.", budget);
    set("weir_energy_budget_used", "What of the budget is used.", shown.used);
    set("weir_energy_price_seconds",
        "Seconds of a job's time that one unit of the budget is worth.", shown.price_seconds);
  }
  for (const TenantEnergy& tenant : shown.tenants) {
    metrics_
        .gauge("weir_energy_tenant_kwh", "What a tenant's jobs have used.",
               {{"tenant", tenant.name}})
        .set(tenant.kwh);
    metrics_
        .gauge("weir_energy_tenant_amount", "The same in grams of CO2, or in money.",
               {{"tenant", tenant.name}})
        .set(tenant.amount);
    if (!tenant.budget) continue;
    metrics_
        .gauge("weir_energy_tenant_budget", "The tenant's own budget, in the same unit.",
               {{"tenant", tenant.name}})
        .set(tenant.budget->amount);
    metrics_
        .gauge("weir_energy_tenant_budget_used", "What of it is used.", {{"tenant", tenant.name}})
        .set(tenant.budget->used);
    metrics_
        .gauge("weir_energy_tenant_price_seconds",
               "Seconds of the tenant's jobs' time that one unit of it is worth.",
               {{"tenant", tenant.name}})
        .set(tenant.budget->price_seconds);
  }
}

// After the batch is durable.
void Controller::keep_gpus() {
  if (!gpu_keeper_) return;
  for (const RunOrder& order : orders_) gpu_keeper_->hold(order.job, order.generation, order.gpus);
  for (const auto& clock : clocks_set_) gpu_keeper_->set_clock(clock.first, clock.second);
  for (const JobId id : to_read_) gpu_keeper_->read(id);
  for (const JobId id : over_) gpu_keeper_->release(id);
}

void Controller::process(GpuNews& news) {
  LiveJob* job = find(news.job);
  if (job == nullptr || job->status.generation != news.generation ||
      core_->state().training.energy.terms == nullptr)
    return;
  if (!job->status.energy) job->status.energy.emplace();
  ShownJobEnergy& shown = *job->status.energy;
  if (news.joules) shown.gpu_kwh = job->counted_before + *news.joules / 3.6e6;
  if (!news.clock_problem.empty() && shown.clock_problem.empty()) {
    metrics_
        .counter("weir_energy_clocks_refused_total",
                 "Jobs whose clocks were decided and could not be set.")
        .add();
  }
  shown.clock_problem = news.clock_problem;
  if (!std::exchange(job->is_changed, true)) changed_.push_back(news.job);
  learn_power(news);
}

// What a job was seen to draw for a while is what its kind draws.
void Controller::learn_power(const GpuNews& news) {
  const schedule::TrainingState& training = core_->state().training;
  const schedule::TrainingJob& job = training.job(news.job);
  if (news.over < kLongEnoughToMeasure || job.spec == nullptr || job.block.is_none()) return;
  const schedule::PoolState& pool = training.pool_of(job);
  const CurveKey key = job.spec->curve;
  const auto known = pool.power.find(key);
  if (known == pool.power.end()) return;
  const auto last = power_learnt_at_.find({job.pool, key});
  if (last != power_learnt_at_.end() && now_ - last->second < kLearnPowerEvery) return;
  const std::int32_t clock = news.clock_problem.empty() ? job.clock_permille : kFullClock;
  auto table =
      table_when_measured(*known->second, pool.measured_power.contains(key),
                          static_cast<std::int32_t>(job.block.size), clock, news.watts * 1000);
  if (!table) return;
  power_learnt_at_[{job.pool, key}] = now_;
  tell(PowerTableUpdated{job.pool, key, std::move(*table), CurveOrigin::measured});
}

}  // namespace weir::control
