// SPDX-License-Identifier: Apache-2.0
#include "engine/local/local_engine.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "engine/local/local_engine_fixture_testing.h"
#include "engine/local/process_table.h"
#include "engine/local/run_status.h"

namespace weir::engine {
namespace {

TEST_F(LocalEngineTest, AnExitCodeIsReportedAndExplained) {
  const RunEnded end = run(a_launch({"exit", "3"}));
  EXPECT_EQ(end, (RunEnded{RunEndKind::exited, 3, "exit code 3"}));
}

TEST_F(LocalEngineTest, AJobThatWorkedIsReadyAndThenEnds) {
  EXPECT_TRUE(run(a_launch({"print", "hello"})).succeeded());
  ASSERT_EQ(reports.all().size(), 2U);
  EXPECT_TRUE(std::holds_alternative<RunReady>(reports.all()[0].what));
  EXPECT_EQ(log(), "hello\n");
}

TEST_F(LocalEngineTest, AnEndBySignalIsExplainedByName) {
  const RunEnded end = run(a_launch({"signal", "11"}));
  EXPECT_EQ(end, (RunEnded{RunEndKind::signalled, SIGSEGV, "killed by SIGSEGV (signal 11)"}));
}

TEST_F(LocalEngineTest, AProgramThatIsNotThereIsNotStarted) {
  LaunchSpec launch;
  launch.command = {"no-such-program-here"};
  const RunEnded end = run(launch);
  EXPECT_EQ(end, (RunEnded{RunEndKind::not_started, ENOENT,
                           "the program \"no-such-program-here\" was not found"}));
}

TEST_F(LocalEngineTest, ADirectoryThatIsNotThereIsNamed) {
  LaunchSpec launch = a_launch({"exit", "0"});
  launch.directory = file("nowhere");
  const RunEnded end = run(launch);
  EXPECT_EQ(end.kind, RunEndKind::not_started);
  EXPECT_EQ(end.explanation,
            "cannot enter the directory " + file("nowhere") + ": No such file or directory");
}

TEST_F(LocalEngineTest, RanksAreToldWhoTheyAre) {
  gpu_uuids = {"GPU-a", "GPU-b", "GPU-c"};
  LaunchSpec launch = a_launch({"env", "RANK",
                                "env", "WORLD_SIZE",
                                "env", "LOCAL_RANK",
                                "env", "WEIR_JOB",
                                "env", "WEIR_GENERATION",
                                "env", "WEIR_GPUS",
                                "env", "CUDA_VISIBLE_DEVICES",
                                "env", "MASTER_ADDR",
                                "env", "OWN",
                                "env", "WEIR_SUPERVISOR"});
  launch.ranks = Ranks::per_gpu;
  launch.environment = {{"OWN", "a b=c"}, {"RANK", "not yours"}};
  EXPECT_TRUE(run(launch, {0, 2}).succeeded());
  EXPECT_EQ(log(1),
            "RANK=1\nWORLD_SIZE=2\nLOCAL_RANK=1\nWEIR_JOB=7\nWEIR_GENERATION=1\nWEIR_GPUS=2\n"
            "CUDA_VISIBLE_DEVICES=GPU-a,GPU-c\nMASTER_ADDR=127.0.0.1\nOWN=a b=c\n"
            "WEIR_SUPERVISOR=\n");
}

TEST_F(LocalEngineTest, RanksFindWhatTorchrunWouldHaveSet) {
  LaunchSpec launch = a_launch({"env", "LOCAL_WORLD_SIZE",
                                "env", "GROUP_RANK",
                                "env", "GROUP_WORLD_SIZE",
                                "env", "ROLE_NAME",
                                "env", "ROLE_RANK",
                                "env", "ROLE_WORLD_SIZE",
                                "env", "TORCHELASTIC_RUN_ID",
                                "env", "TORCHELASTIC_RESTART_COUNT",
                                "env", "TORCHELASTIC_USE_AGENT_STORE",
                                "env", "OMP_NUM_THREADS"});
  launch.ranks = Ranks::per_gpu;
  launch.environment = {{"OMP_NUM_THREADS", "3"}};
  EXPECT_TRUE(run(launch, {0, 1}).succeeded());
  EXPECT_EQ(log(1),
            "LOCAL_WORLD_SIZE=2\nGROUP_RANK=0\nGROUP_WORLD_SIZE=1\nROLE_NAME=default\nROLE_RANK=1\n"
            "ROLE_WORLD_SIZE=2\nTORCHELASTIC_RUN_ID=weir-7.1\nTORCHELASTIC_RESTART_COUNT=0\n"
            "TORCHELASTIC_USE_AGENT_STORE=False\nOMP_NUM_THREADS=3\n");
}

TEST_F(LocalEngineTest, TheFirstRankThatFailsEndsTheOthers) {
  LaunchSpec launch = a_launch({"rank", "1", "exit", "5", "wait", file("never")});
  launch.ranks = Ranks::per_gpu;
  const RunEnded end = run(launch, {0, 1, 2});
  EXPECT_EQ(end, (RunEnded{RunEndKind::exited, 5, "exit code 5 in rank 1"}));
  EXPECT_TRUE(processes().empty());
}

TEST_F(LocalEngineTest, AChildThatIgnoresTermIsKilledAfterItsGrace) {
  begin();
  LaunchSpec launch = a_launch({"deaf", "touch", file("deaf"), "wait", file("never")});
  launch.grace = std::chrono::milliseconds{50};
  engine->order(an_order(kJob, 1, {0}, launch));
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file("deaf")); }));
  engine->order(an_order(kJob, 2, {}));
  EXPECT_TRUE(reports.wait_for<RunStopped>(kJob, 2));
  EXPECT_TRUE(processes().empty());
  EXPECT_TRUE(reports.of<RunEnded>(kJob, 1).empty());
}

