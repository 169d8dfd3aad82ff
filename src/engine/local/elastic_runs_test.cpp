// SPDX-License-Identifier: Apache-2.0
//
// What the engine does for jobs that grow and shrink: announce, grace, hangs, milestones, starts that
// wait for each other, interpreters that are warm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/local/local_engine_fixture_testing.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class ElasticRuns : public LocalEngineTest {
 protected:
  LaunchSpec reporting(std::vector<std::string> steps) {
    LaunchSpec launch = a_launch(std::move(steps));
    launch.reports_progress = true;
    return launch;
  }
  // A script of Python, whose every rank prints its process id and more.
  LaunchSpec script(const std::string& text) {
    std::ofstream{file("script.py")} << text;
    LaunchSpec launch;
    launch.command = {"python3", file("script.py"), "one", "two words"};
    launch.warm_start = {"json", "decimal"};
    launch.grace = kPatience;
    return launch;
  }
  static std::vector<pid_t> spares() {
    std::vector<pid_t> found;
    for (const pid_t pid : living_children(getpid())) {
      std::ifstream in{"/proc/" + std::to_string(pid) + "/cmdline"};
      std::string line{std::istreambuf_iterator<char>{in}, {}};
      if (line.find("--spare") != std::string::npos) found.push_back(pid);
    }
    return found;
  }
};

// --- Announce, stop, grace

TEST_F(ElasticRuns, AnAnnouncedStopWaitsForTheSaveAndNoLonger) {
  begin();
  LaunchSpec launch = reporting({"saves", file("saved"), "step", "1", "wait", file("never")});
  launch.announce = kPatience;
  engine->order(an_order(kJob, 1, {0}, launch));
  ASSERT_TRUE(reports.wait_for<RunReady>(kJob, 1));
  engine->order(an_order(kJob, 2, {0, 1}, launch));
  const auto ready = reports.wait_for<RunReady>(kJob, 2);
  ASSERT_TRUE(ready);
  EXPECT_EQ(content("saved"), "saved\n");
  EXPECT_EQ(ready->times.save, 250ms);
  EXPECT_GT(ready->times.announce, 0ns);
  EXPECT_LT(ready->times.announce, kPatience);
}

TEST_F(ElasticRuns, AnAnnouncementThatNobodyAnswersEndsWhenItsTimeIsUp) {
  begin();
  LaunchSpec launch;
  launch.command = {"/bin/sh", "-c",
                    "trap '' USR1; touch " + file("up") + "; sleep 1000 & wait; wait"};
  launch.announce = 100ms;
  engine->order(an_order(kJob, 1, {0}, launch));
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file("up")); }));
  engine->order(an_order(kJob, 2, {}));
  EXPECT_TRUE(reports.wait_for<RunStopped>(kJob, 2));
  EXPECT_TRUE(processes().empty());
}

TEST_F(ElasticRuns, RanksThatLeaveAtTheAnnouncementTookNoTimeToStop) {
  begin();
  LaunchSpec launch = reporting({"step", "1", "wait", file("never")});  // SIGUSR1 kills it
  launch.announce = kPatience;
  engine->order(an_order(kJob, 1, {0}, launch));
  ASSERT_TRUE(reports.wait_for<RunReady>(kJob, 1));
  engine->order(an_order(kJob, 2, {0, 1}, launch));
  const auto ready = reports.wait_for<RunReady>(kJob, 2);
  ASSERT_TRUE(ready);
  EXPECT_LT(ready->times.stop, kPatience);
  EXPECT_LT(ready->times.announce, kPatience);
}

TEST_F(ElasticRuns, AJobThatLeavesWhenAskedIsNotAFailure) {
  begin();
  LaunchSpec launch = reporting({"leaves", "step", "1", "wait", file("never")});
  launch.ranks = Ranks::per_gpu;
  engine->order(an_order(kJob, 1, {0, 1}, launch));
  ASSERT_TRUE(reports.wait_for<RunReady>(kJob, 1));
  engine->order(an_order(kJob, 2, {0}, launch));
  EXPECT_TRUE(reports.wait_for<RunReady>(kJob, 2));
  EXPECT_TRUE(reports.of<RunEnded>(kJob, 1).empty());
}

TEST_F(ElasticRuns, LeavingUnaskedIsToldAsAWishToBeResumed) {
  const RunEnded end = run(a_launch({"exit", "143"}));
  EXPECT_TRUE(end.asks_to_resume());
  EXPECT_EQ(end.explanation, "exit code 143: it has saved and is to be resumed");
}

