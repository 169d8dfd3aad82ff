// SPDX-License-Identifier: Apache-2.0
#include "cli/train_simulation_command.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/run_testing.h"
#include "formats/temporary_file_testing.h"

namespace weir::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using SortedJson = nlohmann::json;

class TrainSimulation : public ::testing::Test {
 protected:
  formats::TemporaryFolder folder_;
  std::string night_ = kExamples + "/night.yaml";
  std::string curves_ = kExamples + "/curves";

  std::string file(const char* name) { return (folder_.path() / name).string(); }
  Ran simulate(std::vector<std::string> more) {
    std::vector<std::string> words = {"simulate", "--cluster", "4x8xA100", "--jobs",
                                      night_,     "--curves",  curves_};
    words.insert(words.end(), more.begin(), more.end());
    return weir(words);
  }
};

TEST_F(TrainSimulation, PrintsTheJsonOfTheContract) {
  const Ran ran = simulate({"--policy", "weir,edf", "--slot", "60s", "--timing", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const SortedJson json = SortedJson::parse(ran.out);
  ASSERT_EQ(json.at("runs").size(), 2U);
  const SortedJson& promising = json["runs"][0];
  EXPECT_EQ(promising.at("policy"), "weir");
  EXPECT_EQ(promising.at("jobs"), 39);
  EXPECT_EQ(promising.at("missed_after_admission"), 0);
  EXPECT_EQ(promising.at("met"), promising.at("admitted"));
  for (const char* key : {"met_without_promise", "mean_jct_s", "rescales", "refused"})
    EXPECT_TRUE(promising.at(key).is_number()) << key;
  EXPECT_TRUE(promising.at("timing").at("seconds").is_number());
  EXPECT_TRUE(json["runs"][1].at("admitted").is_null());
  EXPECT_FALSE(SortedJson::parse(simulate({"--json"}).out)["runs"][0].contains("timing"));
}

TEST_F(TrainSimulation, TellsWhatEachTenantGot) {
  const auto tenants = folder_
                           .write("tenants.yaml",
                                  "tenants: [{name: research, guaranteed: 8, weight: 3, "
                                  "tenants: [{name: vision}]}]\n")
                           .string();
  const auto jobs = folder_
                        .write("jobs.yaml",
                               "jobs:\n"
                               "  - {name: a, count: 4, tenant: vision, model: bert, batch: 128, "
                               "iterations: 2000}\n"
                               "  - {name: b, priority: 5, model: bert, batch: 128, "
                               "iterations: 2000}\n")
                        .string();
  const std::vector<std::string> words = {"simulate", "--cluster", "4x8xA100",  "--jobs", jobs,
                                          "--curves", curves_,     "--tenants", tenants};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return weir(all);
  };
  const Ran ran = with({"--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const SortedJson run = SortedJson::parse(ran.out)["runs"][0];
  const SortedJson& got = run.at("tenants");
  ASSERT_EQ(got.size(), 3U);
  EXPECT_EQ(got[0].at("name"), "research");
  EXPECT_EQ(got[0].at("jobs"), 4) << "what is below a group is part of it";
  EXPECT_EQ(got[1].at("parent"), "research");
  EXPECT_EQ(got[2].at("name"), "default");
  EXPECT_EQ(got[2].at("finished"), 1);
  EXPECT_EQ(got[0].at("weight_percent"), 75);
  EXPECT_NEAR(got[0].at("share_percent").get<double>() + got[2].at("share_percent").get<double>(),
              100, 0.001);
  EXPECT_NEAR(got[0].at("gpu_hours").get<double>() + got[2].at("gpu_hours").get<double>(),
              run.at("gpu_hours").get<double>(), 0.01);
  EXPECT_THAT(with({}).out, HasSubstr("jobs: tenants under weir"));
  const Ran other = with({"--policy", "weir,edf"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("--policy (beside --tenants) is \"weir,edf\", expected weir"));
  const auto wrong = folder_.write("wrong.yaml", "tenants: [{name: a, guaranteed: 33}]\n").string();
  const Ran mistaken = simulate({"--tenants", wrong});
  EXPECT_EQ(mistaken.exit_code, 2);
  EXPECT_THAT(mistaken.err, HasSubstr("wrong.yaml:1: guaranteed is \"33\""));
}

TEST_F(TrainSimulation, TheExampleShowsEachKindOfAnswer) {
  const Ran ran = simulate({"--json", "--log", file("run.jsonl")});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const SortedJson run = SortedJson::parse(ran.out)["runs"][0];
  EXPECT_GT(run["admitted"], 20);
  EXPECT_GT(run["refused"], 2);
  EXPECT_EQ(run["missed_after_admission"], 0);
  const std::string log = content_of(file("run.jsonl"));
  EXPECT_THAT(log, HasSubstr("fits_beside_promises"));
  EXPECT_THAT(log, HasSubstr("fits_after_replan"));
  EXPECT_THAT(log, HasSubstr("no_promise_asked"));
}

TEST_F(TrainSimulation, PlaysWeirUnlessToldOtherwise) {
  const Ran ran = simulate({});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("night: 39 jobs, 35 with a deadline, on 32 GPUs\n"));
  EXPECT_THAT(ran.out, HasSubstr("\nweir "));
  EXPECT_THAT(ran.out, Not(HasSubstr("elasticflow")));
  EXPECT_THAT(simulate({"--policy", "all"}).out, HasSubstr("--policy all\n")) << "in the recipe";
}

TEST_F(TrainSimulation, GivesTheSameBytesOnAnyNumberOfThreads) {
  const auto with_threads = [&](const char* threads) {
    const Ran ran = simulate({"--policy", "all", "--threads", threads, "--json", "--csv",
                              file("runs.csv"), "--report", file("page.html")});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return ran.out + content_of(file("runs.csv")) + content_of(file("page.html"));
  };
  EXPECT_EQ(with_threads("1"), with_threads("3"));
}

TEST_F(TrainSimulation, WritesALogForEachRunWithItsNames) {
  const std::string day = folder_.write("day.yaml", content_of(night_)).string();
  const Ran one = simulate({"--log", file("one.jsonl")});
  EXPECT_THAT(one.err, HasSubstr("wrote " + file("one.jsonl")));
  EXPECT_THAT(content_of(file("one.jsonl")), HasSubstr("\"type\":\"log_header\""));
  const Ran two = simulate({"--policy", "weir,fifo", "--log", file("two.jsonl")});
  EXPECT_THAT(two.err, HasSubstr("wrote " + file("two.weir.jsonl")));
  EXPECT_TRUE(fs::exists(file("two.fifo.jsonl")));
  EXPECT_FALSE(fs::exists(file("two.jsonl")));
}

TEST_F(TrainSimulation, WritesAPageWithTheChart) {
  const Ran ran = simulate({"--report", file("page.html")});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const std::string page = content_of(file("page.html"));
  EXPECT_THAT(page, HasSubstr("Who ran where: weir, night"));
  EXPECT_THAT(page, HasSubstr("<title>search-bert: "));
  EXPECT_THAT(page, HasSubstr("</html>"));
}

TEST_F(TrainSimulation, RefusesOptionsThatDoNotGoTogetherAllAtOnce) {
  const Ran ran = simulate(
      {"--bound", "--load", "0.9", "--slot", "soon", "--round", "often", "--policy", "fgd"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err,
              HasSubstr("option is \"--bound\", expected an option that goes with --jobs"));
  EXPECT_THAT(ran.err, HasSubstr("option is \"--load\""));
  EXPECT_THAT(ran.err, HasSubstr("--round is \"often\", expected a duration like 120s"));
  EXPECT_THAT(ran.err, HasSubstr("--slot is \"soon\", expected a duration like 60s"));
  EXPECT_THAT(ran.err, HasSubstr("--policy is \"fgd\", expected with --jobs some of weir"));
  EXPECT_EQ(ran.out, "");
}

TEST_F(TrainSimulation, PlaysEachPolicyWithEachSeed) {
  const Ran ran = simulate({"--policy", "weir,edf", "--seeds", "7,8", "--job-speed", "0.7,1",
                            "--json", "--log", file("run.jsonl"), "--csv", file("runs.csv")});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const SortedJson runs = SortedJson::parse(ran.out)["runs"];
  ASSERT_EQ(runs.size(), 4U);
  EXPECT_EQ(runs[1].at("policy"), "weir");
  EXPECT_EQ(runs[1].at("seed"), 8);
  EXPECT_EQ(runs[2].at("policy"), "edf");
  EXPECT_NE(runs[0].at("mean_jct_s"), runs[1].at("mean_jct_s")) << "other speeds were drawn";
  EXPECT_TRUE(fs::exists(file("run.edf.8.jsonl")));
  EXPECT_NE(content_of(file("run.edf.7.jsonl")), content_of(file("run.edf.8.jsonl")));
  EXPECT_THAT(content_of(file("runs.csv")), HasSubstr(",decisions,seed\n"));
}

TEST_F(TrainSimulation, NodesFailAtTheSameTimesUnderEveryPolicy) {
  const Ran ran = simulate({"--policy", "weir,fifo", "--node-mtbf", "3h", "--node-repair", "20m",
                            "--checkpoint-every", "10m", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const SortedJson runs = SortedJson::parse(ran.out)["runs"];
  EXPECT_GT(runs[0].at("nodes_lost"), 0);
  const Ran without = simulate({"--policy", "weir,fifo", "--json"});
  EXPECT_EQ(SortedJson::parse(without.out)["runs"][0].at("nodes_lost"), 0);
  const Ran again = simulate({"--policy", "weir,fifo", "--node-mtbf", "3h", "--node-repair", "20m",
                              "--checkpoint-every", "10m", "--failure-seed", "42", "--json"});
  EXPECT_EQ(ran.out, again.out);
  const Ran other = simulate({"--policy", "weir,fifo", "--node-mtbf", "3h", "--node-repair", "20m",
                              "--checkpoint-every", "10m", "--failure-seed", "43", "--json"});
  EXPECT_NE(ran.out, other.out);
}

TEST_F(TrainSimulation, RefusesWhatMakesNoSenseAboutFailuresAllAtOnce) {
  const Ran none =
      simulate({"--node-repair", "1h", "--checkpoint-every", "1m", "--failure-seed", "1"});
  EXPECT_EQ(none.exit_code, 2);
  for (const char* option : {"--node-repair", "--checkpoint-every", "--failure-seed"}) {
    EXPECT_THAT(none.err,
                HasSubstr(fmt::format("option is \"{}\", expected to be left out", option)));
  }
  const Ran odd = simulate({"--node-mtbf", "often", "--node-repair", "0s", "--checkpoint-every",
                            "x", "--seeds", "1", "--failure-seed", "2"});
  EXPECT_EQ(odd.exit_code, 2);
  EXPECT_THAT(odd.err, HasSubstr("--node-mtbf is \"often\", expected a duration like 30d"));
  EXPECT_THAT(odd.err, HasSubstr("--node-repair is \"0s\", expected a duration like 1h"));
  EXPECT_THAT(odd.err, HasSubstr("--checkpoint-every is \"x\", expected a duration like 10m"));
  EXPECT_THAT(odd.err, HasSubstr("--failure-seed is \"2\", expected to be left out with --seeds"));
}

// A seed is what --speed-seed is, for as many runs as there are.
TEST_F(TrainSimulation, ASeedDrawsWhatTheSpeedSeedDraws) {
  SortedJson by_seed =
      SortedJson::parse(simulate({"--seeds", "9", "--job-speed", "0.7,1", "--json"}).out);
  const SortedJson by_speed_seed =
      SortedJson::parse(simulate({"--speed-seed", "9", "--job-speed", "0.7,1", "--json"}).out);
  EXPECT_FALSE(by_speed_seed["runs"][0].contains("seed"));
  by_seed["runs"][0].erase("seed");
  EXPECT_EQ(by_seed, by_speed_seed);
  const Ran both = simulate({"--seeds", "9", "--speed-seed", "9"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, HasSubstr("--speed-seed is \"9\", expected to be left out with --seeds"));
}

TEST_F(TrainSimulation, TheRecipeHasTheSeedsAlsoWhenTheyAreThoseOfTasks) {
  EXPECT_THAT(simulate({"--seeds", "42..46"}).out, HasSubstr(" --seeds 42,43,44,45,46\n"));
  EXPECT_THAT(simulate({"--seeds", "42"}).out, HasSubstr(" --seeds 42"));
  EXPECT_THAT(simulate({}).out, Not(HasSubstr("--seeds")));
}

TEST_F(TrainSimulation, LeavesPartsOfWeirOutAndSaysSo) {
  const Ran whole = simulate({"--json"});
  for (const char* part : {"overhead", "left-overs", "marginal-sign", "suffix"}) {
    const Ran ran = simulate({"--ablate", part, "--json"});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_NE(ran.out, whole.out) << part;
    EXPECT_THAT(simulate({"--ablate", part}).out, HasSubstr(std::string{" --ablate "} + part));
  }
  EXPECT_THAT(simulate({"--ablate", "prefix"}).err, HasSubstr("overhead, left-overs"));
}

TEST_F(TrainSimulation, OtherPoliciesHaveNoPartsToLeaveOut) {
  const Ran ran = simulate({"--policy", "edf,elasticflow", "--ablate", "suffix"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--policy (which --ablate needs) is \"edf,elasticflow\", expected "
                                 "weir among them"));
  const auto others = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--policy", "all", "--json"});
    SortedJson runs = SortedJson::parse(simulate(more).out)["runs"];
    std::erase_if(runs.get_ref<SortedJson::array_t&>(),
                  [](const SortedJson& run) { return run.at("policy") == "weir"; });
    return runs;
  };
  EXPECT_EQ(others({"--ablate", "overhead,left-overs,marginal-sign,suffix"}), others({}));
}

TEST_F(TrainSimulation, SaysWhatIsMissing) {
  const Ran jobs = weir({"simulate", "--jobs", night_});
  EXPECT_EQ(jobs.exit_code, 2);
  EXPECT_THAT(jobs.err, HasSubstr("--cluster is missing"));
  EXPECT_THAT(jobs.err, HasSubstr("--curves is missing"));
  const Ran cluster = weir({"simulate", "--cluster", "2x2xT4"});
  EXPECT_EQ(cluster.exit_code, 2);
  EXPECT_THAT(cluster.err, HasSubstr("--jobs is missing"));
}

TEST_F(TrainSimulation, RefusesUnknownPoliciesOfBothKinds) {
  EXPECT_THAT(simulate({"--policy", "wier"}).err, HasSubstr("did you mean weir?"));
  const Ran tasks = weir({"simulate", "--policy", "weir"});
  EXPECT_EQ(tasks.exit_code, 2);
  EXPECT_THAT(tasks.err,
              HasSubstr("--policy is \"weir\", expected with --tasks a placement policy"));
}

TEST_F(TrainSimulation, TablesOfOneGpuDoNotServeAClusterOfTwo) {
  const Ran ran =
      weir({"simulate", "--cluster", "2x8xA100+2x4xT4", "--jobs", night_, "--curves", curves_});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("curves of all of A100, T4"));
}

TEST_F(TrainSimulation, TellsTheMistakesOfAllFiles) {
  const std::string one =
      folder_.write("one.yaml", "jobs:\n  - {name: x, model: bret, batch: 128, iterations: 1}\n")
          .string();
  const std::string two =
      folder_.write("two.yaml", "jobs:\n  - {name: x, model: bert, batch: 7, iterations: 1}\n")
          .string();
  const Ran ran =
      weir({"simulate", "--cluster", "4x8xA100", "--jobs", one + "," + two, "--curves", curves_});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("one.yaml:2: model is \"bret\""));
  EXPECT_THAT(ran.err, HasSubstr("two.yaml:2: batch is \"7\""));
}

TEST_F(TrainSimulation, RefusesToOverwriteItsInput) {
  const std::string jobs = folder_.write("jobs.yaml", content_of(night_)).string();
  const Ran ran = weir(
      {"simulate", "--cluster", "4x8xA100", "--jobs", jobs, "--curves", curves_, "--log", jobs});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("another file than an input"));
}

}  // namespace
}  // namespace weir::cli