TEST_F(LocalEngineTest, AGrandchildThatWentItsOwnWayIsEndedToo) {
  LaunchSpec launch = a_launch({"fork", file("pid"), "wait", file("pid"), "exit", "0"});
  launch.grace = std::chrono::milliseconds{50};
  EXPECT_TRUE(run(launch).succeeded());
  ASSERT_NE(content("pid"), "");
  EXPECT_TRUE(is_dead(std::stoi(content("pid"))));
}

TEST_F(LocalEngineTest, AKilledSupervisorTakesItsRanksAlongAndTheRunIsLost) {
  begin();
  engine->order(an_order(kJob, 1, {0}, a_launch({"fork", file("pid"), "wait", file("never")})));
  ASSERT_TRUE(reports.wait_for<RunReady>(kJob, 1));
  ASSERT_TRUE(eventually([&] { return content("pid").ends_with('\n'); }));
  kill(supervisor_pid(), SIGKILL);
  const auto end = reports.wait_for<RunEnded>(kJob, 1);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->kind, RunEndKind::lost);
  EXPECT_EQ(end->explanation, "its supervisor was killed by SIGKILL (signal 9)");
  EXPECT_TRUE(processes().empty());
  EXPECT_TRUE(is_dead(std::stoi(content("pid"))));
}

TEST_F(LocalEngineTest, ASupervisorKilledWhileTheEngineIsAwayIsReportedLost) {
  begin();
  const RunOrder order = an_order(kJob, 1, {0}, a_launch({"wait", file("never")}));
  engine->order(order);
  ASSERT_TRUE(reports.wait_for<RunReady>(kJob, 1));
  const pid_t pid = supervisor_pid();
  crash();
  kill(pid, SIGKILL);
  ASSERT_TRUE(eventually([&] { return is_dead(pid); }));
  begin({order});
  const auto end = reports.wait_for<RunEnded>(kJob, 1);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->kind, RunEndKind::lost);
}

