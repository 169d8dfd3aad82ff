// SPDX-License-Identifier: Apache-2.0
#include "cli/compare_command.h"

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

class Compare : public ::testing::Test {
 protected:
  formats::TemporaryFolder folder_;
  std::string night_ = kExamples + "/compare/night.yaml";

  std::string file(const char* name) { return (folder_.path() / name).string(); }
  // A comparison of the night on 4x8xA100, with more lines.
  std::string comparison(const std::string& more, const std::string& slot = "") {
    return folder_
        .write("compare.yaml", "traces:\n  - jobs: " + kExamples +
                                   "/night.yaml\n    cluster: 4x8xA100\n    curves: " + kExamples +
                                   "/curves\n" + slot + more)
        .string();
  }
  static Ran compare(const std::string& path, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"simulate", "--compare", path});
    return weir(more);
  }
  static SortedJson runs_of(const std::string& path, std::vector<std::string> more = {}) {
    more.emplace_back("--json");
    const Ran ran = compare(path, more);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return SortedJson::parse(ran.out).at("runs");
  }
};

TEST_F(Compare, TheExampleComparesAllPoliciesOnTwoClusters) {
  const Ran ran = compare(night_);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  for (const char* policy : {"weir", "elasticflow", "edf", "fifo"})
    EXPECT_THAT(ran.out, HasSubstr(std::string{"  "} + policy + " "));
  EXPECT_THAT(ran.out, HasSubstr("weir beside the best of the others\n"));
  EXPECT_THAT(ran.out, HasSubstr("\nweir simulate --compare " + night_ + "\n"));
  const SortedJson runs = runs_of(night_);
  EXPECT_EQ(runs.front().at("gpus"), 32);
  EXPECT_EQ(runs.back().at("gpus"), 16);
  EXPECT_EQ(runs.back().at("cluster"), "2x8xA100");
  EXPECT_FALSE(runs.front().contains("seed"));
}

// A comparison of one trace is what --jobs tells of it.
TEST_F(Compare, GivesTheFiguresOfTheSameRunsAlone) {
  SortedJson compared = runs_of(comparison("policies: [weir, edf]\n"));
  const Ran alone = weir({"simulate", "--jobs", kExamples + "/night.yaml", "--cluster", "4x8xA100",
                          "--curves", kExamples + "/curves", "--policy", "weir,edf", "--json"});
  for (SortedJson& run : compared) run.erase("cluster");
  EXPECT_EQ(compared, SortedJson::parse(alone.out).at("runs"));
}

TEST_F(Compare, TheEnvelopeHasVersionAndRecipe) {
  const Ran ran = compare(comparison("policies: [weir]\n"), {"--slot", "60s", "--json"});
  const SortedJson json = SortedJson::parse(ran.out);
  EXPECT_TRUE(json.at("version").is_string());
  EXPECT_THAT(json.at("recipe").get<std::string>(), HasSubstr("--slot 60s"));
  EXPECT_FALSE(json["runs"][0].contains("timing"));
}

TEST_F(Compare, TheCommandLineWins) {
  const std::string path = comparison("policies: [weir, edf]\nseeds: [1, 2]\n", "    slot: 60s\n");
  EXPECT_EQ(runs_of(path).size(), 4U);
  EXPECT_EQ(runs_of(path)[1].at("seed"), 2);
  EXPECT_EQ(runs_of(path, {"--policy", "fifo"}).size(), 2U);
  EXPECT_EQ(runs_of(path, {"--seeds", "7"})[0].at("seed"), 7);
  EXPECT_GT(runs_of(path, {"--policy", "all", "--seeds", "7"}).size(), 4U);
  const auto with_slot = [&](const std::string& file_slot, std::vector<std::string> more) {
    return runs_of(comparison("policies: [weir]\n", file_slot), std::move(more)).dump();
  };
  EXPECT_NE(with_slot("", {}), with_slot("    slot: 240s\n", {}));
  EXPECT_EQ(with_slot("", {}), with_slot("    slot: 240s\n", {"--slot", "0s"}));
  EXPECT_EQ(with_slot("    slot: 240s\n", {}), with_slot("", {"--slot", "240s"}));
}

