// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <map>
#include <mutex>
#include <thread>

#include "control/controller_testing.h"

namespace weir::control {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Rig;
using ::testing::SizeIs;
using testing::small_cluster;
using testing::Waiting;

constexpr Duration kAnHour = std::chrono::hours{1};
constexpr const char* kBurns =
    R"({"name":"burns","tenant":"vision","command":["x"],"iterations":1000000,"throughput":{"1":10}})";

// GPUs with counters that are set by hand.
class HandGpus final : public GpuControl {
 public:
  std::string set_clock(const GpuAddress& gpu, std::int32_t permille) override {
    const std::lock_guard lock{mutex_};
    if (!may_set_) return "Insufficient Permissions";
    clocks_[gpu.gpu] = permille;
    return {};
  }
  std::optional<double> joules(const GpuAddress& gpu) override {
    const std::lock_guard lock{mutex_};
    if (!counts_) return std::nullopt;
    return joules_[gpu.gpu];
  }
  void use(int gpu, double joules) {
    const std::lock_guard lock{mutex_};
    joules_[gpu] += joules;
  }
  void allow(bool may_set, bool counts) {
    const std::lock_guard lock{mutex_};
    may_set_ = may_set;
    counts_ = counts;
  }
  std::map<int, std::int32_t> clocks() {
    const std::lock_guard lock{mutex_};
    return clocks_;
  }

 private:
  std::mutex mutex_;
  bool may_set_ = true;
  bool counts_ = true;
  std::map<int, std::int32_t> clocks_;
  std::map<int, double> joules_;
};

// A node of four GPUs; 400 W for each that is at work, 200 W beside them.
class EnergyRig : public Rig {
 public:
  explicit EnergyRig(const char* policy = "green") : Rig{small_cluster(1, 4)} {
    close();
    config().policy = policy;
    open();
  }