TEST_F(LocalEngineTest, AProcessThatOnlyHasTheNumberIsNoSupervisor) {
  const RunOrder order = an_order(kJob, 1, {0}, a_launch({"wait", file("never")}));
  begin();
  engine->order(order);
  ASSERT_TRUE(reports.wait_for<RunReady>(kJob, 1));
  const pid_t pid = supervisor_pid();
  crash();
  kill(pid, SIGKILL);
  ASSERT_TRUE(eventually([&] { return is_dead(pid); }));
  kill_what_is_left();
  // The number now belongs to this very process, which started at another time.
  ProcessIdentity reused = own_identity();
  reused.start_time += 1;
  std::filesystem::remove(folder.path() / "engine/runs/7/1/status");
  std::ofstream{folder.path() / "engine/runs/7/1/status"}
      << "identity " << reused.pid << " " << reused.start_time << " " << reused.boot_id
      << "\nready\n";
  begin({order});
  const auto end = reports.wait_for<RunEnded>(kJob, 1);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->kind, RunEndKind::lost);
}

TEST_F(LocalEngineTest, ARunOfBeforeTheMachineRestartedIsLost) {
  const RunOrder order = an_order(kJob, 1, {0}, a_launch({"exit", "0"}));
  begin();
  engine->order(order);
  ASSERT_TRUE(reports.wait_for<RunEnded>(kJob, 1));
  crash();
  std::filesystem::remove(folder.path() / "engine/runs/7/1/status");
  std::ofstream{folder.path() / "engine/runs/7/1/status"} << "identity 1 2 another-boot\nready\n";
  begin({order});
  const auto end = reports.wait_for<RunEnded>(kJob, 1);
  ASSERT_TRUE(end);
  EXPECT_EQ(*end, (RunEnded{RunEndKind::lost, 0, "the machine restarted"}));
}

TEST_F(LocalEngineTest, StraysWithoutASupervisorAreKilledAtTheStart) {
  begin();
  crash();
  const pid_t stray = fork();
  if (stray == 0) {
    const std::string token = "WEIR_TOKEN=" + store() + ".9.1";
    const std::string program = sample_job();
    const std::string never = file("never");
    execle(program.c_str(), program.c_str(), "wait", never.c_str(), nullptr,
           std::vector<const char*>{token.c_str(), nullptr}.data());
    _exit(1);
  }
  ASSERT_TRUE(eventually([&] { return processes().size() == 1; }));
  begin();
  EXPECT_TRUE(eventually([&] { return is_dead(stray); }));
  waitpid(stray, nullptr, 0);
}

TEST_F(LocalEngineTest, AnOrderWrittenButNeverCarriedOutIsCarriedOut) {
  begin();
  const RunOrder order = an_order(kJob, 1, {0}, a_launch({"exit", "0"}));
  engine->order(order);
  ASSERT_TRUE(reports.wait_for<RunEnded>(kJob, 1));
  crash();
  std::filesystem::remove(folder.path() / "engine/runs/7/1/status");
  begin({order});
  EXPECT_TRUE(reports.wait_for<RunEnded>(kJob, 1)->succeeded());
}

TEST_F(LocalEngineTest, ManyLinesArriveWholeAndInOrder) {
  EXPECT_TRUE(run(a_launch({"lines", "10000"})).succeeded());
  std::string expected;
  for (int i = 0; i < 10000; ++i) expected += "line " + std::to_string(i) + "\n";
  EXPECT_EQ(log(), expected);
}

TEST_F(LocalEngineTest, PlacesInALogKeepTheirMeaningWhenOldPartsAreDropped) {
  log_limit = 1000;
  EXPECT_TRUE(run(a_launch({"lines", "1000"})).succeeded());
  std::string expected;
  for (int i = 0; i < 1000; ++i) expected += "line " + std::to_string(i) + "\n";
  const auto first = engine->read_log({kJob, 1, 0, 0}, 100);
  ASSERT_TRUE(first);
  EXPECT_GT(first->offset, 0);
  EXPECT_EQ(first->bytes, expected.substr(static_cast<std::size_t>(first->offset), 100));
  EXPECT_FALSE(first->is_over);
  const auto last = engine->read_log({kJob, 1, 0, -50}, 100);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->bytes, expected.substr(expected.size() - 50));
  EXPECT_TRUE(last->is_over);
  const auto across = engine->read_log({kJob, 1, 0, first->offset}, 100000);
  ASSERT_TRUE(across);
  EXPECT_EQ(across->bytes, expected.substr(static_cast<std::size_t>(first->offset)));
}

