// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate_command.h"

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

constexpr std::string_view kNodes =
    "sn,cpu_milli,memory_mib,gpu,model\n"
    "a,32000,262144,4,T4\n"
    "b,64000,262144,8,V100M16\n"
    "c,16000,131072,2,T4\n";

constexpr std::string_view kTasksHeader =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_"
    "time,"
    "scheduled_time\n";

std::string some_tasks() {
  std::string text{kTasksHeader};
  for (int i = 0; i < 60; ++i) {
    const int kind = i % 4;
    text += "t" + std::to_string(i);
    text += kind == 0   ? ",2000,4096,0,0,"
            : kind == 1 ? ",2000,4096,1,300,"
            : kind == 2 ? ",4000,8192,1,1000,"
                        : ",6000,8192,2,1000,T4|V100M16";
    text += ",LS,Running," + std::to_string(10 * i) + "," + std::to_string(10 * i + 500) + "," +
            std::to_string(10 * i) + "\n";
  }
  return text;
}

class SimulateCommand : public ::testing::Test {
 protected:
  formats::TemporaryFolder folder_;
  std::string nodes_ = folder_.write("nodes.csv", kNodes).string();
  std::string tasks_ = folder_.write("tasks.csv", some_tasks()).string();
  std::string csv_ = (folder_.path() / "out.csv").string();
  std::string html_ = (folder_.path() / "out.html").string();

  // With both outputs asked for, so that a test sees whether anything was written.
  Ran simulate(std::vector<std::string> more) {
    std::vector<std::string> words = {"simulate", "--csv",     csv_, "--report",
                                      html_,      "--threads", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return weir(words);
  }

  void expect_refused(const Ran& ran, const std::string& message) {
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(message));
    EXPECT_EQ(ran.out, "");
    EXPECT_FALSE(fs::exists(csv_));
    EXPECT_FALSE(fs::exists(html_));
  }
};