TEST_F(ElasticRuns, ARankThatFailsHasTheWordOverOneThatLeaves) {
  LaunchSpec launch = a_launch({"rank", "0", "exit", "143", "sleep", "50", "exit", "4"});
  launch.ranks = Ranks::per_gpu;
  EXPECT_EQ(run(launch, {0, 1}).code, 4);
}

// --- Hangs

TEST_F(ElasticRuns, AJobWithoutAStepForTooLongHasFailed) {
  LaunchSpec launch = reporting({"step", "5", "wait", file("never")});
  launch.ranks = Ranks::per_gpu;
  launch.hang_after = 100ms;
  const RunEnded end = run(launch, {0, 1});
  EXPECT_EQ(end.kind, RunEndKind::hung);
  EXPECT_THAT(end.explanation, HasSubstr("no step for 0.1 s after step 5"));
  EXPECT_TRUE(processes().empty());
}

TEST_F(ElasticRuns, AJobThatHasNotMadeAStepIsNotTakenForOneThatHangs) {
  LaunchSpec launch = reporting({"sleep", "300", "step", "5", "exit", "0"});
  launch.hang_after = 50ms;
  EXPECT_TRUE(run(launch).succeeded());
}

TEST_F(ElasticRuns, AStoppedProcessThatHeedsNoSignalIsKilledSoonerThanItsGrace) {
  LaunchSpec launch = reporting({"deaf", "step", "5", "signal", "19"});
  launch.hang_after = 50ms;
  launch.grace = 200ms;
  EXPECT_EQ(run(launch).kind, RunEndKind::hung);
}

// --- What is told

TEST_F(ElasticRuns, ProgressIsReadFromTheOutputOfAScriptThatKnowsNothing) {
  LaunchSpec launch = reporting({"print", "epoch 1 step 12 loss 0.25", "wait", file("go")});
  launch.progress_line = "step {step} loss {loss}";
  begin();
  engine->order(an_order(kJob, 1, {0}, launch));
  ASSERT_TRUE(reports.wait_for<RunReady>(kJob, 1));
  const auto progress = reports.wait_for<RunProgress>(kJob, 1);
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->iterations, 12);
  EXPECT_EQ(progress->loss, 0.25);
  EXPECT_GT(progress->elapsed, 0ns);
  make_file("go");
  ASSERT_TRUE(reports.wait_for<RunEnded>(kJob, 1));
}

TEST_F(ElasticRuns, TheChangeIsToldPartByPart) {
  begin();
  const LaunchSpec launch =
      reporting({"leaves", "sleep", "20", "tell", R"({"event": "started"})", "sleep", "20", "tell",
                 R"({"event": "loaded"})", "sleep", "20", "tell",
                 R"({"step": 1, "batch": [64, 16, 2]})", "wait", file("never")});
  engine->order(an_order(kJob, 1, {0}, launch));
  ASSERT_TRUE(reports.wait_for<RunReady>(kJob, 1));
  engine->order(an_order(kJob, 2, {0, 1}, launch));
  const auto ready = reports.wait_for<RunReady>(kJob, 2);
  ASSERT_TRUE(ready);
  EXPECT_GT(ready->times.stop, 0ns);
  EXPECT_GT(ready->times.start, 0ns);
  EXPECT_GE(ready->times.import, 15ms);
  EXPECT_GE(ready->times.load, 15ms);
  EXPECT_GE(ready->times.step, 15ms);
  EXPECT_FALSE(ready->times.is_warm);
  EXPECT_EQ(ready->times.announce, 0ns);
  EXPECT_LT(ready->times.lost(), kPatience);
  EXPECT_EQ(reports.wait_for<RunProgress>(kJob, 2)->batch, (BatchDivision{64, 16, 2}));
}

TEST_F(ElasticRuns, AfterAPauseOnlyTheSecondHalfIsTold) {
  begin();
  const LaunchSpec launch = reporting({"step", "1", "wait", file("never")});
  engine->order(an_order(kJob, 1, {0}, launch));
  ASSERT_TRUE(reports.wait_for<RunReady>(kJob, 1));
  engine->order(an_order(kJob, 2, {}));
  ASSERT_TRUE(reports.wait_for<RunStopped>(kJob, 2));
  engine->order(an_order(kJob, 3, {0}, launch));
  const auto ready = reports.wait_for<RunReady>(kJob, 3);
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->times.stop, 0ns);
  EXPECT_EQ(ready->times.wait, 0ns);
}

