// SPDX-License-Identifier: Apache-2.0
#include "worker/stop_request.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <vector>

namespace weir::worker {
namespace {

using namespace std::chrono_literals;

TEST(StopRequest, AsksForNothingWithoutAReason) {
  StopRequest stop;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(stop.should_checkpoint());
  EXPECT_FALSE(stop.should_leave());
}

TEST(StopRequest, AStopIsToldOnceAndThenItIsTimeToLeave) {
  StopRequest stop;
  raise(SIGTERM);
  EXPECT_FALSE(stop.should_leave());  // not before the save
  EXPECT_TRUE(stop.should_checkpoint());
  EXPECT_TRUE(stop.should_leave());
  EXPECT_FALSE(stop.should_checkpoint());
  EXPECT_TRUE(stop.should_leave());
}

TEST(StopRequest, AnAnnouncementAsksForASaveAndNotToLeave) {
  StopRequest stop;
  raise(SIGUSR1);
  EXPECT_TRUE(stop.should_checkpoint());
  EXPECT_FALSE(stop.should_leave());
  EXPECT_FALSE(stop.should_checkpoint());
}

TEST(StopRequest, BothAtOnceAreOneSave) {
  StopRequest stop;
  raise(SIGUSR1);
  raise(SIGTERM);
  EXPECT_TRUE(stop.should_checkpoint());
  EXPECT_TRUE(stop.should_leave());
  EXPECT_FALSE(stop.should_checkpoint());
}

TEST(StopRequest, ASignalBeforeItIsNotItsOwn) {
  {
    StopRequest earlier;
    raise(SIGTERM);
  }
  StopRequest stop;
  EXPECT_FALSE(stop.should_checkpoint());
}

TEST(StopRequest, AsksWhenTheTimeHasPassedSinceTheLastSave) {
  StopRequest stop{{.save_every = 10s}};
  const auto start = StopRequest::Clock::now();
  EXPECT_FALSE(stop.should_checkpoint(start + 9s));
  EXPECT_TRUE(stop.should_checkpoint(start + 11s));
  EXPECT_FALSE(stop.should_checkpoint(start + 20s));
  raise(SIGUSR1);  // a save for another reason begins the time anew
  EXPECT_TRUE(stop.should_checkpoint(start + 20s));
  EXPECT_FALSE(stop.should_checkpoint(start + 29s));
  EXPECT_TRUE(stop.should_checkpoint(start + 30s));
  EXPECT_FALSE(stop.should_leave());
}

std::atomic<int> plain_calls{0};
std::atomic<int> informed_calls{0};

TEST(StopRequest, CallsTheHandlersThatWereThereAndGivesThemBack) {
  struct sigaction plain {};
  plain.sa_handler = [](int) { ++plain_calls; };
  struct sigaction informed {};
  informed.sa_sigaction = [](int, siginfo_t* info, void*) {
    if (info->si_pid == getpid()) ++informed_calls;
  };
  informed.sa_flags = SA_SIGINFO;
  struct sigaction before_term {};
  struct sigaction before_usr {};
  sigaction(SIGTERM, &plain, &before_term);
  sigaction(SIGUSR1, &informed, &before_usr);
  {
    StopRequest stop;
    raise(SIGTERM);
    raise(SIGUSR1);
    EXPECT_TRUE(stop.should_checkpoint());
  }
  EXPECT_EQ(plain_calls, 1);
  EXPECT_EQ(informed_calls, 1);
  raise(SIGTERM);
  EXPECT_EQ(plain_calls, 2);
  sigaction(SIGTERM, &before_term, nullptr);
  sigaction(SIGUSR1, &before_usr, nullptr);
}

TEST(StopRequest, AForkedChildEndsWhenItIsToldTo) {
  StopRequest stop;
  const pid_t child = fork();
  if (child == 0) {
    alarm(5);  // if it does not, it ends in another way
    raise(SIGTERM);
    pause();  // the signal comes when its handler has returned
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  EXPECT_FALSE(stop.should_checkpoint());
}

// Ranks are processes; what the others want is a variable here.
TEST(StopRequest, AskedWithAgreementItAnswersAsTheOthersDo) {
  int others = 0;
  std::vector<int> asked;
  StopRequest stop{{.agree = [&](int wish) {
    asked.push_back(wish);
    return std::max(wish, others);
  }}};
  EXPECT_FALSE(stop.should_checkpoint());
  others = 1;
  EXPECT_TRUE(stop.should_checkpoint());
  EXPECT_FALSE(stop.should_leave());
  others = 2;
  EXPECT_TRUE(stop.should_checkpoint());
  EXPECT_TRUE(stop.should_leave());
  others = 0;
  raise(SIGTERM);
  EXPECT_TRUE(stop.should_checkpoint());
  EXPECT_EQ(asked, (std::vector<int>{0, 0, 0, 2}));
}

RC_GTEST_PROP(StopRequest, AgreesOnlyAtTheCallsThatAllRanksShare, ()) {
  const int every = *rc::gen::inRange(1, 6);
  const int signal_at = *rc::gen::inRange(1, 20);
  std::vector<int> asked_at;
  int call = 0;
  StopRequest stop{{.agree =
                        [&](int wish) {
                          asked_at.push_back(call);
                          return wish;
                        },
                    .agree_every = every}};
  int told_at = 0;
  for (call = 1; call <= 30; ++call) {
    if (call == signal_at) raise(SIGTERM);
    if (!stop.should_checkpoint()) continue;
    RC_ASSERT(told_at == 0);
    told_at = call;
  }
  RC_ASSERT(told_at == (signal_at + every - 1) / every * every);
  for (const int at : asked_at) RC_ASSERT(at % every == 0);
  RC_ASSERT(static_cast<int>(asked_at.size()) == 30 / every);
}

}  // namespace
}  // namespace weir::worker
