// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/profile_folder_testing.h"
#include "cli/run_testing.h"
#include "predict/training/profile_testing.h"

namespace weir::cli {
namespace {

using SortedJson = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Words = std::vector<std::string>;

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// A GPT of six layers that was measured on nodes of up to four GPUs.
class PlanCommand : public testing::Test {
 protected:
  PlanCommand() { write_profile(folder_, predict::random_gpt_profile(7)); }

  Words plan_words(const std::string& memory = "2000MiB", const std::string& layers = "6") const {
    return {"plan",     "--profiles", folder_.path().string(),
            "--db",     "random",     "--model",
            "gpt",      "--size",     "small",
            "--layers", layers,       "--gpus-per-node",
            "4",        "--memory",   memory};
  }
  Ran plan(const Words& more = {}) const {
    return weir(plan_words() + Words{"--batch", "64"} + more);
  }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

  formats::TemporaryFolder folder_;
};

TEST_F(PlanCommand, PrintsWhatTheContractNames) {
  const Ran ran = plan({"--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const SortedJson answer = SortedJson::parse(ran.out);
  EXPECT_GE(answer["predicted_ms"], answer["lower_bound_ms"]);
  EXPECT_LE(answer["max_memory_mib"], 2000);
  EXPECT_EQ(answer["complete"], true);
  for (const char* key : {"search_s", "evaluations", "samples_per_s", "microbatch", "batch"})
    EXPECT_TRUE(answer.contains(key)) << key;
  int next = 0;
  int gpus = 0;
  for (const SortedJson& stage : answer["stages"]) {
    EXPECT_EQ(stage["ops"][0], next);
    next = stage["ops"][1];
    gpus += stage["gpus"].get<int>();
    for (const char* key : {"tp", "dp", "dim", "recompute"}) EXPECT_TRUE(stage[key].is_array());
    EXPECT_LE(stage["time_ms"], answer["predicted_ms"]);
    EXPECT_LE(stage["memory_mib"], answer["max_memory_mib"]);
  }
  EXPECT_EQ(next, 6 * 13 + 3);
  EXPECT_EQ(gpus, 4);
}

TEST_F(PlanCommand, WritesAPlanThatPredictReadsBackToTheSameTime) {
  ASSERT_EQ(plan({"--out", file("plan.json")}).exit_code, 0);
  const SortedJson written = SortedJson::parse(content_of(file("plan.json")));
  const Ran ran = weir(
      {"predict", "--plan", file("plan.json"), "--profiles", folder_.path().string(), "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const SortedJson predicted = SortedJson::parse(ran.out);
  EXPECT_EQ(predicted["predicted_ms"], written["predicted_ms"]);
  EXPECT_EQ(predicted["stages"], written["stages"]);
  EXPECT_EQ(predicted["cost_model"], "full");
}

TEST_F(PlanCommand, TellsPeopleWhereTheTimeGoesAndWhatWouldHelp) {
  const Ran ran = plan({"--cost-model", "published"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("An iteration takes "), HasSubstr("samples/s"),
                    HasSubstr("encoder-embedding"), HasSubstr("gpt-post-process"),
                    HasSubstr("Where an iteration's time goes"), HasSubstr("limit 2,000 MiB"),
                    HasSubstr("10 % more memory"), HasSubstr("one more node (2 x 4 GPUs)")));
  EXPECT_THAT(ran.out, HasSubstr("--cost-model published"));
}

TEST_F(PlanCommand, GivesTheSameAnswerForTheSameEvaluations) {
  const Words limited{"--evaluations", "30000", "--nodes", "2"};
  ASSERT_EQ(plan(limited + Words{"--out", file("a.json")}).exit_code, 0);
  ASSERT_EQ(plan(limited + Words{"--out", file("b.json")}).exit_code, 0);
  EXPECT_EQ(content_of(file("a.json")), content_of(file("b.json")));
  EXPECT_EQ(SortedJson::parse(content_of(file("a.json")))["complete"], false);
}

TEST_F(PlanCommand, EndsWithinItsBudget) {
  const auto start = std::chrono::steady_clock::now();
  const Ran ran =
      weir(plan_words("4000MiB", "1000") + Words{"--nodes", "8", "--budget", "1s", "--json"});
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  EXPECT_THAT(ran.exit_code, testing::AnyOf(0, 3)) << ran.err;
  EXPECT_LT(passed.count(), 4) << "a busy machine gets some grace";
}

TEST_F(PlanCommand, KeepsTheNumberOfStagesAsked) {
  const Ran ran = plan({"--stages", "2", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(SortedJson::parse(ran.out)["stages"].size(), 2);
}

TEST_F(PlanCommand, WritesATimeLineAndAPage) {
  const Ran ran = plan({"--timeline", file("t.json"), "--report", file("r.html"), "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_FALSE(SortedJson::parse(content_of(file("t.json")))["traceEvents"].empty());
  EXPECT_THAT(content_of(file("r.html")),
              AllOf(HasSubstr("Which plan is fastest?"), HasSubstr("What would help")));
  EXPECT_THAT(ran.err, HasSubstr("wrote "));
}

TEST_F(PlanCommand, TellsAllMistakesAtOnceAndWritesNothing) {
  const Ran ran =
      weir({"plan", "--profiles", folder_.path().string(), "--model", "gtp", "--size", "small",
            "--gpus-per-node", "3", "--memory", "0MiB", "--stages", "9", "--budget", "soon",
            "--out", file("o.json"), "--timeline", "/no/such/folder/t.json"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--gpus-per-node is \"3\", expected a power of two"));
  EXPECT_THAT(ran.err, HasSubstr("--memory is \"0MiB\", expected more than 0"));
  EXPECT_THAT(ran.err, HasSubstr("--stages is \"9\", expected at most the GPUs, 3"));
  EXPECT_THAT(ran.err, HasSubstr("--budget is \"soon\""));
  EXPECT_THAT(ran.err, HasSubstr("--timeline is \"/no/such/folder/t.json\""));
  EXPECT_THAT(ran.err, HasSubstr("--model is \"gtp\", expected one of gpt"));
  EXPECT_FALSE(std::filesystem::exists(file("o.json")));
}

TEST_F(PlanCommand, RefusesZeroes) {
  const Ran ran = plan({"--nodes", "0", "--evaluations", "0", "--microbatches", "0"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err,
              AllOf(HasSubstr("--nodes"), HasSubstr("--evaluations"), HasSubstr("--microbatches")));
}

TEST_F(PlanCommand, NamesTheMicrobatchesWhenNoneDividesTheBatch) {
  const Ran ran = weir(plan_words() + Words{"--batch", "65", "--microbatches", "2,4"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.err, "--batch is \"65\", expected a multiple of a microbatch size: 2, 4\n");
}

TEST_F(PlanCommand, NamesTheRowsThatAreMissing) {
  const Ran ran = plan({"--microbatches", "1,3"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("--microbatches is \"3\""),
                             HasSubstr("no row with db random, model gpt, size small, mbs 3")));
}

TEST_F(PlanCommand, NamesTheLinksThatWereNotMeasured) {
  OpProfile profile = predict::random_gpt_profile(7);
  profile.between_nodes.clear();
  write_profile(folder_, profile);
  const Ran ran = plan({"--nodes", "2"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("db random, scope inter"));
}

TEST_F(PlanCommand, FindsTheDatabaseThatHasTheModel) {
  const Ran ran = weir({"plan", "--profiles", folder_.path().string(), "--model", "gpt", "--size",
                        "small", "--layers", "2", "--gpus-per-node", "2", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(SortedJson::parse(ran.out)["database"], "random");
}

TEST_F(PlanCommand, NamesTheMemoryThatIsEnoughWhenNoPlanFits) {
  const Ran ran = weir(plan_words("100MiB"));
  EXPECT_EQ(ran.exit_code, 3);
  ASSERT_THAT(ran.err, HasSubstr("--memory is \"100MiB\", expected "));
  EXPECT_EQ(ran.out, "");
  const std::string enough = ran.err.substr(
      ran.err.find("expected ") + 9, ran.err.find("MiB for") - ran.err.find("expected ") - 6);
  EXPECT_EQ(weir(plan_words(enough) + Words{"--json"}).exit_code, 0) << enough;
}

TEST_F(PlanCommand, SaysHowManyNodesAModelCanUse) {
  const Ran ran = plan({"--nodes", "1000"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err, HasSubstr("--nodes is \"1000\", expected 81 or fewer"));
}

TEST_F(PlanCommand, SaysWhenTheBudgetIsTooShortForAnyPlan) {
  const Ran ran = plan({"--evaluations", "1"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err, HasSubstr("--evaluations is \"1\", expected more"));
}

// Presses Ctrl-C once the command has taken over SIGINT and had some time to search; never when it has not.
class User {
 public:
  ~User() {
    is_over_ = true;
    thread_.join();
  }

 private:
  void press() const {
    struct sigaction now {};
    for (int waited = 0; !is_over_ && waited < kMostPolls; ++waited) {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
      sigaction(SIGINT, nullptr, &now);
      if (now.sa_handler != SIG_DFL) break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{500});
    sigaction(SIGINT, nullptr, &now);
    if (now.sa_handler != SIG_DFL) ::kill(::getpid(), SIGINT);
  }

  static constexpr int kMostPolls = 20'000;
  std::atomic<bool> is_over_{false};
  std::thread thread_{[this] { press(); }};
};

TEST_F(PlanCommand, PrintsTheBestSoFarWhenInterrupted) {
  const User user;
  const Ran ran =
      weir(plan_words("4000MiB", "1000") + Words{"--nodes", "8", "--budget", "30s", "--json"});
  EXPECT_EQ(ran.exit_code, 130) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("interrupted"));
}

TEST_F(PlanCommand, PredictSaysWhichStageIsOverTheLimit) {
  ASSERT_EQ(plan({"--out", file("plan.json")}).exit_code, 0);
  const Ran ran = weir({"predict", "--plan", file("plan.json"), "--profiles",
                        folder_.path().string(), "--memory", "500MiB"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.out, HasSubstr("OVER THE LIMIT"));
  EXPECT_THAT(ran.err, HasSubstr("note: stage 0 needs"));
}

TEST_F(PlanCommand, PredictRefusesAPlanThatBreaksARule) {
  ASSERT_EQ(plan({"--out", file("plan.json")}).exit_code, 0);
  const Ran ran = weir({"predict", "--plan", file("plan.json"), "--profiles",
                        folder_.path().string(), "--layers", "5"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("plan.json: stages is \"81 operators\""),
                             HasSubstr("68 operators of the model")));
}

TEST_F(PlanCommand, PredictAsksForTheModelWhenNobodyNamesIt) {
  folder_.write("bare.json",
                R"({"batch":4,"microbatch":1,"stages":[{"ops":[0,16],"gpus":1,"tp":[[1,16]],
                   "dp":[[1,16]],"dim":[[0,16]],"recompute":[[0,16]]}]})");
  const Words words{"predict", "--plan", file("bare.json"), "--profiles", folder_.path().string()};
  const Ran ran = weir(words);
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("--model is missing"), HasSubstr("--size is missing")));
  const Ran named = weir(words + Words{"--model", "gpt", "--size", "small", "--layers", "1"});
  EXPECT_EQ(named.exit_code, 0) << named.err;
}

}  // namespace
}  // namespace weir::cli
