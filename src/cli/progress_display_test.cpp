// SPDX-License-Identifier: Apache-2.0
#include "cli/progress_display.h"

#include <gmock/gmock.h>

#include <sstream>

namespace weir::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class ProgressDisplayTest : public ::testing::Test {
 protected:
  std::ostringstream err_;
  ProgressDisplay::Clock::time_point now_{};

  auto clock() {
    return [this] { return now_; };
  }
};

TEST_F(ProgressDisplayTest, ShortWorkSaysNothing) {
  {
    ProgressDisplay log{err_, false, clock()};
    now_ += 1900ms;
    log.advance("simulating", 10, 10);
    ProgressDisplay terminal{err_, true, clock()};
    terminal.advance("simulating", 10, 10);
  }
  EXPECT_EQ(err_.str(), "");
}

TEST_F(ProgressDisplayTest, ALogGetsALineEveryFewSeconds) {
  ProgressDisplay log{err_, false, clock()};
  for (std::uint64_t done = 1; done <= 10; ++done) {
    now_ += 1s;
    log.advance("simulating", done, 10);
  }
  EXPECT_EQ(err_.str(),
            "simulating: 3 of 10 runs, 7 s left\n"
            "simulating: 6 of 10 runs, 4 s left\n"
            "simulating: 9 of 10 runs, 1 s left\n");
}

TEST_F(ProgressDisplayTest, ATerminalGetsABarThatIsWipedAtTheEnd) {
  {
    ProgressDisplay bar{err_, true, clock()};
    now_ += 1s;
    bar.advance("simulating", 5, 10);
    now_ += 10ms;
    bar.advance("simulating", 6, 10);  // too soon to draw again
  }
  EXPECT_THAT(err_.str(),
              HasSubstr("\rsimulating [###############---------------] 5/10, 1 s left"));
  EXPECT_THAT(err_.str(), ::testing::Not(HasSubstr("6/10")));
  EXPECT_THAT(err_.str(), EndsWith("\r\x1b[K"));
}

TEST_F(ProgressDisplayTest, NeverGoesBackWhenThreadsReportOutOfOrder) {
  ProgressDisplay log{err_, false, clock()};
  log.advance("simulating", 8, 10);
  now_ += 5s;
  log.advance("simulating", 7, 10);
  EXPECT_THAT(err_.str(), HasSubstr("8 of 10"));
}

}  // namespace
}  // namespace weir::cli
