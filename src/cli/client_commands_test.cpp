// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/client_server_testing.h"
#include "cli/client_top.h"
#include "cli/run_testing.h"
#include "formats/log_codec.h"
#include "formats/record_log_header.h"

namespace weir::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;

class Client : public testing::Test {
 protected:
  Client() {
    environment_.set("WEIR_SERVER", server_.url());
    environment_.set("WEIR_TOKEN", ScriptedServer::kToken);
  }
  std::string file(const std::string& text) {
    return environment_.home().write("job.yaml", text).string();
  }

  ClientEnvironment environment_;
  ScriptedServer server_;
};

TEST_F(Client, SubmitsAFile) {
  const Ran ran = weir({"submit", file("name: bert\ncommand: [x]\nduration: 1h\ndeadline: 4h\n")});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "bert is job 1: promised by 2026-11-15T12:00:00Z, expected to finish "
            "2026-11-15T11:30:00Z.\n");
  EXPECT_EQ(server_.bodies()[0]["directory"], std::filesystem::current_path().string());
  EXPECT_EQ(server_.keys()[0].size(), 32U);
}

TEST_F(Client, SubmitsACommandOfTheCommandLine) {
  const Ran ran = weir({"submit", "--gpus", "2", "--tenant", "vision", "--priority", "-5", "--",
                        "/bin/echo", "a,b", "--gpus", "7"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, "echo is job 1: queued without a promise.\n");
  const Json job = server_.bodies()[0];
  EXPECT_EQ(job["command"], (Json{"/bin/echo", "a,b", "--gpus", "7"}));
  EXPECT_EQ(job["gpus"], 2);
  EXPECT_EQ(job["tenant"], "vision");
  EXPECT_EQ(job["priority"], -5);
}

TEST_F(Client, ShowsTenantsAsATree) {
  const Ran ran = weir({"tenants"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  for (const char* row : {"research  T4             4        8     4         2         0        1  "
                          "     3      75.0 %  "
                          "50.0 %\n",
                          "  vision  T4             4        8     4         2         0        1  "
                          "     1      75.0 %  "
                          "50.0 %\n",
                          "default   T4             0        -     3         2         3        0  "
                          "     1      25.0 %  "
                          "50.0 %\n"})
    EXPECT_THAT(ran.out, HasSubstr(row));
  const Ran json = weir({"tenants", "--json"});
  EXPECT_EQ(Json::parse(json.out)["tenants"][1]["parent"], "research");
}

TEST_F(Client, SendsAFileOfTenantsAsItIs) {
  const Ran ran = weir({"tenants", "set", file("tenants: [{name: vision}]\n")});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("research"));
  EXPECT_EQ(server_.calls().back(), "PUT /v1/tenants application/yaml tenants: [{name: vision}]\n");
}

TEST_F(Client, NamesTheFileInWhichTenantsAreWrong) {
  const std::string wrong = file("tenants:\n- {name: wrong, weight: 0}\n");
  const Ran ran = weir({"tenants", "set", wrong});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr(wrong + ":2: weight is \"0\", expected an integer from 1"));
  const Ran none = weir({"tenants", "set", "/nowhere/tenants.yaml"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("/nowhere/tenants.yaml"));
}

TEST_F(Client, SubmitsNothingWhenAnyFileHasAMistake) {
  const auto good = environment_.home().write("good.yaml", "name: good\ncommand: [x]\n").string();
  const Ran ran = weir({"submit", good, file("name: bert\ngups: 2\n")});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("job.yaml:2: field is \"gups\""),
                             HasSubstr("did you mean gpus?"), HasSubstr("command is missing")));
  EXPECT_TRUE(server_.calls().empty());
}

