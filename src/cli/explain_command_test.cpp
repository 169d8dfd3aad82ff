// SPDX-License-Identifier: Apache-2.0
#include "cli/explain_command.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/run_testing.h"
#include "formats/temporary_file_testing.h"

namespace weir::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using SortedJson = nlohmann::json;

class Explain : public ::testing::Test {
 protected:
  formats::TemporaryFolder folder_;
  std::vector<std::string> night_ = {"--cluster", "4x8xA100",
                                     "--jobs",    (fs::path{kExamples} / "night.yaml").string(),
                                     "--curves",  (fs::path{kExamples} / "curves").string()};

  Ran explain(std::vector<std::string> more) {
    std::vector<std::string> words = {"explain"};
    words.insert(words.end(), night_.begin(), night_.end());
    words.insert(words.end(), more.begin(), more.end());
    return weir(words);
  }
  std::string log() {
    const std::string path = (folder_.path() / "run.jsonl").string();
    std::vector<std::string> words = {"simulate", "--log", path};
    words.insert(words.end(), night_.begin(), night_.end());
    EXPECT_EQ(weir(words).exit_code, 0);
    return path;
  }
};

TEST_F(Explain, SaysTheSameFromALogAndFromASimulation) {
  const std::string path = log();
  for (const char* job : {"search-bert", "last-minute", "notebook-ada", "7"}) {
    const Ran read = weir({"explain", "--log", path, "--job", job});
    const Ran played = explain({"--job", job});
    ASSERT_EQ(read.exit_code, 0) << read.err;
    EXPECT_EQ(read.out, played.out) << job;
  }
}

TEST_F(Explain, ALogMayBeNamedAsOtherCommandsDo) {
  const std::string path = log();
  const Ran other = weir({"explain", "--from-log", path, "--job", "last-minute"});
  EXPECT_EQ(other.exit_code, 0) << other.err;
  EXPECT_EQ(other.out, weir({"explain", "--log", path, "--job", "last-minute"}).out);
  const Ran both = weir({"explain", "--from-log", path, "--log", path, "--job", "7"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, HasSubstr("--from-log is \"beside --log\", expected one of them"));
  const Ran played = weir({"explain", "--from-log", path, "--cluster", "1x8xA100", "--job", "7"});
  EXPECT_EQ(played.exit_code, 2);
  EXPECT_THAT(played.err, HasSubstr("--cluster"));
}

TEST_F(Explain, TellsARefusedJobItsEarliestDeadline) {
  const Ran ran = explain({"--job", "last-minute"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("Refused at 11h."));
  EXPECT_THAT(ran.out, HasSubstr("The earliest deadline that can be promised is "));
  const Ran without = explain({"--job", "last-minute", "--counter-offers", "off"});
  EXPECT_THAT(without.out, HasSubstr("No other deadline is offered."));
}

// Without the gate, which is about other jobs and may refuse this one at the next deadline too.
TEST_F(Explain, TheEarliestDeadlineIsPromisedToWhoAsksForIt) {
  std::ifstream file{fs::path{kExamples} / "night.yaml"};
  const std::string jobs{std::istreambuf_iterator<char>{file}, {}};
  // Name, deadline as written, submission in hours.
  struct Refused {
    std::string name, deadline;
    double submitted;
  };
  for (const Refused& job :
       {Refused{"tokyo-photos", "deadline: 3h", 7}, Refused{"last-minute", "deadline: 45m", 11}}) {
    const Ran ran = explain({"--job", job.name, "--gate", "off", "--json"});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    const SortedJson first = SortedJson::parse(ran.out)["explain"];
    ASSERT_EQ(first["answer"], "refused") << job.name;
    const double offered = std::ceil(first["earliest_s"].get<double>());
    std::string asked_again = jobs;
    const std::size_t at = asked_again.find(job.deadline, asked_again.find("name: " + job.name));
    asked_again.replace(
        at, job.deadline.size(),
        "deadline: " + std::to_string(static_cast<int>(offered - 3600 * job.submitted)) + "s");
    night_[3] = folder_.write("again.yaml", asked_again).string();
    const Ran again = explain({"--job", job.name, "--gate", "off", "--json"});
    ASSERT_EQ(again.exit_code, 0) << again.err;
    EXPECT_EQ(SortedJson::parse(again.out)["explain"]["answer"], "promised") << job.name;
    night_[3] = (fs::path{kExamples} / "night.yaml").string();
  }
}

TEST_F(Explain, WithAtTellsTheStateThenAndWhatWouldBecomeOfIt) {
  const Ran ran = explain({"--job", "notebook-otto", "--at", "7h40m"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("This is as of 7h40m."));
  EXPECT_THAT(ran.out, HasSubstr("If no other job comes, it starts at "));
  const Ran early = explain({"--job", "notebook-otto", "--at", "1h"});
  EXPECT_EQ(early.exit_code, 2) << "it has not come yet";
  EXPECT_THAT(early.err, HasSubstr("that came by 1h"));
}

TEST_F(Explain, CutsALogToo) {
  const Ran ran = weir({"explain", "--log", log(), "--job", "search-bert", "--at", "2h"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("This is as of 2h. It runs on "));
  EXPECT_THAT(ran.out, Not(HasSubstr("It finished")));
}

TEST_F(Explain, PrintsJson) {
  const Ran ran = explain({"--job", "demo-gpt2", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const SortedJson json = SortedJson::parse(ran.out).at("explain");
  EXPECT_EQ(json.at("name"), "demo-gpt2");
  EXPECT_EQ(json.at("answer"), "promised");
  EXPECT_FALSE(json.at("plans").empty());
  EXPECT_GE(json.at("slack_s").get<double>(), 0);
}

TEST_F(Explain, ForAnUnknownJobOffersTheNearest) {
  const Ran ran = explain({"--job", "demo-gtp2"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--job is \"demo-gtp2\""));
  EXPECT_THAT(ran.err, HasSubstr("did you mean demo-gpt2?"));
  EXPECT_EQ(ran.out, "");
  const Ran read = weir({"explain", "--log", log(), "--job", "demo-gtp2"});
  EXPECT_EQ(read.exit_code, 2);
  EXPECT_THAT(read.err, HasSubstr("did you mean demo-gpt2?"));
}

TEST_F(Explain, TellsOtherPoliciesStoriesToo) {
  EXPECT_THAT(explain({"--job", "search-bert", "--policy", "fifo"}).out,
              HasSubstr("Policy fifo promises nothing."));
}

TEST_F(Explain, RefusesWrongOptionsAllAtOnce) {
  const Ran none = weir({"explain", "--job", "x", "--at", "noon"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("--at is \"noon\""));
  EXPECT_THAT(none.err, HasSubstr("--cluster is missing"));
  EXPECT_THAT(none.err, HasSubstr("--jobs is missing, expected the training jobs, or --log"));
  const Ran both = explain({"--job", "x", "--log", "run.jsonl"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, HasSubstr("option is \"--cluster\", expected no such option beside --log"));
  EXPECT_EQ(weir({"explain"}).exit_code, 2) << "--job is needed";
}

TEST_F(Explain, RefusesABrokenLog) {
  const std::string path = folder_.write("broken.jsonl", "{\"schema\":1\n").string();
  const Ran ran = weir({"explain", "--log", path, "--job", "x"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("broken.jsonl:1"));
}

}  // namespace
}  // namespace weir::cli
