// SPDX-License-Identifier: Apache-2.0
#include "cli/run.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "cli/command_table.h"
#include "cli/help_text.h"
#include "cli/run_testing.h"

namespace weir::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Weir, WithoutWordsSaysWhatToTry) {
  const Ran ran = weir({});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.out, HasSubstr("weir serve"));
  EXPECT_THAT(ran.out, HasSubstr("trace describe"));
  EXPECT_EQ(weir({"--help"}).out, ran.out);
  EXPECT_EQ(weir({"help"}).out, ran.out);
}

TEST(Weir, TellsItsVersion) {
  EXPECT_THAT(weir({"--version"}).out, StartsWith("weir 0."));
}

TEST(Weir, HelpOfACommandTeachesWithExamples) {
  const Ran ran = weir({"simulate", "--help"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.out, HasSubstr("Usage: weir simulate [options]"));
  EXPECT_THAT(ran.out, HasSubstr("Examples"));
  EXPECT_THAT(ran.out, HasSubstr("--seeds N,N..N"));
  EXPECT_THAT(ran.out, HasSubstr("Default: 42..46."));
  EXPECT_EQ(weir({"help", "simulate"}).out, ran.out);
  EXPECT_THAT(weir({"help", "trace", "convert"}).out, HasSubstr("--out FILE"));
}

TEST(Weir, AMisspeltCommandIsAnsweredWithTheNearest) {
  const Ran ran = weir({"simulat"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err,
              HasSubstr("command is \"simulat\", expected one of serve, observe, run, submit,"));
  EXPECT_THAT(ran.err, HasSubstr("did you mean simulate?"));
  EXPECT_EQ(ran.out, "");
}

TEST(Weir, AServerThatSchedulesIsNotTakenForOneThatObserves) {
  const Ran ran = weir({"serve", "--mode", "observe", "--kubeconfig", "lab.yaml", "--port", "0"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--mode is \"observe\", expected --engine kubernetes beside it"));
  EXPECT_THAT(ran.err, HasSubstr("--kubeconfig is \"lab.yaml\""));
  const Ran other =
      weir({"serve", "--engine", "kubernetes", "--mode", "schedule", "--policy", "weir"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("--mode is \"schedule\", expected observe"));
  EXPECT_THAT(other.err, HasSubstr("--policy"));
}

TEST(Weir, TraceNeedsASecondWord) {
  EXPECT_EQ(weir({"trace"}).err,
            "the command after trace is missing, expected one of export, replay, describe, "
            "convert, observed, synth\n");
  EXPECT_THAT(weir({"trace", "descibe", "x"}).err, HasSubstr("did you mean describe?"));
}

TEST(Weir, AGroupOfCommandsIsExplained) {
  std::set<std::string> groups;
  for (const Command& command : commands()) {
    const std::string& name = command.spec.name;
    const std::string first = name.substr(0, name.find(' '));
    if (find_command(first) == nullptr) groups.insert(first);
  }
  EXPECT_THAT(groups, testing::IsSupersetOf({"kernels", "trace", "network", "carbon", "token"}));
  for (const std::string& group : groups) {
    const Ran ran = weir({group, "--help"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    for (const Command& command : commands()) {
      const std::string& name = command.spec.name;
      if (!name.starts_with(group + " ")) {
        EXPECT_THAT(ran.out, Not(HasSubstr(command.spec.summary)));
        continue;
      }
      EXPECT_THAT(ran.out, testing::ContainsRegex("\n  " + name + " +[A-Z]"));
      EXPECT_THAT(ran.out, HasSubstr("  " + command.spec.summary + "\n"));
    }
    EXPECT_EQ(weir({group, "-h"}).out, ran.out);
    EXPECT_EQ(weir({"help", group}).out, ran.out);
    EXPECT_EQ(weir({group}).exit_code, 2);
  }
  // Commands that have others below them are explained themselves.
  EXPECT_EQ(weir({"tenants", "--help"}).out, command_help(find_command("tenants")->spec));
}

TEST(Weir, AllMistakesOfACommandLineAreToldAtOnce) {
  const Ran ran =
      weir({"simulate", "stray", "--polcy", "fgd", "--seeds", "x", "--policy", "fdg", "--threads"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("word is \"stray\""));
  EXPECT_THAT(
      ran.err,
      HasSubstr(
          "option is \"--polcy\", expected an option of `weir simulate`; did you mean --policy?"));
  EXPECT_THAT(ran.err, HasSubstr("--seeds is \"x\""));
  EXPECT_THAT(ran.err, HasSubstr("--policy is \"fdg\", expected some of random, dot-product"));
  EXPECT_THAT(ran.err, HasSubstr("did you mean fgd?"));
  EXPECT_THAT(ran.err, HasSubstr("--threads is missing, expected a whole number 0..1024"));
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 5);
  EXPECT_EQ(ran.out, "");
}

TEST(Weir, ListsThePolicies) {
  const Ran text = weir({"policies"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, HasSubstr("best-fit"));
  const auto json = nlohmann::json::parse(weir({"policies", "--json"}).out);
  EXPECT_EQ(json.at("policies").at(0).at("name"), "random");
  EXPECT_TRUE(json["policies"][0].contains("summary"));
  EXPECT_TRUE(json["policies"][0].contains("source"));
}

TEST(Weir, AFullDiskIsAFailure) {
  std::ostringstream out;
  std::ostringstream err;
  out.setstate(std::ios::badbit);
  Console console{out, err, false};
  EXPECT_EQ(run(std::vector<std::string>{"policies"}, console), 1);
  EXPECT_EQ(err.str(), "weir: standard output cannot be written\n");
}

}  // namespace
}  // namespace weir::cli