// Only the server can see some mistakes: which models fit its GPUs.
TEST_F(Client, SubmitsNothingWhenTheServerSeesAMistakeInAnyJob) {
  const auto jobs =
      file("jobs:\n- {name: bert, command: [x]}\n- name: malformed\n  command: [x]\n  gpus: 4\n");
  const Ran ran = weir({"submit", jobs});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, "weir: Unprocessable Content: the job cannot run here\n" + jobs +
                         ":5: gpus is \"3\", expected a power of two\n" + jobs +
                         ":3: model.gpu is missing, expected a type\n");
  EXPECT_TRUE(server_.calls().empty());
  const Ran json = weir({"submit", jobs, "--json"});
  EXPECT_EQ(json.exit_code, 2);
  const Json answer = Json::parse(json.out);
  EXPECT_TRUE(answer["jobs"].empty());
  ASSERT_EQ(answer["errors"].size(), 2U);
  EXPECT_EQ(answer["errors"][0]["line"], 5);
  EXPECT_EQ(answer["errors"][0]["field"], "gpus");
  EXPECT_EQ(answer["errors"][1]["file"], jobs);
  EXPECT_THAT(weir({"submit", jobs, "--dry-run"}).err, HasSubstr(":5: gpus is \"3\""));
}

TEST_F(Client, ARefusedDeadlineIsAnAnswerAndTheOthersAreSubmitted) {
  const Ran ran = weir({"submit", file("jobs:\n- {name: impossible, command: [x]}\n"
                                       "- {name: bert, command: [x]}\n")});
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("impossible is refused"), HasSubstr("bert is job 2")));
}

TEST_F(Client, JobsThatDifferOnlyInTheirNameAreAskedAboutOnce) {
  const Ran ran = weir({"submit", file("{name: sweep, count: 9, command: [x]}\n")});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(server_.calls().size(), 9U);
  EXPECT_EQ(server_.bodies().size(), 10U);
  ASSERT_EQ(
      weir({"submit", file("{name: train, count: 9, command: [x], iterations: 5}\n")}).exit_code,
      0);
  EXPECT_EQ(server_.bodies().size(), 20U);
  ASSERT_EQ(weir({"submit", file("jobs:\n- {name: a, command: [x], iterations: 5}\n"
                                 "- {name: b, command: [x], iterations: 5}\n")})
                .exit_code,
            0);
  EXPECT_EQ(server_.bodies().size(), 23U) << "what is trained is called as the job";
}

TEST_F(Client, TwoModelsOfOneNameAreAMistakeBeforeAnythingIsSubmitted) {
  const auto job = [](const std::string& name, const std::string& layers) {
    return "- {name: " + name + ", command: [x], iterations: 5, model: {name: gpt, batch: 8, " +
           "sequence: 8, hidden: 8, heads: 1, vocab: 9, layers: " + layers + "}}\n";
  };
  const auto jobs = file("jobs:\n" + job("a", "1") + job("b", "1") + job("c", "2"));
  const Ran ran = weir({"submit", jobs});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.err, jobs +
                         ":4: model.name is \"gpt\", expected another name: job a has this one "
                         "with batch 8, and its model is another one (other dimensions, "
                         "sequence or gpu)\n");
  EXPECT_TRUE(server_.bodies().empty());
}

TEST_F(Client, AServerThatDoesNotAnswerAboutOneJobIsNotAskedAboutTheOthers) {
  const Ran ran = weir({"submit", file("jobs:\n- {name: overloaded, command: [x]}\n"
                                       "- {name: malformed, command: [x], gpus: 4}\n"
                                       "- {name: bert, command: [y]}\n")});
  EXPECT_EQ(ran.exit_code, 2) << "the submission goes on: its answer counts";
  const auto bodies = server_.bodies();
  ASSERT_EQ(bodies.size(), 6U) << "four tries of one dry run, two submissions";
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(bodies[i]["name"], "overloaded");
  EXPECT_EQ(bodies[5]["name"], "malformed");
}

