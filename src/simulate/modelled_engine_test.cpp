// SPDX-License-Identifier: Apache-2.0
#include "simulate/modelled_engine.h"

#include <gtest/gtest.h>

namespace weir::simulate {
namespace {

// A start costs 2 s and 3 s per doubling: 5 s for one GPU, 8 s for two; 2 s for a known group.
const schedule::RescaleCost kCost{from_seconds(2), from_seconds(3)};
const PoolIndex kPool{0};
const JobId kJob{1};

Time second(std::int64_t number) {
  return Time{from_seconds(number)};
}

// 10/s on one GPU, 15/s on two.
Curve a_curve() {
  return Curve{{{1, IterationRate{10'000'000}}, {2, IterationRate{15'000'000}}}};
}

class Engine : public ::testing::Test {
 protected:
  Engine() { engine.add(kJob, a_curve(), work_of_iterations(1000), 1000); }

  void give(std::int64_t at, GpuBlock block, JobId job = kJob) {
    engine.resize(second(at), kPool, JobResized{job, ++generation, block});
  }
  // When the job ends, if nothing else is done.
  Time finish() {
    while (engine.next_at() != Time::max()) {
      const auto happening = engine.take_next();
      if (happening.is_finish) return happening.at;
    }
    return Time::max();
  }
  double done(std::int64_t at) const { return to_iterations(engine.done_at(kJob, second(at))); }

