// SPDX-License-Identifier: Apache-2.0
#include "simulate/energy_history.h"

#include <gmock/gmock.h>

#include <sstream>

#include "formats/cluster_shorthand.h"
#include "formats/log_codec.h"
#include "formats/time_text.h"
#include "schedule/core/core.h"
#include "schedule/place/policies.h"
#include "schedule/policies/training_policies.h"

namespace weir::simulate {
namespace {

using std::chrono::hours;

const Time kEvening = *formats::parse_time("2026-11-15T22:00:00Z");
const CurveKey kBert{"bert", 128};
constexpr Time kEver = Time::max() - hours{48};

// As the control plane writes it. 100 W for each GPU at work, 60 W for the node that is awake, 10 W
// while it sleeps; 500 g/kWh.
class EnergyLog {
 public:
  EnergyLog() {
    header_.pools = formats::log_pools(formats::parse_cluster_shorthand("1x4xCPU").value());
    header_.policy = "weir";
    schedule::CoreConfig config;
    config.policy = schedule::placement_policies().front().policy;
    config.training_policy = schedule::find_training_policy("weir");
    core_.emplace(config, schedule::initial_state_for_training(formats::cluster_of(header_)));
    tell(hours{0}, CurveUpdated{PoolIndex{0}, kBert,
                                Curve{{{1, IterationRate{10'000'000}}}, CurveOrigin::measured}});
    tell(hours{0}, SupplyUpdated{{}, {kEvening, hours{1}, {500}}});
    EnergyTerms terms;
    terms.pools = {{PoolIndex{0}, 0, 60'000, 10'000, 1000}};
    tell(hours{0}, EnergyConfigured{terms});
    tell(hours{0}, PowerTableUpdated{PoolIndex{0},
                                     kBert,
                                     {{1, 1000, IterationRate{10'000'000}, 100'000}},
                                     CurveOrigin::assumed});
  }
  template <class What>
  void tell(Duration after, What what) {
    const Event event{kEvening + after, what};
    const auto records = core_->handle(event);
    formats::append_event_line(lines_, event);
    lines_ += '\n';
    for (const Record& record : records) {
      formats::append_record_line(lines_, record, ++seq_, "0.1.0");
      lines_ += '\n';
    }
  }
  void submit(Duration after, std::string name, std::string tenant) {
    TrainingSpec spec;
    spec.name = std::move(name);
    spec.curve = kBert;
    spec.tenant = std::move(tenant);
    spec.iterations = 1'000'000;
    spec.is_rigid = true;
    tell(after, TrainingSubmitted{spec});
    tell(after, TimerFired{});
  }
  Result<EnergyHistory> read(Time since = Time{}, Time until = kEver) const {
    std::ostringstream out;
    formats::RecordLogWriter{out, "0.1.0"}.write(header_);
    text_ = out.str() + lines_;
    auto log = formats::RecordLogReader::open(*formats::InputFile::from_memory("log.jsonl", text_));
    if (!log) return tl::unexpected(log.error());
    return read_energy_history(std::move(*log), "log.jsonl", since, until);
  }
  const schedule::EnergyAccount& account() const { return core_->state().training.energy; }

 private:
  formats::RecordLogHeader header_;
  std::optional<schedule::Core> core_;
  std::string lines_;
  std::uint64_t seq_ = 0;
  mutable std::string text_;
};

double kwh(const EnergyHistory& history, const char* day, std::uint64_t job) {
  const auto at = history.uses.find({*formats::parse_time(day), JobId{job}});
  return at == history.uses.end() ? 0 : at->second.joules / 3.6e6;
}

// Alone for two hours and one hour beside another; then an hour of nobody.
EnergyLog a_night() {
  EnergyLog log;
  log.submit(hours{0}, "first", "vision");
  log.submit(hours{2}, "second", "");
  log.tell(hours{3}, JobFinished{JobId{1}});
  log.tell(hours{3}, JobFinished{JobId{2}});
  log.tell(hours{4}, TimerFired{});
  return log;
}

TEST(EnergyHistory, TellsWhoUsedWhatOnWhichDay) {
  const EnergyLog log = a_night();
  const auto history = log.read();
  ASSERT_TRUE(history) << to_string(history.error().details);
  EXPECT_TRUE(history->was_asked);
  EXPECT_EQ(history->jobs.at(JobId{1}).tenant, "vision");
  EXPECT_NEAR(kwh(*history, "2026-11-15T00:00:00Z", 1), 2 * 0.160, 1e-9);
  EXPECT_NEAR(kwh(*history, "2026-11-16T00:00:00Z", 1), 0.130, 1e-9);
  EXPECT_NEAR(kwh(*history, "2026-11-16T00:00:00Z", 2), 0.130, 1e-9);
  EXPECT_NEAR(kwh(*history, "2026-11-16T00:00:00Z", 0), 0.010, 1e-9) << "nobody's";
}

// Two ways to count, to 1e-9: this one, and that of the scheduler's state.
TEST(EnergyHistory, AddsUpToTheSchedulersAccount) {
  EnergyLog log = a_night();
  log.submit(hours{5}, "third", "vision");
  log.tell(hours{6}, JobCancelled{JobId{3}});
  const auto history = log.read();
  ASSERT_TRUE(history) << to_string(history.error().details);
  double joules = 0;
  double units = 0;
  for (const auto& [key, use] : history->uses) {
    joules += use.joules;
    units += use.units;
  }
  EXPECT_NEAR(joules / log.account().total.joules, 1, 1e-9);
  EXPECT_NEAR(units / log.account().total.units, 1, 1e-9);
}

TEST(EnergyHistory, BetweenTwoTimes) {
  const EnergyLog log = a_night();
  const auto history = log.read(kEvening + hours{1}, kEvening + hours{2});
  ASSERT_TRUE(history) << to_string(history.error().details);
  ASSERT_EQ(history->uses.size(), 1U);
  EXPECT_NEAR(history->uses.begin()->second.joules, 160 * 3600, 1e-6);
  EXPECT_NEAR(history->uses.begin()->second.units, 80, 1e-9);
}

// The wall clock was set an hour forward: days are those of the wall.
TEST(EnergyHistory, DaysAreThoseOfTheWallClock) {
  EnergyLog log;
  log.submit(hours{0}, "first", "");
  log.tell(hours{1}, ClockStepped{hours{1}});
  log.tell(hours{2}, JobFinished{JobId{1}});
  const auto history = log.read();
  ASSERT_TRUE(history) << to_string(history.error().details);
  EXPECT_NEAR(kwh(*history, "2026-11-15T00:00:00Z", 1), 0.160, 1e-9);
  EXPECT_NEAR(kwh(*history, "2026-11-16T00:00:00Z", 1), 0.160, 1e-9);
}

TEST(EnergyHistory, GramsAndMoneyAreKeptApart) {
  EnergyLog log;
  log.submit(hours{0}, "first", "");
  log.tell(hours{1}, SupplyUpdated{{SupplyQuantity::price, "EUR"}, {kEvening, hours{1}, {0.5}}});
  log.tell(hours{2}, JobFinished{JobId{1}});
  const auto history = log.read();
  ASSERT_TRUE(history) << to_string(history.error().details);
  EXPECT_TRUE(history->has_other_kinds);
  double units = 0;
  for (const auto& [key, use] : history->uses) units += use.units;
  EXPECT_NEAR(units, 0.160 * 0.5, 1e-9);
}

}  // namespace
}  // namespace weir::simulate