TEST_F(Client, MistakesAreToldToProgramsToo) {
  const Ran client = weir({"submit", file("name: bert\ngups: 2\n"), "--json"});
  EXPECT_EQ(client.exit_code, 2);
  EXPECT_EQ(Json::parse(client.out)["errors"][0]["line"], 2);
  const Ran server = weir({"submit", file("name: malformed\ncommand: [x]\n"), "--json"});
  EXPECT_EQ(server.exit_code, 2);
  EXPECT_THAT(Json::parse(server.out)["errors"][0]["message"].get<std::string>(),
              HasSubstr("job.yaml:1: gpus is \"3\""));
  const Ran words = weir({"submit", "--name", "malformed", "--json", "--", "x"});
  EXPECT_EQ(Json::parse(words.out)["errors"][0]["field"], "--gpus");
  environment_.set("WEIR_TOKEN", "wrong");
  const Ran stranger = weir({"submit", "--json", "--", "x"});
  EXPECT_EQ(stranger.exit_code, 1);
  EXPECT_THAT(Json::parse(stranger.out)["errors"][0]["message"].get<std::string>(),
              HasSubstr("this is not the server's token"));
}

TEST_F(Client, NamesTheOptionsOfAJobThatHasMistakes) {
  const Ran ran = weir({"submit", "--gpus", "3", "--deadline", "soon", "--", "x"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err,
              AllOf(HasSubstr("--gpus is \"3\", expected a power of two"),
                    HasSubstr("--deadline is \"soon\""), HasSubstr("--duration is missing")));
  EXPECT_THAT(weir({"submit"}).err, HasSubstr("expected a job file, or -- and a command"));
  EXPECT_THAT(weir({"submit", "a.yaml", "--gpus", "2"}).err,
              HasSubstr("--gpus is \"beside a file\", expected the field gpus in the file"));
}

TEST_F(Client, ARefusedJobIsExitCode3AndHasACounterOffer) {
  const Ran ran =
      weir({"submit", file("name: impossible\ncommand: [x]\nduration: 1h\ndeadline: 2h\n")});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.err, "");
  EXPECT_THAT(ran.out, StartsWith("impossible is refused: its deadline cannot be met"));
  EXPECT_THAT(ran.out,
              HasSubstr("The earliest deadline that can be promised is 2026-11-15T15:00:00Z."));
}