TEST_F(Compare, WeirCanBeComparedWithoutSomeOfItsParts) {
  const std::string path = comparison("policies: [weir, edf]\n");
  const SortedJson whole = runs_of(path);
  const SortedJson without = runs_of(path, {"--ablate", "left-overs"});
  EXPECT_NE(whole[0], without[0]);
  EXPECT_EQ(whole[1], without[1]);
  const Ran mistake = compare(comparison("policies: [edf]\n"), {"--ablate", "left-overs"});
  EXPECT_EQ(mistake.exit_code, 2);
  EXPECT_THAT(mistake.err, HasSubstr("weir among them"));
}

TEST_F(Compare, GivesTheSameBytesOnAnyNumberOfThreads) {
  const auto with_threads = [&](const char* threads) {
    const Ran ran =
        compare(night_, {"--seeds", "1,2", "--job-speed", "0.9,1.1", "--threads", threads, "--csv",
                         file("runs.csv"), "--report", file("page.html")});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return ran.out + content_of(file("runs.csv")) + content_of(file("page.html"));
  };
  EXPECT_EQ(with_threads("1"), with_threads("3"));
}

TEST_F(Compare, WritesAPageWithTheFirstTraceUnderWeirAndTheBestOther) {
  const Ran ran = compare(night_, {"--policy", "fifo,weir,elasticflow", "--report",
                                   file("page.html"), "--csv", file("runs.csv")});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("wrote " + file("page.html")));
  const std::string page = content_of(file("page.html"));
  EXPECT_THAT(page, HasSubstr("Who ran where: weir, night"));
  EXPECT_THAT(page, HasSubstr("Who ran where: elasticflow, night"));
  EXPECT_THAT(page, Not(HasSubstr("Who ran where: fifo")));
  EXPECT_THAT(page, HasSubstr("Deadlines met by size: night on 2x8xA100"));
  EXPECT_THAT(page, HasSubstr("--policy fifo,weir,elasticflow"));
  EXPECT_THAT(content_of(file("runs.csv")), HasSubstr("\nweir,night,"));
}

TEST_F(Compare, MeasuresTimeOnlyWhenAsked) {
  EXPECT_THAT(compare(night_, {"--timing"}).out, HasSubstr("seconds"));
  EXPECT_THAT(compare(night_).out, Not(HasSubstr("seconds")));
}

TEST_F(Compare, RefusesWhatStandsInTheFileAndWhatDoesNotGoTogether) {
  const Ran ran = compare(night_, {"--jobs", "x.csv", "--cluster", "1x1xT4", "--log", file("log"),
                                   "--bound", "--policy", "fgd", "--seeds", "1", "--speed-seed",
                                   "2", "--report", file("page.html")});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--jobs is missing, expected to stand in the file of --compare"));
  EXPECT_THAT(ran.err, HasSubstr("--cluster"));
  EXPECT_THAT(ran.err,
              HasSubstr("option is \"--log\", expected an option that goes with --compare"));
  EXPECT_THAT(ran.err, HasSubstr("option is \"--bound\""));
  EXPECT_THAT(ran.err, HasSubstr("--policy is \"fgd\""));
  EXPECT_THAT(ran.err, HasSubstr("--speed-seed"));
  EXPECT_EQ(ran.out, "");
  EXPECT_FALSE(fs::exists(file("page.html")));
}

TEST_F(Compare, TellsTheMistakesOfTheFileAndOfAllTraces) {
  const Ran wrong = compare(comparison("policies: [wier]\nspeed: 1\n"));
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("compare.yaml:5: policy is \"wier\""));
  EXPECT_THAT(wrong.err, HasSubstr("compare.yaml:6: "));
  const std::string path =
      folder_
          .write("missing.yaml",
                 "traces:\n  - {jobs: no.csv, cluster: 1x8xA100, curves: " + kExamples +
                     "/curves}\n  - {jobs: no.csv, cluster: 1x99xA100, "
                     "curves: c}\n")
          .string();
  const Ran missing = compare(path);
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("no.csv"));
  EXPECT_THAT(missing.err, HasSubstr("1x99xA100"));
  EXPECT_EQ(compare(file("none.yaml")).exit_code, 2);
}

