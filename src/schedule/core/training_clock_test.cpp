// SPDX-License-Identifier: Apache-2.0
//
// What a clock does to a job in the scheduler's state: it goes on where it is, at another rate.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

// A start costs 2 s and 3 s per doubling: 5 s on one GPU, where it does 10 iterations a second.
struct OneClockedJob {
  PoolUnderTest pool{1, 4, {from_seconds(2), from_seconds(3)}};
  JobId id = pool.add_unpromised(a_training_job().curve({{1, 10}, {2, 18}}).iterations(1000));
  TrainingState state = pool.copy_of_state();

  template <class What>
  void tell(std::int64_t second, What what) {
    evolve(state, at_second(second), {}, what);
  }
  Work left(std::int64_t second) const { return state.job(id).left_at(at_second(second)); }
};

TEST(TrainingClock, AJobGoesOnAtThatMuchOfItsRate) {
  OneClockedJob job;
  job.tell(0, JobResized{job.id, 1, {0, 1}});  // makes progress from second 5 on
  job.tell(15, ClockSet{job.id, 500, 600'000});
  EXPECT_EQ(job.left(15), work_of_iterations(900));
  EXPECT_EQ(job.left(25), work_of_iterations(840));
  job.tell(25, ClockSet{job.id, kFullClock, kAllMillionths});
  EXPECT_EQ(job.left(35), work_of_iterations(740));
}

TEST(TrainingClock, AClockSetBeforeTheRanksAreReadyCostsNothing) {
  OneClockedJob job;
  job.tell(0, JobResized{job.id, 1, {0, 1}});
  job.tell(0, ClockSet{job.id, 500, 600'000});
  job.tell(3, ClockSet{job.id, 500, 500'000});
  EXPECT_EQ(job.left(5), work_of_iterations(1000));
  EXPECT_EQ(job.left(15), work_of_iterations(950));
}

TEST(TrainingClock, AJobWhoseGpusChangeBeginsAtTheFullClock) {
  OneClockedJob job;
  job.tell(0, JobResized{job.id, 1, {0, 1}});
  job.tell(0, ClockSet{job.id, 500, 600'000});
  job.tell(15, JobResized{job.id, 2, {0, 2}});  // ready at 23
  EXPECT_EQ(job.state.job(job.id).clock_permille, kFullClock);
  EXPECT_EQ(job.state.job(job.id).clocked_millionths, kAllMillionths);
  EXPECT_EQ(job.left(33), work_of_iterations(1000 - 60 - 180));
}

// Work is whole femto-iterations and rates are whole micro-iterations: nothing is lost to rounding,
// however often the clock is set.
TEST(TrainingClock, SettingTheSameClockAgainChangesNothing) {
  EXPECT_TRUE(rc::check("again", [] {
    OneClockedJob often;
    OneClockedJob once;
    const auto millionths = between<std::int64_t>(1, 1'000'001);
    for (OneClockedJob* job : {&often, &once}) {
      job->tell(0, JobResized{job->id, 1, {0, 1}});
      job->tell(7, ClockSet{job->id, 700, millionths});
    }
    for (std::int64_t second = 7; second < 60; second += between(1, 9))
      often.tell(second, ClockSet{often.id, 700, millionths});
    RC_ASSERT(often.left(60) == once.left(60));
  }));
}

}  // namespace
}  // namespace weir::schedule
