// SPDX-License-Identifier: Apache-2.0
//
// Ranks that run as another user. Only root can start them, so elsewhere most of this is skipped; the
// whole program with a user of its own is tests/tenant_users.py.
#include "engine/local/run_user.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "engine/local/find_user.h"
#include "engine/local/local_engine_fixture_testing.h"
#include "engine/local/spare_pool.h"

namespace weir::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(RunUser, IsFoundWithItsGroups) {
  const auto root = find_user("root");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->user, 0U);
  EXPECT_THAT(root->groups, ::testing::Contains(root->group));
  EXPECT_FALSE(find_user("no such user"));
  EXPECT_EQ(errno, 0);
}

TEST(RunUser, GetsOnlyHarmlessVariables) {
  const char* const inherited[] = {"PATH=/bin",       "LC_ALL=C",   "AWS_SECRET=x", "PATHS=no",
                                   "NCCL_DEBUG=INFO", "LD_PRELOAD", nullptr};
  std::vector<std::string> kept;
  for (const char* entry : harmless_variables(inherited))
    if (entry != nullptr) kept.emplace_back(entry);
  EXPECT_THAT(kept, ::testing::ElementsAre("PATH=/bin", "LC_ALL=C", "NCCL_DEBUG=INFO"));
}

TEST(RunUser, HasNoSpareOfAnother) {
  LaunchSpec launch;
  launch.command = {"python3", "train.py"};
  launch.warm_start = {"json"};
  EXPECT_TRUE(spare_kind_of(launch));
  launch.user = "alice";
  EXPECT_FALSE(spare_kind_of(launch));
}

class RunUserTest : public LocalEngineTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root starts processes of other users";
    user_ = find_user("nobody");
    if (!user_) GTEST_SKIP() << "no user nobody here";
    chmod(folder.path().c_str(), 0711);
  }

  static LaunchSpec as_nobody(const std::string& script) {
    LaunchSpec launch;
    launch.command = {"sh", "-c", script};
    launch.user = "nobody";
    launch.grace = kPatience;
    return launch;
  }
  uid_t owner_of(const std::string& name) const {
    struct stat about {};
    return stat(file("engine/runs/7/" + name).c_str(), &about) == 0 ? about.st_uid : uid_t{12345};
  }

  std::optional<RunUser> user_;
};

TEST_F(RunUserTest, IsWhoTheRankIs) {
  setenv("WEIR_TEST_SECRET", "hush", 1);
  const RunEnded end = run(as_nobody(
      "id -u; id -g; id -G; grep NoNewPrivs /proc/self/status; env; echo told > /dev/stderr"));
  unsetenv("WEIR_TEST_SECRET");
  EXPECT_TRUE(end.succeeded()) << end.explanation;
  const std::string text = log();
  const std::string user = std::to_string(user_->user);
  const std::string group = std::to_string(user_->group);
  EXPECT_THAT(text, ::testing::StartsWith(user + "\n" + group + "\n" + group + "\n"));
  EXPECT_THAT(text, HasSubstr("NoNewPrivs:\t1\n"));
  EXPECT_THAT(text, HasSubstr("\nUSER=nobody\n"));
  EXPECT_THAT(text, HasSubstr("\nHOME=" + user_->home + "\n"));
  EXPECT_THAT(text, HasSubstr("told\n"));
  EXPECT_THAT(text, Not(HasSubstr("hush")));
}

TEST_F(RunUserTest, OwnsWhereItWorksAndWhatItSaysAndNothingElse) {
  const RunEnded end =
      run(as_nobody("touch mine \"$WEIR_CHECKPOINT_DIR/saved\" || exit 9; ls .. && exit 8; cat "
                    "../order && exit 7; "
                    "kill -0 $PPID && exit 6; sleep 0.1"));
  EXPECT_TRUE(end.succeeded()) << end.explanation << log();
  EXPECT_EQ(owner_of("1/folder/mine"), user_->user);
  EXPECT_EQ(owner_of("checkpoint/saved"), user_->user);
  EXPECT_EQ(owner_of("1/rank-0.0.log"), user_->user);
  EXPECT_EQ(owner_of("1"), 0U);
  EXPECT_EQ(owner_of("1/order"), 0U);
}

TEST_F(RunUserTest, IsStillKilledWithItsSupervisor) {
  begin();
  engine->order(an_order(kJob, 1, {0}, as_nobody("exec sleep 600")));
  ASSERT_TRUE(reports.wait_for<RunReady>(kJob, 1));
  ASSERT_TRUE(eventually([this] { return processes().size() == 2; }));
  kill(supervisor_pid(), SIGKILL);
  EXPECT_TRUE(eventually([this] { return processes().empty(); }));
}

TEST_F(RunUserTest, TellsItsProgress) {
  LaunchSpec launch = as_nobody(
      "exec python3 -c 'import os, socket, time\n"
      "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
      "s.sendto(b\"{\\\"step\\\": 3}\\n\", \"\\0\" + os.environ[\"WEIR_PROGRESS\"][1:])\n"
      "time.sleep(600)'");
  launch.reports_progress = true;
  begin();
  engine->order(an_order(kJob, 1, {0}, launch));
  const auto progress = reports.wait_for<RunProgress>(kJob, 1);
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->iterations, 3);
}

TEST_F(RunUserTest, ThatIsGoneIsTold) {
  LaunchSpec launch = as_nobody("true");
  launch.user = "weir-no-such-user";
  const RunEnded end = run(launch);
  EXPECT_EQ(end.kind, RunEndKind::not_started);
  EXPECT_EQ(end.explanation, "this machine has no user weir-no-such-user");
}

}  // namespace
}  // namespace weir::engine