TEST_F(SimulateCommand, PrintsTheJsonOfTheContract) {
  const Ran ran = simulate({"--nodes", nodes_, "--tasks", tasks_, "--policy", "fgd,best-fit",
                            "--seeds", "42..43", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const SortedJson json = SortedJson::parse(ran.out);
  ASSERT_EQ(json.at("runs").size(), 4U);
  const SortedJson& run = json["runs"][0];
  EXPECT_EQ(run.at("policy"), "fgd");
  EXPECT_EQ(run.at("tasks_file"), tasks_);
  EXPECT_EQ(run.at("seed"), 42);
  for (const char* key :
       {"tasks", "failed", "failed_cpu_only", "workload", "allocated", "fragmented"}) {
    EXPECT_TRUE(run.contains(key)) << key;
  }
  EXPECT_FALSE(run.contains("timing"));
  EXPECT_GT(run["allocated"].size(), 10U);
  EXPECT_EQ(json["runs"][3]["policy"], "best-fit");
  EXPECT_EQ(json["runs"][3]["seed"], 43);
}

TEST_F(SimulateCommand, GivesTheSameBytesOnAnyNumberOfThreads) {
  const std::vector<std::string> words = {"simulate", "--nodes", nodes_,     "--tasks", tasks_,
                                          "--seeds",  "1..4",    "--report", html_};
  const auto with_threads = [&](const char* threads, bool json) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--threads", threads});
    if (json) all.emplace_back("--json");
    const std::string out = weir(all).out;
    return out + content_of(html_);
  };
  EXPECT_EQ(with_threads("1", true), with_threads("2", true));
  EXPECT_EQ(with_threads("1", false), with_threads("2", false));
}

TEST_F(SimulateCommand, PrintsATableAndItsRecipe) {
  const Ran ran = simulate({"--nodes", nodes_, "--tasks", tasks_, "--policy", "fgd"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("tasks: 14 GPUs, 5 seeds, mean ± standard deviation"));
  EXPECT_THAT(ran.out, HasSubstr("weir simulate --nodes " + nodes_ + " --tasks " + tasks_ +
                                 " --policy fgd\n"));
  EXPECT_THAT(content_of(html_), HasSubstr("</html>"));
  EXPECT_THAT(content_of(csv_), HasSubstr("fgd,tasks,"));
}

TEST_F(SimulateCommand, MeasuresTimeOnlyWhenAsked) {
  const Ran ran = simulate({"--nodes", nodes_, "--tasks", tasks_, "--policy", "fgd", "--seeds", "1",
                            "--timing", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(SortedJson::parse(ran.out)["runs"][0]["timing"].contains("decision_us_mean"));
}

TEST_F(SimulateCommand, PlaysChurnToo) {
  const Ran ran =
      simulate({"--nodes", nodes_, "--tasks", tasks_, "--policy", "fgd", "--seeds", "1",
                "--protocol", "churn", "--load", "0.9,1.1", "--queue", "backfill", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const SortedJson json = SortedJson::parse(ran.out);
  ASSERT_EQ(json.at("churn").size(), 2U);
  EXPECT_EQ(json["churn"][0]["load"], 0.9);
  EXPECT_EQ(json["churn"][1]["queue"], "backfill");
  EXPECT_EQ(json["churn"][1]["tasks_file"], tasks_);
}

TEST_F(SimulateCommand, TakesEachListOnItsOwn) {
  const std::string other = folder_.write("other.csv", some_tasks()).string();
  const Ran ran = simulate({"--nodes", nodes_, "--tasks", tasks_, "--tasks", other, "--policy",
                            "fgd", "--seeds", "1", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const SortedJson json = SortedJson::parse(ran.out);
  EXPECT_EQ(json["runs"][0]["tasks_file"], tasks_);
  EXPECT_EQ(json["runs"][1]["tasks_file"], other);
  EXPECT_EQ(json["runs"][1]["workload"], "other");
}

TEST_F(SimulateCommand, WithoutFilesPlaysASyntheticTrace) {
  const Ran ran = simulate({"--policy", "best-fit", "--seeds", "1", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(SortedJson::parse(ran.out)["runs"][0]["tasks_file"], "");
}

TEST_F(SimulateCommand, RefusesAnUnknownPolicyAndNamesTheKnown) {
  expect_refused(simulate({"--nodes", nodes_, "--tasks", tasks_, "--policy", "fgd-puls"}),
                 "did you mean fgd-plus?");
}

TEST_F(SimulateCommand, PlaysABlendOfPolicies) {
  const Ran ran = simulate({"--nodes", nodes_, "--tasks", tasks_, "--policy", "fgd,fgd:0.9+pwr:0.1",
                            "--seeds", "1", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(nlohmann::json::parse(ran.out)["runs"][1]["policy"], "fgd:0.9+pwr:0.1");
}

TEST_F(SimulateCommand, RefusesABlendThatIsNone) {
  const std::pair<const char*, const char*> cases[] = {
      {"fgd:0.9+", "a policy and its weight"}, {"fgd:0.9+pwrr:0.1", "\"pwrr\" is not among"},
      {"fgd:1+pwr:0", "a weight above 0"},     {"fgd:1+pwr:-1", "a weight above 0"},
      {"fgd:1", "two or more policies"},
  };
  for (const auto& [blend, message] : cases)
    expect_refused(simulate({"--nodes", nodes_, "--tasks", tasks_, "--policy", blend}), message);
}

TEST_F(SimulateCommand, RefusesBadInputWithFileLineAndField) {
  struct Case {
    std::string name, content, message;
  };
  const std::string header{kTasksHeader};
  const std::vector<Case> cases = {
      {"negative.csv", header + "t,-5,1,1,500,,,,0,1,0\n", "negative.csv:2: cpu_milli is \"-5\""},
      {"text.csv", header + "t,1,lots,1,500,,,,0,1,0\n", "text.csv:2: memory_mib is \"lots\""},
      {"share.csv", header + "t,1,1,2,500,,,,0,1,0\n", "share.csv:2: gpu_milli is \"500\""},
      {"model.csv", header + "t,1,1,1,500,H100,,,0,1,0\n", "model.csv:2: gpu_spec is \"H100\""},
      {"column.csv", "name,cpu_milli,memory_mib,num_gpu\nt,1,1,1\n", "gpu_milli is missing"},
      {"empty.csv", "", "empty.csv"},
      {"cut.csv.gz", formats::gzip(some_tasks()).substr(0, 100), "cut.csv.gz"},
      {"cpu.csv", header + "t,1,1,0,0,,,,0,1,0\n", "cpu.csv: GPU demand is \"0\""},
  };
  for (const Case& bad : cases) {
    const std::string path = folder_.write(bad.name, bad.content).string();
    expect_refused(simulate({"--nodes", nodes_, "--tasks", path}), bad.message);
  }
  expect_refused(simulate({"--nodes", nodes_, "--tasks", (folder_.path() / "absent.csv").string()}),
                 "absent.csv");
}

TEST_F(SimulateCommand, TellsTheMistakesOfAllFiles) {
  const std::string one =
      folder_
          .write("one.csv",
                 std::string{kTasksHeader} + "t,-1,1,1,500,,,,0,1,0\nt,1,-2,1,500,,,,0,1,0\n")
          .string();
  const std::string two =
      folder_.write("two.csv", std::string{kTasksHeader} + "t,1,1,-3,500,,,,0,1,0\n").string();
  const Ran ran = simulate({"--nodes", nodes_, "--tasks", one + "," + two});
  expect_refused(ran, "one.csv:2: cpu_milli is \"-1\"");
  expect_refused(ran, "one.csv:3: memory_mib is \"-2\"");
  expect_refused(ran, "two.csv:2: num_gpu is \"-3\"");
}

TEST_F(SimulateCommand, RefusesOptionsThatDoNotGoTogether) {
  expect_refused(simulate({"--nodes", nodes_, "--tasks", tasks_, "--load", "0.9"}),
                 "--protocol (which --load needs) is \"inflation\", expected churn");
  expect_refused(simulate({"--nodes", nodes_}), "--tasks is missing");
  expect_refused(simulate({"--tasks", tasks_}), "--nodes is missing");
  expect_refused(
      simulate({"--nodes", nodes_, "--tasks", tasks_, "--protocol", "churn", "--load", "0.905"}),
      "--load is \"0.905\", expected a load with at most two decimals");
}

TEST_F(SimulateCommand, RefusesChurnWithoutTimes) {
  const std::string path =
      folder_.write("untimed.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\nt,1,1,1,500\n")
          .string();
  expect_refused(simulate({"--nodes", nodes_, "--tasks", path, "--protocol", "churn"}),
                 "untimed.csv: the time of a task is missing");
}

TEST_F(SimulateCommand, RefusesToOverwriteItsInput) {
  const Ran ran = weir({"simulate", "--nodes", nodes_, "--tasks", tasks_, "--csv", tasks_});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("another file than an input"));
  EXPECT_EQ(content_of(tasks_), some_tasks());
}

TEST_F(SimulateCommand, TakesItsOptionsFromAConfigFile) {
  const std::string config = folder_
                                 .write("run.yaml", "nodes: " + nodes_ + "\ntasks: [" + tasks_ +
                                                        "]\npolicy: fgd\nseeds: 1..3\njson: true\n")
                                 .string();
  const Ran ran = weir({"simulate", "--config", config, "--seeds", "7"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const SortedJson json = SortedJson::parse(ran.out);
  ASSERT_EQ(json["runs"].size(), 1U);
  EXPECT_EQ(json["runs"][0]["seed"], 7);
}

}  // namespace
}  // namespace weir::cli
