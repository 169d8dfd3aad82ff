// SPDX-License-Identifier: Apache-2.0
#include "formats/comparison_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kTrace = "traces:\n  - {jobs: a.csv, cluster: 2x8xA100, curves: c}\n";

ComparisonSurroundings surroundings() {
  return {"dir", "/data", {"weir", "elasticflow", "edf"}};
}

Result<Comparison> comparison_from(std::string_view text, const ComparisonSurroundings& around) {
  return read_comparison(*InputFile::from_memory("dir/c.yaml", text), around);
}
Result<Comparison> comparison_from(std::string_view text) {
  return comparison_from(text, surroundings());
}

std::string mistakes_in(std::string_view text) {
  return mistakes_of(comparison_from(text));
}

TEST(ComparisonYaml, ReadsTracesPoliciesAndSeeds) {
  const auto comparison = comparison_from(
      "traces:\n"
      "  - jobs: ${WEIR_DATA}/ef/cluster10.csv.gz\n"
      "    cluster: 32x8xA100\n"
      "    curves: ${WEIR_DATA}/ef/a100\n"
      "    slot: 60s\n"
      "  - {jobs: ../night.yaml, cluster: lab.yaml, curves: /abs/curves}\n"
      "policies: [weir, edf]\n"
      "seeds: [42, 7]\n");
  ASSERT_TRUE(comparison) << mistakes_of(comparison);
  ASSERT_EQ(comparison->traces.size(), 2U);
  EXPECT_EQ(comparison->traces[0], (ComparedTrace{"/data/ef/cluster10.csv.gz", "32x8xA100",
                                                  "/data/ef/a100", from_seconds(60), 2}));
  EXPECT_EQ(comparison->traces[1],
            (ComparedTrace{"dir/../night.yaml", "dir/lab.yaml", "/abs/curves", std::nullopt, 6}));
  EXPECT_THAT(comparison->policies, ElementsAre("weir", "edf"));
  EXPECT_THAT(comparison->seeds, ElementsAre(42U, 7U));
}

TEST(ComparisonYaml, WithoutThemAllPoliciesAndOneRunAreMeant) {
  const auto comparison = comparison_from(kTrace);
  ASSERT_TRUE(comparison) << mistakes_of(comparison);
  EXPECT_TRUE(comparison->policies.empty());
  EXPECT_TRUE(comparison->seeds.empty());
  EXPECT_TRUE(comparison_from(kTrace + "policies: all\n")->policies.empty());
}

TEST(ComparisonYaml, JobsThatMayBePlannedNeedNoCurves) {
  const auto comparison = comparison_from(
      "gpu_file: ../gpus.yaml\ntraces:\n  - {jobs: night.yaml, cluster: 2x8xA100}\n");
  ASSERT_TRUE(comparison) << mistakes_of(comparison);
  EXPECT_EQ(comparison->traces[0].curves, "");
  EXPECT_EQ(comparison->gpu_file, "dir/../gpus.yaml");
  EXPECT_EQ(comparison_from(kTrace)->gpu_file, "");
  EXPECT_THAT(mistakes_in("traces:\n  - {jobs: t.csv.gz, cluster: 2x8xA100}\n"),
              HasSubstr("dir/c.yaml:2: curves is missing"));
  EXPECT_THAT(mistakes_in(kTrace + "gpu_file: []\n"),
              HasSubstr("expected the path of a file of GPU types"));
}

TEST(ComparisonYaml, TheDataFolderItselfIsAPathToo) {
  const auto comparison =
      comparison_from("traces:\n  - {jobs: a.csv, cluster: 2x2xT4, curves: \"${WEIR_DATA}\"}\n");
  ASSERT_TRUE(comparison) << mistakes_of(comparison);
  EXPECT_EQ(comparison->traces[0].curves.lexically_normal().string().substr(0, 5), "/data");
}

TEST(ComparisonYaml, TellsAllMistakesWithTheirLines) {
  const std::string mistakes = mistakes_in(
      "traces:\n"
      "  - {jobs: a.csv, cluster: 2x8xA100}\n"
      "  - {job: a.csv, cluster: 2x8xA100, curves: c, slot: soon}\n"
      "  - nonsense\n"
      "policies: [wier, weir, weir]\n"
      "seeds: [1, -2, 1]\n");
  EXPECT_THAT(mistakes,
              HasSubstr("dir/c.yaml:2: curves is missing, expected the path of a folder"));
  EXPECT_THAT(mistakes, HasSubstr("dir/c.yaml:3: "));
  EXPECT_THAT(mistakes, HasSubstr("job"));
  EXPECT_THAT(mistakes, HasSubstr("slot is \"soon\", expected a duration"));
  EXPECT_THAT(mistakes, HasSubstr("dir/c.yaml:4: "));
  EXPECT_THAT(mistakes, HasSubstr("policy is \"wier\", expected one of weir, elasticflow, edf"));
  EXPECT_THAT(mistakes, HasSubstr("did you mean weir?"));
  EXPECT_THAT(mistakes, HasSubstr("policy is \"weir\", expected each policy once"));
  EXPECT_THAT(mistakes, HasSubstr("dir/c.yaml:6: seed is \"-2\", expected a whole number"));
  EXPECT_THAT(mistakes, HasSubstr("seed is \"1\", expected each seed once"));
}

