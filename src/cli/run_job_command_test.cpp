// SPDX-License-Identifier: Apache-2.0
#include "cli/run_job_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "cli/run_testing.h"
#include "formats/temporary_file_testing.h"

namespace weir::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;

std::string sample_job() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "weir-sample-job";
}

Ran run_sample(std::vector<std::string> options, const std::vector<std::string>& steps) {
  options.insert(options.begin(), "run");
  options.insert(options.end(), {"--", sample_job()});
  options.insert(options.end(), steps.begin(), steps.end());
  return weir(options);
}

// The lines of `text` that begin with `prefix`, without it.
std::string lines_of(std::string_view prefix, const std::string& text) {
  std::istringstream in(text);
  std::string lines;
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(prefix)) lines += line.substr(prefix.size()) + '\n';
  return lines;
}

TEST(WeirRun, ShowsWhatEachRankPrints) {
  const Ran ran = run_sample({"--gpus", "2"}, {"env", "RANK", "env", "WORLD_SIZE"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  // The ranks print at once: only the order within each is certain.
  EXPECT_EQ(lines_of("[0] ", ran.out), "RANK=0\nWORLD_SIZE=2\n");
  EXPECT_EQ(lines_of("[1] ", ran.out), "RANK=1\nWORLD_SIZE=2\n");
  EXPECT_EQ(ran.err, "");
}

TEST(WeirRun, OneProcessMayHaveAllGpus) {
  const Ran ran = run_sample({"--gpus", "3", "--ranks", "one"}, {"env", "WEIR_GPUS"});
  EXPECT_EQ(ran.out, "[0] WEIR_GPUS=3\n") << ran.err;
}

TEST(WeirRun, QuietShowsNothingOfTheJob) {
  EXPECT_EQ(run_sample({"--quiet"}, {"print", "x"}).out, "");
}

TEST(WeirRun, LeavesWithTheExitCodeOfTheJob) {
  const Ran failed = run_sample({"--gpus", "2"}, {"rank", "1", "exit", "3", "sleep", "60000"});
  EXPECT_EQ(failed.exit_code, 3);
  EXPECT_EQ(failed.err, "weir: the job failed: exit code 3 in rank 1\n");
  EXPECT_EQ(run_sample({}, {"signal", "11"}).exit_code, 128 + 11);
  const Ran missing = weir({"run", "--", "no-such-program"});
  EXPECT_EQ(missing.exit_code, 127);
  EXPECT_THAT(missing.err, HasSubstr("the program \"no-such-program\" was not found"));
}

TEST(WeirRun, RetriesAFailure) {
  const Ran ran = run_sample({"--retries", "2"}, {"env", "WEIR_RESTARTS", "exit", "7"});
  EXPECT_EQ(ran.exit_code, 7);
  EXPECT_EQ(ran.out, "[0] WEIR_RESTARTS=0\n[0] WEIR_RESTARTS=1\n[0] WEIR_RESTARTS=2\n");
  EXPECT_THAT(ran.err, HasSubstr("the job failed: exit code 7, after 2 retries"));
}

TEST(WeirRun, ResizesAtSteps) {
  // The generations tell steps 10, 20 and 30; the last rank does, after it has printed.
  const formats::TemporaryFolder folder;
  const auto script = folder.write(
      "train.sh", "echo \"$WEIR_GENERATION on $WORLD_SIZE\"\n[ $((RANK + 1)) != $WORLD_SIZE ] || " +
                      sample_job() +
                      " step ${WEIR_GENERATION}0\n[ \"$WEIR_GENERATION\" = 3 ] || exec sleep 60\n");
  const Ran ran = weir({"run", "--sizes", "1,2,1", "--at-steps", "10,20", "--json", "--", "/bin/sh",
                        script.string()});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const Json json = Json::parse(ran.out);
  ASSERT_EQ(json["starts"].size(), 3U);
  EXPECT_EQ(json["starts"][1]["to"], 2);
  EXPECT_EQ(json["starts"][1]["after_step"], 10);
  EXPECT_EQ(json["starts"][2]["to"], 1);
  EXPECT_EQ(json["starts"][2]["after_step"], 20);
  EXPECT_EQ(json["step"], 30);
  EXPECT_THAT(ran.err,
              AllOf(HasSubstr("[0] 1 on 1\n"), HasSubstr("[1] 2 on 2\n"), HasSubstr("[0] 3 on 1\n"),
                    HasSubstr("weir: from 1 GPU to 2 GPUs after step 10\n")));
}

TEST(WeirRun, ResizesAfterATimeAndTellsWhatItTook) {
  const Ran ran = weir({"run", "--sizes", "1,2", "--every", "0.1s", "--", "/bin/sh", "-c",
                        "echo on $WORLD_SIZE; [ $WORLD_SIZE = 2 ] || exec sleep 60"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, StartsWith("[0] on 1\n"));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("[1] on 2\n"), HasSubstr("What each change took"),
                             HasSubstr("1 -> 2")));
  EXPECT_THAT(ran.err, HasSubstr("the job finished"));
}

TEST(WeirRun, SaysWhenTheJobWasOverTooSoon) {
  const Ran ran = weir({"run", "--sizes", "1,2,1", "--every", "1h", "--", "true"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.err, HasSubstr("it was over before 2 of the changes of size"));
}

TEST(WeirRun, KeepsCheckpointsForTheNextRun) {
  const formats::TemporaryFolder folder;
  const std::string kept = (folder.path() / "kept").string();
  const auto append = [&] {
    return weir({"run", "--keep", kept, "--", "/bin/sh", "-c",
                 "echo x >>$WEIR_CHECKPOINT_DIR/runs; wc -l <$WEIR_CHECKPOINT_DIR/runs"});
  };
  EXPECT_EQ(append().out, "[0] 1\n");
  EXPECT_EQ(append().out, "[0] 2\n");
  EXPECT_TRUE(std::filesystem::exists(kept + "/runs/1/checkpoint/runs"));
}

TEST(WeirRun, RunsAJobFile) {
  const formats::TemporaryFolder folder;
  const auto job = folder.write("job.yaml",
                                "name: x\ncommand: 'echo $WORLD_SIZE $A'\ngpus: 2\n"
                                "ranks: per-gpu\nenvironment: {A: b}\n");
  const Ran ran = weir({"run", "--job", job.string()});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("[0] 2 b\n"), HasSubstr("[1] 2 b\n")));
  EXPECT_EQ(weir({"run", "--job", job.string(), "--gpus", "1"}).out, "[0] 1 b\n");
}