TEST_F(ElasticRuns, TorchrunIsToldHowManyRanksAndWhereTheyMeet) {
  LaunchSpec launch = a_launch({"env", "PET_NPROC_PER_NODE", "env", "PET_NNODES", "env", "RANK",
                                "env", "WORLD_SIZE", "env", "PET_MAX_RESTARTS"});
  launch.ranks = Ranks::torchrun;
  EXPECT_TRUE(run(launch, {0, 1, 3}).succeeded());
  EXPECT_EQ(log(), "PET_NPROC_PER_NODE=3\nPET_NNODES=1\nRANK=\nWORLD_SIZE=\nPET_MAX_RESTARTS=0\n");
}

// --- Starts

TEST_F(ElasticRuns, StartsWaitForEachOther) {
  most_starting = 1;
  begin();
  const auto job = [&](const std::string& name) {
    return reporting(
        {"touch", file(name), "wait", file(name + ".go"), "step", "1", "wait", file("never")});
  };
  engine->order(an_order(JobId{1}, 1, {0}, job("a")));
  engine->order(an_order(JobId{2}, 1, {1}, job("b")));
  engine->order(an_order(JobId{3}, 1, {2}, a_launch({"wait", file("never")})));
  // One that never says that it has begun holds up nobody.
  ASSERT_TRUE(reports.wait_for<RunReady>(JobId{3}, 1));
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file("a")); }));
  EXPECT_FALSE(std::filesystem::exists(file("b")));
  make_file("a.go");
  ASSERT_TRUE(reports.wait_for<RunReady>(JobId{1}, 1));
  make_file("b.go");
  ASSERT_TRUE(reports.wait_for<RunReady>(JobId{2}, 1));
}

TEST_F(ElasticRuns, AStartThatFailsMakesRoomForTheNext) {
  most_starting = 1;
  begin();
  engine->order(an_order(JobId{1}, 1, {0}, reporting({"sleep", "30", "exit", "1"})));
  engine->order(an_order(JobId{2}, 1, {1}, reporting({"step", "1", "wait", file("never")})));
  ASSERT_TRUE(reports.wait_for<RunEnded>(JobId{1}, 1));
  EXPECT_TRUE(reports.wait_for<RunReady>(JobId{2}, 1));
}

TEST_F(ElasticRuns, AStartThatIsLostMakesRoomForTheNext) {
  most_starting = 1;
  begin();
  engine->order(an_order(kJob, 1, {0}, reporting({"touch", file("a"), "wait", file("never")})));
  engine->order(an_order(JobId{8}, 1, {1}, reporting({"step", "1", "wait", file("never")})));
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file("a")); }));
  kill(supervisor_pid(), SIGKILL);
  EXPECT_TRUE(reports.wait_for<RunReady>(JobId{8}, 1));
}

// --- Warm interpreters

constexpr const char* kScript = R"(
import decimal, json, os, sys
print(__name__, sys.argv[1:], os.path.basename(sys.argv[0]), os.getcwd() != "/")
print(os.environ["RANK"], os.environ["WORLD_SIZE"], os.environ["MINE"], "WEIR_SUPERVISOR" in os.environ)
print(os.getpgid(0) == os.getpid(), os.path.dirname(os.path.realpath(__file__)) == sys.path[0])
print(sys.modules["__main__"].__file__ == __file__, flush=True)
open(os.environ["MINE"] + os.environ["WEIR_GENERATION"] + "." + os.environ["RANK"], "w").close()
import time
while not os.path.exists(os.environ["MINE"] + "go"): time.sleep(0.005)
sys.exit(7)
)";

TEST_F(ElasticRuns, AWarmStartIsLikeAnyOther) {
  begin();
  LaunchSpec launch = script(kScript);
  launch.ranks = Ranks::per_gpu;
  launch.environment = {{"MINE", file("m")}};
  launch.directory = folder.path().string();
  engine->order(an_order(kJob, 1, {0}, launch));
  ASSERT_TRUE(reports.wait_for<RunReady>(kJob, 1));
  EXPECT_FALSE(reports.wait_for<RunReady>(kJob, 1)->times.is_warm);
  ASSERT_TRUE(eventually([&] { return spares().size() == 1; }));
  engine->order(an_order(kJob, 2, {0, 1}, launch));
  const auto ready = reports.wait_for<RunReady>(kJob, 2);
  ASSERT_TRUE(ready);
  EXPECT_TRUE(ready->times.is_warm);
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file("m2.1")); }));
  // Its processes are recognised, though they were started before there was such a run.
  int ranks = 0;
  for (const RunProcess& process : processes()) {
    EXPECT_EQ(process.run, (RunKey{kJob.value, 2}));
    ranks += process.is_supervisor ? 0 : 1;
    std::ifstream in{"/proc/" + std::to_string(process.pid) + "/cmdline"};
    const std::string line{std::istreambuf_iterator<char>{in}, {}};
    EXPECT_EQ(line.starts_with(std::string{"python3\0", 8}), !process.is_supervisor) << line;
  }
  EXPECT_EQ(ranks, 2);
  make_file("mgo");
  const auto end = reports.wait_for<RunEnded>(kJob, 2);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 7);
  EXPECT_EQ(log(1, 2), "__main__ ['one', 'two words'] script.py True\n1 2 " + file("m") +
                           " False\nTrue True\nTrue\n");
  EXPECT_TRUE(processes().empty());
}

