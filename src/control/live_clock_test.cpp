// SPDX-License-Identifier: Apache-2.0
#include "control/live_clock.h"

#include <gmock/gmock.h>

namespace weir::control {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::Eq;
using ::testing::Optional;

// Clocks that are set by hand.
class MachineClocks final : public ClockSource {
 public:
  Time wall() const override { return wall_; }
  Duration since_boot() const override { return since_boot_; }
  std::string boot_id() const override { return boot_; }

  void pass(Duration time) {
    wall_ += time;
    since_boot_ += time;
  }
  void set_wall(Duration by) { wall_ += by; }
  void restart_machine(Duration away) {
    wall_ += away;
    since_boot_ = seconds{20};
    boot_ += "'";
  }

 private:
  Time wall_{hours{490'000}};
  Duration since_boot_{hours{5}};
  std::string boot_ = "boot";
};

TEST(LiveClock, BeginsWithTheWallClock) {
  MachineClocks clocks;
  const LiveClock clock{std::nullopt, clocks};
  EXPECT_EQ(clock.now(), clocks.wall());
}

TEST(LiveClock, GoesOnEvenlyWhenTheWallClockIsSetAnHourBackAndForth) {
  MachineClocks clocks;
  LiveClock clock{std::nullopt, clocks};
  const Time start = clock.now();
  EXPECT_EQ(clock.take_step(), std::nullopt);
  clocks.pass(seconds{10});
  clocks.set_wall(-hours{1});
  EXPECT_EQ(clock.now(), start + seconds{10});
  EXPECT_THAT(clock.take_step(), Optional(Eq(Duration{-hours{1}})));
  EXPECT_EQ(clock.take_step(), std::nullopt) << "a step is told once";
  EXPECT_EQ(clock.to_wall(clock.now()), clocks.wall());
  clocks.pass(seconds{10});
  clocks.set_wall(hours{2});
  EXPECT_THAT(clock.take_step(), Optional(Eq(Duration{hours{2}})));
  EXPECT_EQ(clock.now(), start + seconds{20});
  EXPECT_EQ(clock.from_wall(clocks.wall()), clock.now());
}

TEST(LiveClock, ARestartOfTheProgramLosesNoTimeAndSeesStepsMadeMeanwhile) {
  MachineClocks clocks;
  const LiveClock before{std::nullopt, clocks};
  const Time start = before.now();
  const ClockMark mark = before.mark();
  clocks.pass(seconds{30});
  clocks.set_wall(-hours{1});
  LiveClock after{mark, clocks};
  EXPECT_EQ(after.now(), start + seconds{30});
  EXPECT_THAT(after.take_step(), Optional(Eq(Duration{-hours{1}})));
}

TEST(LiveClock, ARestartOfTheMachineGoesByTheWallClockButNeverBack) {
  MachineClocks clocks;
  const LiveClock before{std::nullopt, clocks};
  const ClockMark mark = before.mark();
  MachineClocks later = clocks;
  later.restart_machine(seconds{90});
  EXPECT_EQ((LiveClock{mark, later}.now()), mark.now + seconds{90});
  MachineClocks wrong = clocks;
  wrong.restart_machine(-hours{1});
  LiveClock clock{mark, wrong};
  EXPECT_EQ(clock.now(), mark.now);
  EXPECT_THAT(clock.take_step(), Optional(Eq(Duration{-hours{1}})));
}

TEST(LiveClock, SmallDifferencesAreNoSteps) {
  MachineClocks clocks;
  LiveClock clock{std::nullopt, clocks};
  clocks.set_wall(milliseconds{499});
  EXPECT_EQ(clock.take_step(), std::nullopt);
  clocks.set_wall(milliseconds{1});
  EXPECT_NE(clock.take_step(), std::nullopt);
}

TEST(LiveClock, TheMachinesClocksRun) {
  const LiveClock clock{std::nullopt};
  const Time first = clock.now();
  EXPECT_LE(first, clock.now());
  EXPECT_FALSE(clock.mark().boot_id.empty());
}

}  // namespace
}  // namespace weir::control