TEST_F(Client, ADryRunSubmitsNothing) {
  const auto jobs =
      file("jobs:\n- {name: bert, command: [x]}\n- {name: impossible, command: [x]}\n");
  const Ran ran = weir({"submit", jobs, "--dry-run"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.out,
            "bert would be promised by 2026-11-15T12:00:00Z, expected to finish "
            "2026-11-15T11:30:00Z. 2 other jobs would be planned anew.\n"
            "impossible would be refused: no room. The earliest deadline that can be promised is "
            "2026-11-15T15:00:00Z.\n");
  EXPECT_TRUE(server_.calls().empty());
  const Ran json = weir({"submit", jobs, "--dry-run", "--json"});
  EXPECT_EQ(json.exit_code, 3);
  EXPECT_EQ(Json::parse(json.out)["jobs"][1]["answer"], "refused");
  EXPECT_EQ(Json::parse(json.out)["jobs"][0]["name"], "bert");
}

TEST_F(Client, WaitsUntilAllAreOver) {
  const Ran ran = weir({"submit", file("name: bert\ncommand: [x]\n"), "--wait"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("job 1 (bert) finished after 2h5m: exit code 0\n"));
  const Ran broken = weir({"submit", file("name: broken\ncommand: [x]\n"), "--wait", "--json"});
  EXPECT_EQ(broken.exit_code, 1);
  EXPECT_EQ(Json::parse(broken.out)["jobs"][0]["exit"], "exit code 3");
}

TEST_F(Client, ASubmissionWithoutAnAnswerIsSentAgainWithItsKey) {
  const Ran ran = weir({"submit", file("name: flaky\ncommand: [x]\n")});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  ASSERT_EQ(server_.keys().size(), 2U);
  EXPECT_EQ(server_.keys()[0], server_.keys()[1]);
}

TEST_F(Client, TellsWhatTheServerSays) {
  const Ran malformed = weir({"submit", file("name: malformed\ncommand: [x]\n")});
  EXPECT_EQ(malformed.exit_code, 2);
  EXPECT_THAT(malformed.err, AllOf(HasSubstr("weir: Bad Request: the job has mistakes"),
                                   HasSubstr("gpus is \"3\", expected a power of two")));
  const Ran missing = weir({"job", "nobody"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_EQ(missing.err, "weir: Not Found: there is no such job\n");
  environment_.set("WEIR_TOKEN", "wrong");
  const Ran stranger = weir({"jobs"});
  EXPECT_EQ(stranger.exit_code, 1);
  EXPECT_THAT(stranger.err, HasSubstr("this is not the server's token"));
  server_.stop();
  const Ran gone = weir({"jobs"});
  EXPECT_EQ(gone.exit_code, 4);
  EXPECT_THAT(gone.err, HasSubstr(server_.url()));
}

TEST_F(Client, ListsJobs) {
  EXPECT_EQ(weir({"jobs"}).out, "no jobs\n");
  weir({"submit", file("name: bert\ncommand: [x]\nduration: 1h\ndeadline: 4h\n")});
  weir({"job", "bert"});  // it runs now
  const Ran ran = weir({"jobs", "--watch"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(
      ran.out,
      "id  name  phase    GPUs  done  deadline              promise   finish\n"
      "--  ----  -------  ----  ----  --------------------  --------  --------------------\n"
      " 1  bert  running     2  25 %  2026-11-15T12:00:00Z  promised  2026-11-15T11:30:00Z\n");
  EXPECT_EQ(weir({"jobs", "--phase", "failed"}).out, "no jobs\n");
  EXPECT_EQ(weir({"jobs", "--phase", "lost"}).exit_code, 2);
  EXPECT_EQ(Json::parse(weir({"jobs", "--json"}).out)["jobs"][0]["name"], "bert");
}

TEST_F(Client, ListsMoreJobsThanAPageHas) {
  server_.add_old_jobs(2'500);
  const Json jobs = Json::parse(weir({"jobs", "--limit", "2300", "--json"}).out)["jobs"];
  ASSERT_EQ(jobs.size(), 2'300U);
  EXPECT_EQ(jobs[0]["id"], 2'500);
  EXPECT_EQ(jobs[2'299]["id"], 201);
  EXPECT_EQ(server_.calls().size(), 3U);
}

TEST_F(Client, ShowsAndCancelsAJob) {
  weir({"submit", file("name: bert\ncommand: [x]\nduration: 1h\ndeadline: 4h\n")});
  const Ran shown = weir({"job", "1"});
  EXPECT_THAT(shown.out,
              AllOf(HasSubstr("name              bert\n"), HasSubstr("phase             running\n"),
                    HasSubstr("deadline          2026-11-15T12:00:00Z (hard)\n"),
                    HasSubstr("done              50 (25 %)\n")));
  EXPECT_EQ(Json::parse(weir({"job", "bert", "--json"}).out)["id"], 1);
  const Ran cancelled = weir({"cancel", "nobody", "bert"});
  EXPECT_EQ(cancelled.exit_code, 2) << "one of them does not exist";
  EXPECT_THAT(cancelled.out, HasSubstr("job 1 (bert) cancelled"));
}

TEST_F(Client, ShowsLogs) {
  weir({"submit", file("name: bert\ncommand: [x]\n")});
  EXPECT_EQ(weir({"logs", "bert"}).out, "one\n");
  EXPECT_EQ(weir({"logs", "bert", "--tail", "3"}).out, "ne\n");
  EXPECT_EQ(weir({"logs", "bert", "--generation", "2"}).out, "two\n");
  const Ran other = weir({"logs", "bert", "--rank", "5"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("there is no such log"));
}

TEST_F(Client, FollowsLogsIntoTheNextRun) {
  weir({"submit", file("name: bert\ncommand: [x]\n")});
  const Ran ran = weir({"logs", "bert", "-f"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, "one\ntwo\n");
}

TEST_F(Client, ListsAndDrainsNodes) {
  const Ran ran = weir({"nodes"});
  EXPECT_THAT(ran.out, AllOf(HasSubstr("gpu-1  T4    T4      8       3  up      bert 0-1+4\n"),
                             HasSubstr("gpu-2  T4            8       0  closed\n")));
  EXPECT_EQ(weir({"drain", "gpu 1"}).out,
            "gpu 1 is being emptied\nthe promise of job 7 is at risk\n");
  EXPECT_EQ(weir({"drain", "gpu 1", "--undo"}).out, "gpu 1 is used again, as before\n");
  EXPECT_EQ(weir({"drain", "gpu 9"}).exit_code, 2);
  EXPECT_EQ(Json::parse(weir({"nodes", "--json"}).out)["nodes"].size(), 2U);
}

TEST_F(Client, TopPrintsOnePictureWithoutATerminal) {
  weir({"submit", file("jobs:\n- {name: a, command: [x]}\n- {name: b, command: [x]}\n")});
  weir({"job", "a"});
  const Ran ran = weir({"top"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("3 of 8 in use, 1 of 2 nodes up\n"), HasSubstr("1 running, 1 queued"),
                    HasSubstr("bert 0-1+4"), Not(HasSubstr("\x1b"))));
}

TEST(ClientTop, FitsTheScreen) {
  Json jobs = Json::array();
  for (int i = 0; i < 100; ++i) jobs.push_back({{"id", i}, {"name", "a"}, {"phase", "running"}});
  const std::string text = top_text({{"nodes", Json::array()}}, jobs, 24);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 23);
  EXPECT_THAT(text, HasSubstr("more jobs\n"));
}

TEST_F(Client, ExplainsAJobOfTheServer) {
  weir({"submit", file("name: bert\ncommand: [x]\niterations: 200\ndeadline: 4h\n")});
  formats::RecordLogHeader header;
  header.pools = {{"T4", 1, 8, 8, {}}};
  header.policy = "weir";
  std::string text;
  formats::append_header_line(text, header, "0.1.0");
  TrainingSpec spec;
  spec.name = "bert";
  spec.curve = {"bert", 0};
  spec.iterations = 200;
  spec.deadline_kind = DeadlineKind::hard;
  const Time came{from_seconds(1'794'729'600)};
  spec.deadline = came + from_seconds(4 * 3600);
  const auto add = [&](std::uint64_t seq, const Record& record) {
    text += "\n";
    formats::append_record_line(text, record, seq, "0.1.0");
  };
  add(7,
      {came,
       {},
       TrainingAccepted{JobId{1}, std::make_shared<const TrainingSpec>(spec), PoolIndex{0}, 10}});
  // Records of other jobs lie between.
  add(12, {came,
           {ReasonCode::too_slow_alone, 0},
           PromiseRefused{JobId{1}, came + from_seconds(6 * 3600)}});
  server_.set_records(text + "\n");
  const Ran ran = weir({"explain", "bert"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("bert"), HasSubstr("even with the pool to itself")));
  EXPECT_EQ(Json::parse(weir({"explain", "1", "--json"}).out)["explain"]["answer"], "refused");
  EXPECT_THAT(weir({"explain", "bert", "--log", "x.jsonl"}).err,
              HasSubstr("expected no such option beside a job of the server"));
  server_.set_records("nonsense\n");
  EXPECT_EQ(weir({"explain", "bert"}).exit_code, 1);
}

}  // namespace
}  // namespace weir::cli