TEST_F(ElasticRuns, AWarmRankDiesWithItsSupervisor) {
  begin();
  LaunchSpec launch = script(kScript);
  launch.environment = {{"MINE", file("m")}};
  engine->order(an_order(kJob, 1, {0}, launch));
  ASSERT_TRUE(eventually([&] { return spares().size() == 1; }));
  engine->order(an_order(kJob, 2, {0}, launch));
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file("m2.0")); }));
  pid_t rank = 0;
  for (const RunProcess& process : processes())
    if (!process.is_supervisor) rank = process.pid;
  ASSERT_NE(rank, 0);
  kill(supervisor_pid(), SIGKILL);
  const auto end = reports.wait_for<RunEnded>(kJob, 2);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->kind, RunEndKind::lost);
  EXPECT_TRUE(is_dead(rank));
}

TEST_F(ElasticRuns, AModuleThatIsNotThereCostsOnlyTheWarmth) {
  begin();
  LaunchSpec launch = script(
      "import sys; print('ran', flush=True); open(sys.argv[1], 'w').close()\nimport time; "
      "time.sleep(1000)");
  launch.command[2] = file("ran");
  launch.warm_start = {"no_such_module_here"};
  engine->order(an_order(kJob, 1, {0}, launch));
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file("ran")); }));
  std::filesystem::remove(file("ran"));
  engine->order(an_order(kJob, 2, {0}, launch));
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file("ran")); }));
  EXPECT_FALSE(reports.wait_for<RunReady>(kJob, 2)->times.is_warm);
}

TEST_F(ElasticRuns, ADirectoryThatIsGoneIsNamedAlsoWhenWarm) {
  begin();
  LaunchSpec launch = script("import time; time.sleep(1000)");
  launch.directory = file("there");
  std::filesystem::create_directory(file("there"));
  engine->order(an_order(kJob, 1, {0}, launch));
  ASSERT_TRUE(eventually([&] { return spares().size() == 1; }));
  std::filesystem::remove(file("there"));
  engine->order(an_order(kJob, 2, {0}, launch));
  const auto end = reports.wait_for<RunEnded>(kJob, 2);
  ASSERT_TRUE(end);
  EXPECT_THAT(end->explanation, HasSubstr("cannot enter the directory"));
}

TEST_F(ElasticRuns, SparesGoWhenNoJobNeedsThem) {
  begin();
  LaunchSpec launch = script("pass");
  engine->order(an_order(kJob, 1, {0}, launch));
  ASSERT_TRUE(reports.wait_for<RunEnded>(kJob, 1));
  ASSERT_TRUE(eventually([&] { return spares().size() == 1; }));
  engine->forget(kJob);
  EXPECT_TRUE(eventually([&] { return spares().empty(); }));
}

TEST_F(ElasticRuns, SparesGoWithTheEngine) {
  begin();
  engine->order(an_order(kJob, 1, {0}, script("pass")));
  ASSERT_TRUE(eventually([&] { return spares().size() == 1; }));
  engine.reset();
  EXPECT_TRUE(spares().empty());
}

TEST_F(ElasticRuns, AnErrorInAWarmScriptIsShownAsPythonShowsIt) {
  begin();
  LaunchSpec launch = script(
      "import sys\nif sys.argv[1] == 'fail': raise ValueError('seen')\nimport time; "
      "time.sleep(1000)");
  engine->order(an_order(kJob, 1, {0}, launch));
  ASSERT_TRUE(eventually([&] { return spares().size() == 1; }));
  launch.command[2] = "fail";
  engine->order(an_order(kJob, 2, {0}, launch));
  const auto end = reports.wait_for<RunEnded>(kJob, 2);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 1);
  const std::string shown = log(0, 2);
  EXPECT_TRUE(shown.starts_with("Traceback (most recent call last):\n  File \"" +
                                file("script.py") + "\", line 2, in <module>\n"))
      << shown;
  EXPECT_TRUE(shown.ends_with("ValueError: seen\n")) << shown;
}

}  // namespace
}  // namespace weir::engine
