// SPDX-License-Identifier: Apache-2.0
#include "worker/progress_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace weir::worker {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

// The end of the socket that weir holds.
class Listener {
 public:
  Listener() {
    fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    name_ = "@weir.worker_test." + std::to_string(getpid());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name_.data() + 1, name_.size() - 1);
    const std::size_t size = offsetof(sockaddr_un, sun_path) + name_.size();
    if (bind(fd_, reinterpret_cast<sockaddr*>(&address), static_cast<socklen_t>(size)) != 0)
      ADD_FAILURE() << std::strerror(errno);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() { close(fd_); }

  const std::string& name() const { return name_; }
  std::vector<std::string> read() {
    std::vector<std::string> messages;
    char buffer[4096];
    for (ssize_t count; (count = recv(fd_, buffer, sizeof buffer, 0)) >= 0;)
      messages.emplace_back(buffer, static_cast<std::size_t>(count));
    return messages;
  }

 private:
  int fd_ = -1;
  std::string name_;
};

const ProgressReporter::Clock::time_point kStart{100s};

TEST(ProgressReport, TellsMilestonesAtOnce) {
  Listener listener;
  ProgressReporter reporter{listener.name()};
  reporter.report({1}, kStart);
  reporter.tell(Milestone::started);
  reporter.tell(Milestone::saved, 250ms);
  EXPECT_THAT(listener.read(), ElementsAre("{\"step\": 1}\n", "{\"event\": \"started\"}\n",
                                           "{\"event\": \"saved\", \"seconds\": 0.250000}\n"));
  ProgressReporter{""}.tell(Milestone::loaded);
}

TEST(ProgressReport, TellsHowTheBatchIsDivided) {
  const auto plan = BatchPlan::make(256, {2, 0}, 32);
  ASSERT_TRUE(plan);
  Progress progress{7};
  progress.batch = *plan;
  EXPECT_EQ(encode(progress), "{\"step\": 7, \"batch\": [256, 32, 4]}\n");
}

TEST(ProgressReport, SendsWhatItIsTold) {
  Listener listener;
  ProgressReporter reporter{listener.name()};
  reporter.report({12, 1536, 0.5});
  EXPECT_THAT(listener.read(), ElementsAre("{\"step\": 12, \"samples\": 1536, \"loss\": 0.5}\n"));
}

TEST(ProgressReport, LeavesOutWhatIsNoNumber) {
  EXPECT_EQ(encode(Progress{7, {}, {}}), "{\"step\": 7}\n");
  EXPECT_EQ(encode(Progress{7, {}, std::numeric_limits<double>::quiet_NaN()}), "{\"step\": 7}\n");
  EXPECT_EQ(encode(Progress{7, {}, std::numeric_limits<double>::infinity()}), "{\"step\": 7}\n");
}

TEST(ProgressReport, SendsAtMostSoManyASecond) {
  Listener listener;
  ProgressReporter reporter{listener.name(), 0, 10};
  std::size_t count = 0;
  for (int step = 0; step < 1000; ++step) {
    reporter.report({step, {}, {}}, kStart + step * 2ms);
    count += listener.read().size();
  }
  EXPECT_EQ(count, 20u);
}

TEST(ProgressReport, TheNewestGoesOutAtTheEnd) {
  Listener listener;
  {
    ProgressReporter reporter{listener.name(), 0, 1};
    for (int step = 0; step < 10; ++step) reporter.report({step, {}, {}}, kStart);
    EXPECT_THAT(listener.read(), ElementsAre("{\"step\": 0}\n"));
  }
  EXPECT_THAT(listener.read(), ElementsAre("{\"step\": 9}\n"));
}

TEST(ProgressReport, OnlyRank0Sends) {
  Listener listener;
  {
    ProgressReporter reporter{listener.name(), 1};
    reporter.report({1, {}, {}});
  }
  EXPECT_THAT(listener.read(), IsEmpty());
}

TEST(ProgressReport, NobodyToTellIsNoError) {
  for (const std::string& address :
       {std::string{}, std::string{"@weir.worker_test.nobody"}, std::string{"no/such/socket"},
        std::string(500, 'x'), std::string{"@"}}) {
    ProgressReporter reporter{address};
    reporter.report({1, {}, {}});
    reporter.flush();
  }
}

TEST(ProgressReport, NeverWaitsForABusyReceiverAndTriesAgain) {
  Listener listener;
  ProgressReporter reporter{listener.name(), 0, 1};
  const auto started = std::chrono::steady_clock::now();
  for (int step = 0; step < 5000; ++step)  // nobody reads: the queue of the socket fills
    reporter.report({step, {}, {}}, kStart + step * 1s);
  EXPECT_LT(std::chrono::steady_clock::now() - started, 5s);
  EXPECT_LT(listener.read().size(), 5000u);
  reporter.flush();
  EXPECT_THAT(listener.read(), ElementsAre("{\"step\": 4999}\n"));
}

TEST(ProgressReport, ComesFromTheEnvironment) {
  Listener listener;
  setenv("WEIR_PROGRESS", listener.name().c_str(), 1);
  for (const char* rank : {"0", "1"}) {
    setenv("RANK", rank, 1);
    ProgressReporter reporter = ProgressReporter::from_environment();
    reporter.report({rank[0] - '0', {}, {}});
  }
  unsetenv("WEIR_PROGRESS");
  unsetenv("RANK");
  ProgressReporter alone = ProgressReporter::from_environment();
  alone.report({5, {}, {}});
  EXPECT_THAT(listener.read(), ElementsAre("{\"step\": 0}\n"));
}

}  // namespace
}  // namespace weir::worker