  ModelledEngine engine{kCost};
  std::uint32_t generation = 0;
};

TEST_F(Engine, AJobWithoutGpusDoesNothing) {
  EXPECT_EQ(engine.next_at(), Time::max());
  EXPECT_EQ(done(100), 0);
}

TEST_F(Engine, AStartPaysTheFullPriceAndThenTheJobRunsAsItsCurveSays) {
  give(10, {0, 1});
  EXPECT_EQ(done(15), 0);
  EXPECT_EQ(done(16), 10);
  EXPECT_EQ(engine.next_at(), second(15));  // its ranks are ready
  EXPECT_EQ(finish(), second(115));
  EXPECT_EQ(engine.rescales(), 1);
}

TEST_F(Engine, ANewGroupPaysInFullAndAKnownOneTheBaseOnly) {
  give(0, {0, 1});
  give(25, {0, 2});  // 200 done; ready at 33
  EXPECT_EQ(done(33), 200);
  EXPECT_EQ(done(35), 230);
  give(35, {0, 1});  // known: ready at 37
  EXPECT_EQ(done(37), 230);
  EXPECT_EQ(finish(), second(37 + 77));
  EXPECT_EQ(engine.rescales_of(kJob), 3);
}

TEST_F(Engine, AGroupThatAnotherJobFormedIsKnownInThatPoolOnly) {
  const JobId other{2};
  const JobId elsewhere{3};
  engine.add(other, a_curve(), work_of_iterations(100), 1000);
  engine.add(elsewhere, a_curve(), work_of_iterations(100), 1000);
  give(0, {4, 1}, other);
  give(50, {4, 1});
  EXPECT_EQ(done(53), 10);
  engine.resize(second(50), PoolIndex{1}, JobResized{elsewhere, 1, {4, 1}});
  EXPECT_EQ(engine.done_at(elsewhere, second(55)), Work{});
  EXPECT_EQ(engine.done_at(elsewhere, second(56)), work_of_iterations(10));
}

TEST_F(Engine, TheSameFirstGpuInAnotherSizeIsAnotherGroup) {
  give(0, {0, 2});
  give(10, {0, 1});  // 30 done; full price
  EXPECT_EQ(done(15), 30);
  EXPECT_EQ(done(16), 40);
}

TEST_F(Engine, AChangeDuringThePaymentBeginsANewOne) {
  give(0, {0, 1});
  give(4, {0, 2});
  EXPECT_EQ(done(12), 0);
  EXPECT_EQ(done(13), 15);
  EXPECT_EQ(engine.next_at(), second(12));  // nothing is heard of the first generation
  EXPECT_EQ(engine.take_next().generation, 2U);
}

TEST_F(Engine, APauseKeepsWhatWasDoneAndTheReturnIsPaid) {
  give(0, {0, 1});
  give(25, kNoGpus);
  EXPECT_EQ(done(100), 200);
  EXPECT_EQ(engine.next_at(), Time::max());
  give(100, {0, 1});  // known
  EXPECT_EQ(finish(), second(102 + 80));
  EXPECT_EQ(engine.rescales(), 2);  // a pause is none
}

TEST_F(Engine, AFinishIsRoundedUpToTheNextNanosecond) {
  const JobId slow{2};
  engine.add(slow, Curve{{{1, IterationRate{3'000'000}}}}, work_of_iterations(1), 1000);
  give(0, {0, 1}, slow);
  EXPECT_EQ(finish(), second(5) + Duration{333'333'334});
}

TEST_F(Engine, AJobSlowerThanItsCurveTakesLonger) {
  const JobId slow{2};
  engine.add(slow, a_curve(), work_of_iterations(900), 900);
  give(0, {0, 1}, slow);
  EXPECT_EQ(engine.done_at(slow, second(6)), work_of_iterations(9));
  EXPECT_EQ(finish(), second(105));
}

TEST_F(Engine, ASlowNetworkCostsWhatItTakes) {
  give(0, {0, 1});  // ready at 5 s
  engine.set_network(second(5), kJob, 500'000);
  EXPECT_EQ(done(25), 100) << "half of 10 a second";
  engine.set_network(second(25), kJob, 1'000'000);
  EXPECT_EQ(finish(), second(115)) << "900 more at 10 a second";
  EXPECT_EQ(engine.lost_to_network(kJob), from_seconds(10)) << "half of 20 s";
}

TEST_F(Engine, OtherGpusBeginWithAllOfTheNetwork) {
  give(0, {0, 1});
  engine.set_network(second(5), kJob, 500'000);
  give(25, {2, 1});  // ready at 30 s
  EXPECT_EQ(finish(), second(120));
}

TEST_F(Engine, AJobThatItsNetworkSlowsReportsItsProgressOnce) {
  give(0, {0, 1});
  engine.set_network(second(5), kJob, 900'000);
  engine.set_network(second(6), kJob, 800'000);
  engine.set_network(second(7), kJob, 900'000);
  int reports = 0;
  Time last = second(0);
  while (engine.next_at() != Time::max()) {
    const auto happening = engine.take_next();
    if (happening.is_finish) break;
    if (!happening.is_progress) continue;
    EXPECT_GT(happening.at, last) << "one chain of reports, not several";
    last = happening.at;
    ++reports;
  }
  EXPECT_GT(reports, 1);
}

TEST_F(Engine, RewiringIsAPause) {
  give(0, {0, 1});
  engine.pause(second(15), kJob, from_seconds(3));
  EXPECT_EQ(done(18), 100);
  EXPECT_EQ(finish(), second(108));
  EXPECT_EQ(engine.lost_to_network(kJob), from_seconds(3));
}

TEST_F(Engine, NobodyDoesMoreThanTheirWork) {
  give(0, {0, 1});
  EXPECT_EQ(done(100'000), 1000);
}

// Ready at 5, saved at 15 and 25; lost at 32.
TEST_F(Engine, WhoLosesItsRanksHasDoneWhatItLastSaved) {
  engine = ModelledEngine{kCost, from_seconds(10)};
  engine.add(kJob, a_curve(), work_of_iterations(1000), 1000);
  give(0, {0, 1});
  engine.fall_back(second(32), kJob);
  give(32, kNoGpus);
  EXPECT_EQ(done(32), 200);
  EXPECT_EQ(engine.gpu_time(), WideInteger{32} * from_seconds(1).count());
}

TEST_F(Engine, AChangeThatIsWantedSavesEverythingFirst) {
  engine = ModelledEngine{kCost, from_seconds(10)};
  engine.add(kJob, a_curve(), work_of_iterations(1000), 1000);
  give(0, {0, 1});
  give(32, {0, 2});                    // 270 done; ready at 40
  engine.fall_back(second(47), kJob);  // 105 more are lost
  give(47, kNoGpus);
  EXPECT_EQ(done(47), 270);
}

TEST_F(Engine, NothingIsLostBeforeTheRanksAreReady) {
  engine = ModelledEngine{kCost, from_seconds(10)};
  engine.add(kJob, a_curve(), work_of_iterations(1000), 1000);
  give(0, {0, 1});
  engine.fall_back(second(3), kJob);
  give(3, kNoGpus);
  EXPECT_EQ(done(3), 0);
}

TEST_F(Engine, AnotherClockMovesTheEndAndCostsNothing) {
  give(0, {0, 1});  // would end at 105
  engine.set_clock(second(25), {kJob, 500, 500'000});
  EXPECT_EQ(done(25), 200);
  EXPECT_EQ(done(35), 250);
  EXPECT_EQ(finish(), second(25 + 160));
  EXPECT_EQ(engine.rescales(), 1);
}

TEST_F(Engine, AnEndThatWasPlannedForAnotherClockIsNotHeardOf) {
  give(0, {0, 1});
  engine.set_clock(second(25), {kJob, 500, 500'000});
  engine.set_clock(second(45), {kJob, 1000, 1'000'000});  // 300 done, 70 s to go
  EXPECT_EQ(engine.take_next().at, second(5));            // its ranks are ready
  EXPECT_EQ(engine.next_at(), second(45 + 70));
  EXPECT_TRUE(engine.take_next().is_finish);
  EXPECT_EQ(engine.next_at(), Time::max());
}

TEST_F(Engine, AClockSetWhileAJobPaysHoldsFromItsFirstIterationOn) {
  give(0, {0, 1});
  engine.set_clock(second(2), {kJob, 500, 500'000});
  EXPECT_EQ(done(5), 0);
  EXPECT_EQ(done(7), 10);
  EXPECT_EQ(finish(), second(5 + 200));
}

TEST_F(Engine, WhoseGpusChangeRunsAtTheFullClock) {
  give(0, {0, 1});
  engine.set_clock(second(5), {kJob, 500, 500'000});
  give(25, {0, 2});  // 100 done; ready at 33
  EXPECT_EQ(done(43), 250);
}

TEST_F(Engine, AClockSetWithoutGpusChangesNothing) {
  give(0, {0, 1});
  give(25, kNoGpus);
  engine.set_clock(second(30), {kJob, 500, 500'000});
  EXPECT_EQ(engine.next_at(), Time::max());
  EXPECT_EQ(done(100), 200);
}

TEST_F(Engine, AJobOffItsCurveIsSoAtEveryClock) {
  const JobId slow{2};
  engine.add(slow, a_curve(), work_of_iterations(900), 900);
  give(0, {0, 1}, slow);
  engine.set_clock(second(0), {slow, 500, 500'000});
  EXPECT_EQ(engine.done_at(slow, second(15)), work_of_iterations(45));
}

TEST_F(Engine, CountsTheGpuTimeItHandedOutAlsoWhileAJobPays) {
  give(0, {0, 1});
  give(20, {0, 2});
  give(30, kNoGpus);
  EXPECT_EQ(engine.gpu_time(), WideInteger{40} * from_seconds(1).count());
}

}  // namespace
}  // namespace weir::simulate