TEST(ComparisonYaml, SaysWhatAFileHasToHave) {
  for (const char* text :
       {"traces: []\n", "traces: night.yaml\n", "policies: [weir]\n", "traces:\n"})
    EXPECT_THAT(mistakes_in(text), HasSubstr("expected a list of 1 to 1000 traces")) << text;
  EXPECT_THAT(mistakes_in(kTrace + "policies: weir\n"), HasSubstr("a list with some of weir"));
  EXPECT_THAT(mistakes_in(kTrace + "policies: []\n"), HasSubstr("a list with some of weir"));
  EXPECT_THAT(mistakes_in(kTrace + "policies: [[weir]]\n"), HasSubstr("policy is \"a list\""));
  EXPECT_THAT(mistakes_in(kTrace + "seeds: 42\n"), HasSubstr("a list of 1 to 1000 whole numbers"));
  EXPECT_THAT(mistakes_in(kTrace + "speed: 1\n"), HasSubstr("speed"));
  EXPECT_FALSE(comparison_from("").has_value());
}

TEST(ComparisonYaml, KnowsOneVariableAndOnlyAtTheBeginning) {
  const auto with_jobs = [](const std::string& jobs) {
    return "traces:\n  - {jobs: \"" + jobs + "\", cluster: 1x1xT4, curves: c}\n";
  };
  for (const char* path : {"${HOME}/a.csv", "a/${WEIR_DATA}/b.csv", "${WEIR_DATA}x/a.csv",
                           "${WEIR_DATA}/${WEIR_DATA}/a.csv"})
    EXPECT_THAT(mistakes_in(with_jobs(path)), HasSubstr("only ${WEIR_DATA} stands for")) << path;
  ComparisonSurroundings without_data = surroundings();
  without_data.data.reset();
  EXPECT_THAT(mistakes_of(comparison_from(with_jobs("${WEIR_DATA}/a.csv"), without_data)),
              HasSubstr("dir/c.yaml:2: jobs is \"${WEIR_DATA}/a.csv\", expected a path without "
                        "${WEIR_DATA}, or the variable WEIR_DATA set"));
  EXPECT_TRUE(comparison_from(with_jobs("$a/b$.csv"), without_data).has_value());
}

TEST(ComparisonYaml, AFileIsReadFromItsOwnFolder) {
  const TemporaryFolder folder;
  const auto path = folder.write("c.yaml", kTrace);
  const auto comparison = read_comparison(path, {"weir"});
  ASSERT_TRUE(comparison) << mistakes_of(comparison);
  EXPECT_EQ(comparison->traces[0].jobs, folder.path() / "a.csv");
  EXPECT_FALSE(read_comparison(folder.path() / "none.yaml", {"weir"}).has_value());
}

RC_GTEST_PROP(ComparisonYaml, AcceptsEverySubsetOfPoliciesAndAnySeedsInTheirOrder, ()) {
  std::vector<std::string> policies = surroundings().policies;
  std::rotate(policies.begin(), policies.begin() + *rc::gen::inRange(0, 3), policies.end());
  policies.resize(*rc::gen::inRange<std::size_t>(0, 4));
  const auto drawn = *rc::gen::arbitrary<std::set<std::uint32_t>>();
  const std::vector<std::uint32_t> seeds(drawn.rbegin(), drawn.rend());
  RC_PRE(seeds.size() <= 1000U);
  std::string text = kTrace;
  const auto list = [&](const char* key, const auto& values, auto to_text) {
    if (values.empty()) return;
    text += std::string{key} + ":\n";
    for (const auto& value : values) text += "  - " + to_text(value) + "\n";
  };
  list("policies", policies, [](const std::string& name) { return name; });
  list("seeds", seeds, [](std::uint32_t seed) { return std::to_string(seed); });
  const auto comparison = comparison_from(text);
  RC_ASSERT(comparison.has_value());
  RC_ASSERT(comparison->policies == policies);
  RC_ASSERT(comparison->seeds == std::vector<std::uint64_t>(seeds.begin(), seeds.end()));
}

}  // namespace
}  // namespace weir::formats