TEST_F(Compare, RefusesToOverwriteItsInputs) {
  const std::string path = comparison("");
  for (const std::string& output : {path, kExamples + "/night.yaml"}) {
    const Ran ran = compare(path, {"--csv", output});
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_THAT(ran.err, HasSubstr("another file than an input"));
  }
  EXPECT_THAT(compare(path, {"--csv", file("x"), "--report", file("x")}).err,
              HasSubstr("another file than --csv"));
}

TEST_F(Compare, NamesTheLineOfAClusterThatIsNoneAndEveryFileThatIsNotThere) {
  const auto path = folder_.write(
      "absent.yaml", "traces:\n  - {jobs: nope.csv, cluster: 0x8xA100, curves: nowhere}\n");
  const Ran ran = compare(path.string());
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("absent.yaml:2: cluster is \"0x8xA100\""));
  EXPECT_THAT(ran.err, HasSubstr("nope.csv: file is missing"));
  EXPECT_THAT(ran.err, HasSubstr("nowhere: file is missing"));
}

// Jobs whose model is planned, in the folder of the comparison.
class ComparePlanned : public Compare {
 protected:
  void SetUp() override {
    folder_.write("gpt.json", content_of(kExamples + "/models/gpt2-small.json"));
    folder_.write("night.yaml",
                  "jobs:\n  - {name: a, model: {config: gpt.json, batch: 256}, iterations: 2000, "
                  "deadline: 4h}\n");
    folder_.write("gpus.yaml",
                  "gpus:\n  - {name: B200, tflops: 2250, memory: 180GiB, memory_rate: 8000, "
                  "link_rate: 900}\n");
  }
  std::string planned(const std::string& cluster, const std::string& more = "") {
    return folder_
        .write("planned.yaml", "traces:\n  - {jobs: night.yaml, cluster: " + cluster +
                                   "}\npolicies: [weir, edf]\n" + more)
        .string();
  }
};

TEST_F(ComparePlanned, NeedsNoCurves) {
  const Ran ran = compare(planned("2x8xA100-80G"), {"--report", file("page.html")});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(
      ran.out,
      HasSubstr("Note: throughput from plans, which nobody has measured: gpt-124M-s1024.\n"));
  EXPECT_THAT(content_of(file("page.html")), HasSubstr("planned, not measured"));
  const SortedJson runs = runs_of(planned("2x8xA100-80G"));
  EXPECT_EQ(runs[0].at("planned_models"), SortedJson{"gpt-124M-s1024"});
  EXPECT_FALSE(runs_of(night_)[0].contains("planned_models"));
  EXPECT_THAT(compare(night_).out, Not(HasSubstr("nobody has measured")));
}

TEST_F(ComparePlanned, NeedsCurvesWhereNoModelIsPlanned) {
  folder_.write("night.yaml", "jobs:\n  - {name: a, model: bert, batch: 64, iterations: 20}\n");
  const Ran ran = compare(planned("2x8xA100-80G"));
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("planned.yaml:2: curves is missing, expected the path"));
  folder_.write("night.yaml", "");
  EXPECT_THAT(compare(planned("2x8xA100-80G")).err, HasSubstr("night.yaml: file is \"empty\""));
}

TEST_F(ComparePlanned, KnowsTheGpusOfAFile) {
  const Ran unknown = compare(planned("2x8xB200"));
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("nobody knows B200"));
  const std::string gpus = file("gpus.yaml");
  const Ran by_option = compare(planned("2x8xB200"), {"--gpu-file", gpus, "--json"});
  ASSERT_EQ(by_option.exit_code, 0) << by_option.err;
  const Ran by_file = compare(planned("2x8xB200", "gpu_file: gpus.yaml\n"), {"--json"});
  ASSERT_EQ(by_file.exit_code, 0) << by_file.err;
  EXPECT_EQ(SortedJson::parse(by_option.out).at("runs"), SortedJson::parse(by_file.out).at("runs"));
  const Ran none = compare(planned("2x8xB200", "gpu_file: none.yaml\n"));
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("none.yaml"));
  const Ran over = compare(planned("2x8xB200"), {"--gpu-file", gpus, "--csv", gpus});
  EXPECT_THAT(over.err, HasSubstr("another file than an input"));
}

TEST_F(Compare, IsFoundByWhoeverLooksForACommandOfThatName) {
  const Ran ran = weir({"compare", night_});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("command is \"compare\", expected weir simulate --compare FILE"));
}

}  // namespace
}  // namespace weir::cli