TEST_F(LocalEngineTest, ALogThatIsALinkIsNotRead) {
  EXPECT_TRUE(run(a_launch({"print", "hello"})).succeeded());
  make_file("secret");
  const auto log_file = folder.path() / "engine/runs/7/1/rank-0.0.log";
  std::filesystem::remove(log_file);
  std::filesystem::create_symlink(file("secret"), log_file);
  EXPECT_FALSE(engine->read_log({kJob, 1, 0, 0}, 100));
  EXPECT_FALSE(engine->read_log({kJob, 1, -1, 0}, 100));
  EXPECT_FALSE(engine->read_log({JobId{8}, 0, 0, 0}, 100));
}

TEST_F(LocalEngineTest, ALogCanBeReadWhileTheJobRuns) {
  begin();
  engine->order(an_order(kJob, 1, {0}, a_launch({"print", "early", "wait", file("go")})));
  ASSERT_TRUE(eventually([&] {
    const auto chunk = engine->read_log({kJob, 0, 0, 0}, 100);
    return chunk && chunk->bytes == "early\n" && !chunk->is_over;
  }));
  make_file("go");
  EXPECT_TRUE(reports.wait_for<RunEnded>(kJob, 1));
  EXPECT_TRUE(engine->read_log({kJob, 0, 0, 0}, 100)->is_over);
}

TEST_F(LocalEngineTest, AJobThatReportsProgressIsReadyWhenItFirstDoes) {
  begin();
  LaunchSpec launch =
      a_launch({"touch", file("up"), "wait", file("go"), "step", "12", "wait", file("end")});
  launch.reports_progress = true;
  engine->order(an_order(kJob, 1, {0}, launch));
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file("up")); }));
  EXPECT_TRUE(reports.all().empty());
  make_file("go");
  ASSERT_TRUE(reports.wait_for<RunReady>(kJob, 1));
  EXPECT_EQ(reports.wait_for<RunProgress>(kJob, 1)->iterations, 12);
  crash();
  begin({an_order(kJob, 1, {0}, launch)});
  EXPECT_TRUE(reports.wait_for<RunReady>(kJob, 1));
  EXPECT_EQ(reports.wait_for<RunProgress>(kJob, 1)->iterations, 12);
  make_file("end");
  EXPECT_TRUE(reports.wait_for<RunEnded>(kJob, 1)->succeeded());
}

TEST_F(LocalEngineTest, AFloodOfProgressBecomesAFewReportsAndTheLastIsKept) {
  LaunchSpec launch = a_launch({"flood", "20000", "sleep", "30", "step", "20001"});
  launch.reports_progress = true;
  EXPECT_TRUE(run(launch).succeeded());
  const auto progress = reports.of<RunProgress>(kJob, 1);
  ASSERT_FALSE(progress.empty());
  EXPECT_EQ(progress.back().iterations, 20001);
  EXPECT_LT(progress.size(), 200U);
}

TEST_F(LocalEngineTest, AMemoryLimitHolds) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers reserve terabytes of addresses";
#else
  LaunchSpec launch = a_launch({"memory", "500"});
  launch.memory_limit_bytes = 100 << 20;
  EXPECT_FALSE(run(launch).succeeded());
#endif
}

TEST_F(LocalEngineTest, AJobThatClearsItsDirectoryLosesNoExitCode) {
  LaunchSpec launch;
  launch.command = {"/bin/sh", "-c", "pwd; touch a; rm -rf ./* ../folder/*; exit 4"};
  EXPECT_EQ(run(launch).code, 4);
  EXPECT_EQ(log(), (folder.path() / "engine/runs/7/1/folder").string() + "\n");
}