// Sends a signal to this process as soon as a file is there, as a user would press Ctrl-C.
class SignalWhen {
 public:
  SignalWhen(std::string file, int times)
      : thread_{[file = std::move(file), times] {
          while (access(file.c_str(), F_OK) != 0) pause_for(2);
          for (int i = 0; i < times; ++i, pause_for(300)) kill(getpid(), SIGINT);
        }} {}
  ~SignalWhen() { thread_.join(); }
  SignalWhen(const SignalWhen&) = delete;
  SignalWhen& operator=(const SignalWhen&) = delete;

 private:
  static void pause_for(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds{milliseconds});
  }
  std::thread thread_;
};

// The thread above is made before the signal is held back by `weir run`, so the signal is held
// back here already.
class HeldBack {
 public:
  HeldBack() {
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    pthread_sigmask(SIG_BLOCK, &held, &before_);
  }
  ~HeldBack() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HeldBack(const HeldBack&) = delete;
  HeldBack& operator=(const HeldBack&) = delete;

 private:
  sigset_t before_{};
};

TEST(WeirRun, CtrlCAsksTheJobToStop) {
  const HeldBack held;
  const formats::TemporaryFolder folder;
  const std::string begun = (folder.path() / "begun").string();
  const SignalWhen signal{begun, 1};
  const Ran ran = weir(
      {"run", "--", "/bin/sh", "-c",
       "trap 'echo saved; exit 0' TERM; touch " + begun + "; while true; do sleep 0.05; done"});
  EXPECT_EQ(ran.exit_code, 130);
  EXPECT_THAT(ran.out, HasSubstr("[0] saved\n"));
}

