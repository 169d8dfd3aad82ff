// SPDX-License-Identifier: Apache-2.0
#include "report/overlap_report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "plan/overlap/two_choices_testing.h"

namespace weir::report {
namespace {

using plan::two_choices;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::size_t kFew = 0;
constexpr std::size_t kMany = 1;

struct Advised {
  Advised(predict::OverlapStep step_given, std::size_t default_choice)
      : step{std::move(step_given)}, advice{plan::advise_overlap(step, default_choice)} {}

  OverlapView view(std::optional<int> nodes = {}) const {
    return {"a step", step, advice, {}, nodes};
  }
  nlohmann::json nccl() const { return nlohmann::json::parse(*overlap_json(view()))["nccl"]; }

  predict::OverlapStep step;
  plan::OverlapAdvice advice;
};

// All is hidden either way, and few CTAs slow nothing down.
Advised fewer_are_better() {
  return {two_choices({{2, 3}, {10, 3}}, 2, 0.5), kMany};
}
// All is sent after computing.
Advised more_are_better() {
  return {two_choices({{20, 5}}, 2, 0.5), kFew};
}
// The small group is hidden, the large one comes last.
Advised each_its_own(std::size_t default_choice) {
  return {two_choices({{2, 3}, {20, 30}}, 3, 0.2), default_choice};
}

TEST(OverlapReport, FewerCtasThanTheDefaultAreAMostOnly) {
  const Advised advised = fewer_are_better();
  EXPECT_THAT(nccl_settings(advised.view()),
              AllOf(HasSubstr("NCCL_MAX_CTAS=2,"), Not(HasSubstr("NCCL_MIN_CTAS"))));
  EXPECT_EQ(advised.nccl()["environment"], (nlohmann::json{{"NCCL_MAX_CTAS", "2"}}));
  EXPECT_EQ(advised.nccl()["config"], (nlohmann::json{{"minCTAs", 1}, {"maxCTAs", 2}}));
}

TEST(OverlapReport, MoreCtasThanTheDefaultMustBeALeastToo) {
  const Advised advised = more_are_better();
  EXPECT_THAT(nccl_settings(advised.view()), HasSubstr("NCCL_MIN_CTAS=8 and NCCL_MAX_CTAS=8"));
  EXPECT_EQ(advised.nccl()["environment"],
            (nlohmann::json{{"NCCL_MIN_CTAS", "8"}, {"NCCL_MAX_CTAS", "8"}}));
  EXPECT_EQ(advised.nccl()["config"], (nlohmann::json{{"minCTAs", 8}, {"maxCTAs", 8}}));
}

TEST(OverlapReport, ATunersRulesChooseAmongWhatNcclMayTake) {
  const Advised advised = each_its_own(kMany);
  ASSERT_TRUE(advised.nccl()["use_tuner"]);
  EXPECT_EQ(advised.nccl()["config"], (nlohmann::json{{"minCTAs", 1}, {"maxCTAs", 8}}));
  EXPECT_THAT(nccl_settings(advised.view()),
              AllOf(HasSubstr("--tuner FILE"), HasSubstr("one channel to every call without a row"),
                    Not(HasSubstr("NCCL_MIN_CTAS"))));
  const Advised raised = each_its_own(kFew);
  EXPECT_EQ(raised.nccl()["config"], (nlohmann::json{{"minCTAs", 8}, {"maxCTAs", 8}}));
  EXPECT_THAT(nccl_settings(raised.view()), HasSubstr(", and NCCL_MIN_CTAS=8."));
}

TEST(OverlapReport, ATunersTableIsForAnyNumberOfNodesUnlessOneIsSaid) {
  const Advised advised = each_its_own(kMany);
  EXPECT_EQ(tuner_csv(advised.view()),
            "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,"
            "numPipeOps,regBuff\n"
            "allreduce,3,3,ring,simple,2,-1,8,-1,-1\n"
            "allreduce,4,9223372036854775807,ring,simple,8,-1,8,-1,-1\n");
  EXPECT_THAT(tuner_csv(advised.view(2)), HasSubstr(",ring,simple,2,2,8,-1,-1\n"));
}

}  // namespace
}  // namespace weir::report