  EnergyWish wish() {
    EnergyWish wish;
    wish.terms.pools = {{PoolIndex{0}, 0, 200'000, 0, 1000}};
    wish.terms.budget_micros = 1'000'000'000;
    wish.terms.from = clocks().wall();
    wish.terms.until = wish.terms.from + 24 * kAnHour;
    wish.model = [](PoolIndex, const CurveBook& curves) {
      PowerBook book;
      for (const auto& [key, curve] : curves.curves) {
        for (const CurvePoint& point : curve.useful())
          book.tables[key].push_back({point.gpus, 1000, point.rate, 400'000 * point.gpus});
      }
      return book;
    };
    wish.assumed = {"pool p: all"};
    return wish;
  }
  Result<void> configure(std::optional<EnergyWish> wanted) {
    Waiting<Result<void>> waiting;
    controller().configure_energy(std::move(wanted), waiting.callback());
    return waiting.get();
  }
  void supply(double per_kwh, SupplyKind kind = {}) {
    SupplyNews news;
    news.kind = std::move(kind);
    news.state.source = "grid";
    news.series =
        SupplySeries{clocks().wall() - kAnHour, kAnHour, std::vector<double>(60, per_kwh)};
    controller().hear_supply(std::move(news));
    nodes();
  }
  ShownEnergy energy() {
    Waiting<Result<ShownEnergy>> waiting;
    controller().energy(waiting.callback());
    const auto shown = waiting.get();
    EXPECT_TRUE(shown);
    return shown ? *shown : ShownEnergy{};
  }
};

TEST(ControllerEnergy, TermsWaitForASupply) {
  EnergyRig rig;
  EXPECT_TRUE(rig.configure(rig.wish()));
  EXPECT_FALSE(rig.energy().is_on);
  EXPECT_TRUE(rig.energy().is_wanted);
  EXPECT_THAT(rig.records("energy_terms_adopted"), IsEmpty());
  rig.supply(500);
  const ShownEnergy shown = rig.energy();
  EXPECT_TRUE(shown.is_on);
  EXPECT_EQ(shown.per_kwh, 500);
  EXPECT_THAT(shown.next, SizeIs(24));
  EXPECT_EQ(shown.unit, "g CO2");
  EXPECT_THAT(rig.records("energy_terms_adopted"), SizeIs(1));
}

// 600 W for an hour, at 500 g/kWh.
TEST(ControllerEnergy, WhatAJobUsesIsShownAndCounted) {
  EnergyRig rig;
  rig.configure(rig.wish());
  rig.supply(500);
  const JobId job = rig.accept(kBurns);
  rig.settle();
  ASSERT_EQ(rig.phase(job), "running");
  EXPECT_DOUBLE_EQ(rig.energy().watts, 600);
  const double before = rig.energy().kwh;
  rig.pass(kAnHour);
  EXPECT_NEAR(rig.energy().kwh - before, 0.6, 1e-9);
  rig.end_well(job, rig.job(job).at("generation").get<std::uint32_t>());
  const auto shown = rig.job(job).at("energy");
  EXPECT_NEAR(shown.at("kwh").get<double>(), rig.energy().kwh, 1e-9);
  EXPECT_NEAR(shown.at("amount").get<double>(), 500 * rig.energy().kwh, 1e-6);
  EXPECT_EQ(shown.at("source"), "modelled");
  const ShownEnergy after = rig.energy();
  ASSERT_THAT(after.tenants, SizeIs(1));
  EXPECT_EQ(after.tenants[0].name, "vision");
  EXPECT_NEAR(after.tenants[0].amount, after.used, 1e-9);
  EXPECT_DOUBLE_EQ(after.watts, 0);
}

TEST(ControllerEnergy, TenantsBudgetsAreShown) {
  EnergyRig rig;
  EnergyWish wish = rig.wish();
  wish.terms.budget_micros.reset();
  wish.terms.tenants = {{"speech", 5'000'000}, {"vision", 1'000'000'000}};
  ASSERT_TRUE(rig.configure(wish));
  rig.supply(1000);
  rig.accept(kBurns);
  rig.settle();
  rig.pass(kAnHour);
  const ShownEnergy shown = rig.energy();
  ASSERT_THAT(shown.tenants, SizeIs(2));
  EXPECT_EQ(shown.tenants[0].name, "speech");
  EXPECT_EQ(shown.tenants[0].budget->used, 0) << "nobody works for it";
  EXPECT_EQ(shown.tenants[0].budget->amount, 5);
  EXPECT_NEAR(shown.tenants[1].budget->used, 600, 10);
  EXPECT_NEAR(shown.tenants[1].budget->used, shown.tenants[1].amount, 1e-6);
  EXPECT_THAT(to_json(shown),
              HasSubstr(R"("budget":{"amount":5.0,"used":0.0,"left":5.0,"is_spent":false)"));
  EXPECT_THAT(to_json(shown), ::testing::Not(HasSubstr("when_spent"))) << "the cluster has none";
}

TEST(ControllerEnergy, OutlivesARestartAndASnapshot) {
  EnergyRig rig;
  rig.close();
  rig.config().snapshot_every = 10;
  rig.open();
  const EnergyWish wish = rig.wish();
  rig.configure(wish);
  rig.supply(500);
  const JobId job = rig.accept(kBurns);
  rig.settle();
  rig.pass(kAnHour);
  for (int i = 0; i < 30; ++i) {
    rig.accept(R"({"name":"more","command":["x"],"duration":"1m"})");
    rig.settle();
  }
  const ShownEnergy before = rig.energy();
  rig.restart();
  rig.nodes();
  ShownEnergy after = rig.energy();
  EXPECT_TRUE(after.is_on) << "until somebody says otherwise";
  EXPECT_NEAR(after.kwh, before.kwh, 1e-9);
  EXPECT_NEAR(after.used, before.used, 1e-9);
  EXPECT_GT(rig.job(job).at("energy").at("kwh").get<double>(), 0.5);
  // The same again leaves no trace.
  const std::size_t tables = rig.records("power_table_adopted").size();
  EnergyWish again = rig.wish();
  again.terms = wish.terms;
  rig.configure(again);
  EXPECT_THAT(rig.records("energy_terms_adopted"), SizeIs(1));
  EXPECT_THAT(rig.records("power_table_adopted"), SizeIs(tables));
  rig.configure(std::nullopt);
  EXPECT_FALSE(rig.energy().is_on);
  EXPECT_THAT(rig.records("energy_terms_adopted"), SizeIs(2));
}

TEST(ControllerEnergy, AStaleSupplyIsToldAndJobsGoOn) {
  EnergyRig rig;
  rig.configure(rig.wish());
  rig.supply(500);
  SupplyNews news;
  news.state.source = "grid";
  news.state.stale_since = rig.clocks().wall();
  news.state.problem = "nobody answers";
  news.series = SupplySeries{rig.clocks().wall(), kAnHour, {500}};
  rig.controller().hear_supply(news);
  const JobId job = rig.accept(kBurns);
  rig.settle();
  EXPECT_EQ(rig.phase(job), "running");
  EXPECT_TRUE(rig.controller().health().is_ok);
  EXPECT_THAT(rig.controller().health().detail, HasSubstr("supply is stale since"));
  EXPECT_THAT(to_json(rig.energy()), HasSubstr(R"("state":"stale")"));
  EXPECT_THAT(rig.metrics().exposition(),
              HasSubstr("weir_energy_feed_changes_total{to=\"stale\"} 1"));
  rig.supply(400);
  EXPECT_EQ(rig.controller().health().detail, "");
  EXPECT_THAT(to_json(rig.energy()), HasSubstr(R"("state":"fresh")"));
}

TEST(ControllerEnergy, ASupplyInAnotherUnitIsNotTakenForABudget) {
  EnergyRig rig;
  EnergyWish wish = rig.wish();
  wish.budget_is_carbon = true;
  rig.configure(wish);
  rig.supply(500);
  rig.supply(0.3, {SupplyQuantity::price, "EUR"});
  const ShownEnergy shown = rig.energy();
  EXPECT_EQ(shown.unit, "g CO2");
  EXPECT_EQ(shown.per_kwh, 500);
  EXPECT_THAT(shown.feed.problem, HasSubstr("which the budget is not in"));
}

// People speak of the wall clock: the series and the budget go with it, what was used stays.
TEST(ControllerEnergy, FollowsTheWallClock) {
  EnergyRig rig;
  const EnergyWish wish = rig.wish();
  rig.configure(wish);
  SupplyNews news;
  std::vector<double> values;
  for (int hour = 0; hour < 48; ++hour) values.push_back(hour);
  news.series = SupplySeries{rig.clocks().wall(), kAnHour, values};
  rig.controller().hear_supply(news);
  rig.nodes();
  EXPECT_EQ(rig.energy().per_kwh, 0);
  rig.clocks().set_wall(5 * kAnHour);
  rig.settle();
  EXPECT_EQ(rig.energy().per_kwh, 5);
  EXPECT_EQ(rig.energy().terms->from, wish.terms.from);
}

// Waits for the thread that speaks with GPUs.
void wait_for(Rig& rig, const std::function<bool()>& test) {
  for (int i = 0; i < 6000 && !test(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
    rig.nodes();
  }
  EXPECT_TRUE(test());
}

struct MeasuredRig {
  HandGpus gpus;
  EnergyRig rig;
  JobId job;

  // The clock of a job is half where energy has a price, and 30 % less power.
  MeasuredRig() {
    rig.close();
    rig.config().gpus = &gpus;
    rig.open();
    EnergyWish wish = rig.wish();
    wish.terms.budget_micros.reset();
    wish.terms.price_nanos = 1'000'000'000'000;  // nothing matters but energy
    wish.terms.pools.front().node_milliwatts = 0;
    wish.model = [](PoolIndex, const CurveBook& curves) {
      PowerBook book;
      for (const auto& [key, curve] : curves.curves) {
        for (const CurvePoint& point : curve.useful()) {
          book.tables[key].push_back(
              {point.gpus, 500, clocked(point.rate, 900'000), 200'000 * point.gpus});
          book.tables[key].push_back({point.gpus, 1000, point.rate, 400'000 * point.gpus});
        }
      }
      return book;
    };
    rig.configure(wish);
    rig.supply(500);
  }
  void begin() {
    job = rig.accept(kBurns);
    rig.settle();
    ASSERT_EQ(rig.phase(job), "running");
  }
  nlohmann::json energy() { return rig.job(job).value("energy", nlohmann::json::object()); }
  std::uint32_t generation() { return rig.job(job).at("generation").get<std::uint32_t>(); }
  void progress(std::int64_t iterations) {
    rig.report(job, generation(), RunProgress{iterations, Duration{0}, {}, {}});
  }
};

TEST(ControllerEnergy, ClocksAreSetAndFreeAgainAfterTheJob) {
  MeasuredRig world;
  world.begin();
  wait_for(world.rig, [&] { return world.gpus.clocks() == std::map<int, std::int32_t>{{0, 500}}; });
  // The job shows it once the controller has heard of it, which is after the GPU has.
  wait_for(world.rig, [&] { return world.energy().contains("clock"); });
  EXPECT_EQ(world.energy().value("clock", 0.0), 0.5);
  EXPECT_FALSE(world.energy().contains("clock_problem"));
  world.rig.end_well(world.job, world.generation());
  wait_for(world.rig, [&] { return world.gpus.clocks().at(0) == 1000; });
}

TEST(ControllerEnergy, AClockThatCannotBeSetIsTold) {
  MeasuredRig world;
  world.gpus.allow(false, true);
  world.begin();
  wait_for(world.rig, [&] { return world.energy().contains("clock_problem"); });
  EXPECT_EQ(world.energy().at("clock"), 0.5) << "what would have been set";
  EXPECT_EQ(world.energy().at("clock_problem"), "Insufficient Permissions");
  EXPECT_THAT(world.rig.metrics().exposition(), HasSubstr("weir_energy_clocks_refused_total 1"));
}

// 100 W for 100 s, where 200 W were modelled at that clock.
TEST(ControllerEnergy, WhatCountersSayReplacesTheModel) {
  MeasuredRig world;
  world.begin();
  wait_for(world.rig, [&] { return !world.gpus.clocks().empty(); });
  world.rig.pass(std::chrono::seconds{100});
  world.gpus.use(0, 10'000);
  world.progress(500);
  wait_for(world.rig, [&] { return world.energy().value("source", "") == "measured"; });
  EXPECT_NEAR(world.energy().at("gpu_kwh").get<double>(), 10'000 / 3.6e6, 1e-12);
  EXPECT_THAT(world.rig.records("power_table_adopted").back(), HasSubstr("\"measured\""));
  EXPECT_NEAR(world.rig.energy().watts, 100, 3);
}

TEST(ControllerEnergy, WithoutCountersItIsModelled) {
  MeasuredRig world;
  world.gpus.allow(true, false);
  world.begin();
  wait_for(world.rig, [&] { return !world.gpus.clocks().empty(); });
  world.rig.pass(std::chrono::seconds{100});
  world.progress(500);
  world.rig.settle();
  EXPECT_EQ(world.energy().at("source"), "modelled");
  EXPECT_FALSE(world.energy().contains("gpu_kwh"));
}

TEST(ControllerEnergy, UnderAnyPolicyItIsCounted) {
  EnergyRig rig{"weir"};
  EnergyWish wish = rig.wish();
  wish.terms.budget_micros.reset();
  rig.configure(wish);
  rig.supply(500);
  rig.accept(kBurns);
  rig.settle();
  EXPECT_DOUBLE_EQ(rig.energy().watts, 600);
}

}  // namespace
}  // namespace weir::control
