// SPDX-License-Identifier: Apache-2.0
//
// What holds of whole runs in which energy has a price, a budget or a cap.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "simulate/any_energy_run_testing.h"

namespace weir::simulate {
namespace {

template <class Check>
void for_any_green_run(const char* what, bool has_deadlines, Check check) {
  EXPECT_TRUE(rc::check(what, [&] {
    EnergyCase made = an_energy_case("green", *rc::gen::arbitrary<std::uint64_t>(), has_deadlines);
    check(made);
  }));
}

// The same: every record, in the same order, but those that tell the price.
TEST(EnergyRun, ABudgetWithoutEndIsNoBudget) {
  for_any_green_run("no end", true, [](EnergyCase& made) {
    const std::vector<Record> without = decisions_of(made);
    made.terms().budget_micros = 1'000'000'000'000'000'000;
    RC_ASSERT(decisions_of(made) == without);
    made.terms().budget_micros.reset();
    made.terms().price_nanos = 0;
    RC_ASSERT(decisions_of(made) == without);
  });
}

TEST(EnergyRun, WithoutAPriceTheSupplyDecidesNothing) {
  for_any_green_run("supply", true, [](EnergyCase& made) {
    const std::vector<Record> before = decisions_of(made);
    made.supply() = SupplySeries{Time{}, std::chrono::hours{1}, {1}};
    RC_ASSERT(decisions_of(made) == before);
  });
}

TEST(EnergyRun, AConstantIntensityIsAPriceOfEnergy) {
  for_any_green_run("constant", true, [](EnergyCase& made) {
    made.terms().price_nanos = *rc::gen::inRange<std::int64_t>(0, 100'000'000'000);
    const double value = made.supply().values().front();
    made.supply() = SupplySeries{Time{}, std::chrono::hours{1}, std::vector<double>(100, value)};
    const std::vector<Record> hourly = decisions_of(made);
    made.supply() = SupplySeries{Time{}, std::chrono::hours{24}, {value}};
    RC_ASSERT(decisions_of(made) == hourly);
  });
}

TEST(EnergyRun, TwiceTheUnitsAtHalfThePriceIsTheSame) {
  for_any_green_run("scale", true, [](EnergyCase& made) {
    made.terms().price_nanos = 2 * *rc::gen::inRange<std::int64_t>(0, 50'000'000'000);
    const std::vector<Record> before = decisions_of(made);
    std::vector<double> values = made.supply().values();
    for (double& value : values) value *= 2;
    made.supply() = SupplySeries{Time{}, std::chrono::hours{1}, values};
    made.terms().price_nanos = *made.terms().price_nanos / 2;
    RC_ASSERT(decisions_of(made) == before);
  });
}

// Everybody can run alone under the cap, on one GPU at the lowest clock.
double least_cap(const EnergyCase& made) {
  double most = 0;
  for (const auto& [kind, table] : made.config.energy->books.front().tables) {
    double least = 1e12;
    for (const PowerPoint& point : table) {
      if (point.gpus == 1) least = std::min(least, static_cast<double>(point.milliwatts));
    }
    most = std::max(most, least);
  }
  const PowerBook& book = made.config.energy->books.front();
  most += static_cast<double>(book.node_milliwatts + 7 * book.idle_milliwatts +
                              5 * book.asleep_milliwatts);
  return most * book.overhead_permille / 1000;
}

TEST(EnergyRun, TheCapIsNeverExceededAndEverybodyFinishes) {
  for_any_green_run("cap", false, [](EnergyCase& made) {
    made.terms().price_nanos = *rc::gen::element<std::int64_t>(0, 1'000'000'000, 100'000'000'000);
    const double cap = least_cap(made) * *rc::gen::element(1.0, 1.2, 2.0, 4.0);
    made.terms().cap_milliwatts = static_cast<std::int64_t>(cap) + 1;
    const TrainingOutcome outcome = made.play();
    RC_ASSERT(outcome.energy->peak_watts <=
              static_cast<double>(*made.terms().cap_milliwatts) / 1000 * (1 + 1e-9));
    RC_ASSERT(outcome.finished == outcome.jobs);
  });
}

TEST(EnergyRun, CappedSizesAndClocksStayBelowTheFeedersCapToo) {
  EXPECT_TRUE(rc::check("capped", [] {
    EnergyCase made = an_energy_case("elastic-capped", *rc::gen::arbitrary<std::uint64_t>());
    made.config.training.caps = {1, 500};
    made.terms().cap_milliwatts = static_cast<std::int64_t>(least_cap(made) * 1.5) + 1;
    const TrainingOutcome outcome = made.play();
    RC_ASSERT(outcome.energy->peak_watts <=
              static_cast<double>(*made.terms().cap_milliwatts) / 1000 * (1 + 1e-9));
    RC_ASSERT(outcome.finished == outcome.jobs);
  }));
}

TEST(EnergyRun, PromisesAreKeptWhateverEnergyCosts) {
  for_any_green_run("promises", true, [](EnergyCase& made) {
    made.terms().budget_micros = *rc::gen::inRange<std::int64_t>(1'000'000, 2'000'000'000);
    made.terms().when_spent =
        *rc::gen::element(WhenSpent::overdraw, WhenSpent::min_power, WhenSpent::pause);
    const TrainingOutcome outcome = made.play();
    RC_ASSERT(outcome.missed_after_admission == 0);
    for (const TrainingJobOutcome& job : outcome.by_job)
      RC_ASSERT(job.finished.has_value() != job.is_refused);
  });
}

// What is below the clock of least energy is not in the tables; what is not in them is not set.
// Over many runs with deadlines: where energy is dear, promised jobs keep to the GPUs of their plans.
TEST(EnergyRun, PromisedJobsGrowWhereEnergyIsCheap) {
  const auto sums = [](std::int64_t price_nanos) {
    double seconds = 0;
    double kwh = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      EnergyCase made = an_energy_case("green", seed, true);
      made.terms().price_nanos = price_nanos;
      const TrainingOutcome outcome = made.play();
      EXPECT_EQ(outcome.missed_after_admission, 0);
      seconds += outcome.total_completion_seconds;
      kwh += outcome.energy->jobs_kwh;
    }
    return std::pair{seconds, kwh};
  };
  const auto [free_seconds, free_kwh] = sums(0);
  const auto [dear_seconds, dear_kwh] = sums(1'000'000'000'000);
  EXPECT_LT(free_seconds, 0.8 * dear_seconds);
  EXPECT_GT(free_kwh, 1.1 * dear_kwh);
}

TEST(EnergyRun, ClocksAndRatesAreThoseOfTheTables) {
  for_any_green_run("clocks", true, [](EnergyCase& made) {
    made.terms().price_nanos = *rc::gen::inRange<std::int64_t>(0, 200'000'000'000);
    std::map<JobId, CurveKey> kinds;
    std::map<JobId, std::int32_t> sizes;
    made.config.on_record = [&](const Record& record) {
      if (const auto* accepted = std::get_if<TrainingAccepted>(&record.what))
        kinds[accepted->job] = accepted->spec->curve;
      if (const auto* resized = std::get_if<JobResized>(&record.what))
        sizes[resized->job] = static_cast<std::int32_t>(resized->block.size);
      if (const auto* set = std::get_if<ClockSet>(&record.what)) {
        const auto is_it = [&](const PowerPoint& point) {
          return point.gpus == sizes.at(set->job) && point.clock_permille == set->clock_permille;
        };
        const PowerTable& table = *made.book().find(kinds.at(set->job));
        const auto found = std::find_if(table.begin(), table.end(), is_it);
        RC_ASSERT(found != table.end());
        const IterationRate full =
            made.curves.find(kinds.at(set->job))->rate_at(sizes.at(set->job));
        const std::int64_t rate = clocked(full, set->rate_millionths).value;
        RC_ASSERT(rate <= found->rate.value);
        RC_ASSERT(found->rate.value - rate <= full.value / 1'000'000 + 1);
      }
    };
    made.play();
  });
}

}  // namespace
}  // namespace weir::simulate