TEST(WeirRun, ASecondCtrlCKillsIt) {
  const HeldBack held;
  const formats::TemporaryFolder folder;
  const std::string begun = (folder.path() / "begun").string();
  const SignalWhen signal{begun, 2};
  const Ran ran = run_sample({"--grace", "1h"}, {"deaf", "touch", begun, "sleep", "60000"});
  EXPECT_EQ(ran.exit_code, 130);
  EXPECT_THAT(ran.err, HasSubstr("weir: killing the job\n"));
}

TEST(WeirRun, NamesWhatIsWrong) {
  const auto mistakes = [](std::vector<std::string> words) {
    words.insert(words.begin(), "run");
    const Ran ran = weir(words);
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.out, "");
    return ran.err;
  };
  EXPECT_EQ(mistakes({}), "run is missing, expected -- and a command, or --job and a file\n");
  EXPECT_EQ(mistakes({"--sizes", "1,2", "--", "x"}),
            "--every is missing, expected when sizes change, such as 10s, or --at-steps, such as "
            "100,200\n");
  EXPECT_THAT(mistakes({"--every", "1s", "--", "x"}), HasSubstr("--sizes is missing"));
  EXPECT_THAT(mistakes({"--sizes", "1,0", "--every", "1s", "--", "x"}),
              HasSubstr("--sizes is \"1,0\", expected numbers of GPUs from 1"));
  EXPECT_THAT(mistakes({"--sizes", "2,2", "--every", "1s", "--", "x"}),
              HasSubstr("each size different from the one before it"));
  EXPECT_THAT(mistakes({"--sizes", "1,2", "--every", "0s", "--grace", "soon", "--", "x"}),
              AllOf(HasSubstr("--every is \"0s\""), HasSubstr("--grace is \"soon\"")));
  EXPECT_THAT(mistakes({"--sizes", "1,2,1", "--at-steps", "9", "--", "x"}),
              HasSubstr("--at-steps is \"1 steps\", expected 2, one for each change of size"));
  EXPECT_THAT(mistakes({"--sizes", "1,2,1", "--at-steps", "9,5", "--", "x"}),
              HasSubstr("--at-steps is \"out of order\", expected steps that rise"));
  EXPECT_THAT(mistakes({"--gpus", "2", "--sizes", "1,2", "--every", "1s", "--", "x"}),
              HasSubstr("--gpus is \"beside --sizes\""));
  EXPECT_THAT(mistakes({"--progress-line", "no number", "--", "x"}),
              HasSubstr("--progress-line is \"no number\""));
  EXPECT_THAT(mistakes({"--ranks", "torchrun", "--", "python3", "train.py"}),
              HasSubstr("--ranks is \"torchrun\", expected a command that is torchrun"));
  EXPECT_THAT(mistakes({"--warm-start", "torch", "--", "x"}), HasSubstr("--warm-start"));
}

TEST(WeirRun, NamesWhatIsWrongWithAJobFile) {
  const formats::TemporaryFolder folder;
  const auto two =
      folder.write("two.yaml", "jobs:\n- {name: a, command: [x]}\n- {name: b, command: [x]}\n");
  EXPECT_THAT(weir({"run", "--job", two.string()}).err,
              HasSubstr("two.yaml: jobs is \"2 jobs\", expected one job"));
  const auto job = folder.write("job.yaml", "name: a\ncommand: [x]\ngups: 2\n");
  EXPECT_THAT(
      weir({"run", "--job", job.string(), "--grace", "1s"}).err,
      AllOf(HasSubstr("job.yaml:3: field is \"gups\""),
            HasSubstr("--grace is \"beside --job\", expected the field grace in the file")));
  const auto silent = folder.write("silent.yaml", "name: a\ncommand: [x]\n");
  EXPECT_THAT(weir({"run", "--job", silent.string(), "--sizes", "1,2", "--at-steps", "5"}).err,
              HasSubstr("--at-steps is \"a job that does not tell its steps\""));
}

}  // namespace
}  // namespace weir::cli