TEST_F(LocalEngineTest, AForgottenJobKeepsItsLogUntilThatIsRemoved) {
  EXPECT_TRUE(run(a_launch({"print", "hello"})).succeeded());
  engine->forget(kJob);
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(folder.path() / "engine/past/7"); }));
  EXPECT_EQ(log(), "hello\n");
  engine->order(an_order(kJob, 1, {0}, a_launch({"touch", file("again")})));
  engine->remove_logs({kJob});
  EXPECT_TRUE(eventually([&] { return log() == "no log"; }));
  EXPECT_FALSE(std::filesystem::exists(file("again")));
}

TEST_F(LocalEngineTest, AJobForgottenWhileItRunsIsStoppedFirst) {
  begin();
  engine->order(an_order(kJob, 1, {0}, a_launch({"wait", file("never")})));
  ASSERT_TRUE(reports.wait_for<RunReady>(kJob, 1));
  engine->forget(kJob);
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(folder.path() / "engine/past/7"); }));
  EXPECT_TRUE(processes().empty());
}

TEST_F(LocalEngineTest, ASupervisorThatIsStuckIsKilledInTheEnd) {
  stuck_after = std::chrono::milliseconds{100};
  begin();
  LaunchSpec launch = a_launch({"wait", file("never")});
  launch.grace = Duration{0};
  engine->order(an_order(kJob, 1, {0}, launch));
  ASSERT_TRUE(reports.wait_for<RunReady>(kJob, 1));
  kill(supervisor_pid(), SIGSTOP);
  engine->order(an_order(kJob, 2, {}));
  EXPECT_TRUE(reports.wait_for<RunStopped>(kJob, 2));
  EXPECT_TRUE(processes().empty());
}

TEST_F(LocalEngineTest, TooMuchMemoryIsSaidWhereControlGroupsTell) {
  begin();
  if (!engine->describe().starts_with("cgroup"))
    GTEST_SKIP() << "no cgroup of our own here: " << engine->describe();
  LaunchSpec launch = a_launch({"memory", "500"});
  launch.memory_limit_bytes = 100 << 20;
  engine->order(an_order(kJob, 1, {0}, launch));
  const auto end = reports.wait_for<RunEnded>(kJob, 1);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->kind, RunEndKind::out_of_memory);
}

TEST_F(LocalEngineTest, AStopFromOutsideIsAnEnd) {
  begin();
  engine->order(an_order(kJob, 1, {0}, a_launch({"wait", file("never")})));
  ASSERT_TRUE(reports.wait_for<RunReady>(kJob, 1));
  kill(supervisor_pid(), SIGTERM);
  const auto end = reports.wait_for<RunEnded>(kJob, 1);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->kind, RunEndKind::signalled);
}

TEST_F(LocalEngineTest, TwoEnginesDoNotShareAFolder) {
  begin();
  const auto second = make_local_engine(options());
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::unavailable);
}

TEST_F(LocalEngineTest, AMissingSupervisorProgramIsSaidAtOnce) {
  LocalEngineOptions wrong = options();
  wrong.supervisor = file("no-supervisor");
  EXPECT_FALSE(make_local_engine(wrong).has_value());
}

TEST_F(LocalEngineTest, ItSaysHowProcessesAreHeldTogether) {
  begin();
  EXPECT_TRUE(engine->describe().starts_with("cgroup v2 at ") ||
              engine->describe().starts_with("process groups"));
}

TEST_F(LocalEngineTest, AZeroByteInTheCommandIsRefused) {
  LaunchSpec launch = a_launch({"print"});
  launch.command.emplace_back("a\0b", 3);
  EXPECT_EQ(run(launch).kind, RunEndKind::not_started);
}

}  // namespace
}  // namespace weir::engine
