// SPDX-License-Identifier: Apache-2.0
#include "formats/pollux_profiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kPlacementTable =
    "placement,local_bsz,step_time,sync_time\n"
    "1,4,0.4,0.1\n"
    "1,8,0.6,0.1\n"
    "2,4,0.5,0.2\n"
    "2,8,0.7,0.2\n"
    "44,4,0.8,0.4\n";

std::string mistakes_in_placements(std::string_view text) {
  PolluxProfile profile;
  return mistakes_of(
      read_placements(*InputFile::from_memory("dir/bert_placements.csv", text), profile));
}
std::string mistakes_in_scalability(std::string_view text) {
  PolluxProfile profile;
  return mistakes_of(
      read_scalability(*InputFile::from_memory("dir/bert_scalability.csv", text), profile));
}

PolluxProfile a_profile() {
  PolluxProfile profile;
  const auto read =
      read_placements(*InputFile::from_memory("bert_placements.csv", kPlacementTable), profile);
  EXPECT_TRUE(read) << mistakes_of(read);
  return profile;
}

TEST(PolluxProfile, HasMeasuredTimesAndALineBetweenThem) {
  const PolluxProfile profile = a_profile();
  EXPECT_EQ(profile.iteration_time({1}, 4), milliseconds{400});
  EXPECT_EQ(profile.iteration_time({1}, 5), milliseconds{450});
  EXPECT_EQ(profile.iteration_time({1}, 8), milliseconds{600});
  EXPECT_EQ(profile.iteration_time({2}, 16), milliseconds{700});
}

// Two steps of eight; the first does not wait for anybody.
TEST(PolluxProfile, ALargeBatchIsTakenInSeveralSteps) {
  EXPECT_EQ(a_profile().iteration_time({1}, 16), milliseconds{600 + 500});
  // Twelve are two steps of six: half a second each, of which a tenth is waiting.
  EXPECT_EQ(a_profile().iteration_time({1}, 12), milliseconds{500 + 400});
}

TEST(PolluxProfile, SaysNothingAboutWhatWasNotMeasured) {
  const PolluxProfile profile = a_profile();
  EXPECT_EQ(profile.iteration_time({1}, 3), std::nullopt);
  EXPECT_EQ(profile.iteration_time({1}, 0), std::nullopt);
  EXPECT_EQ(profile.iteration_time({3}, 12), std::nullopt);
  EXPECT_EQ(PolluxProfile{}.iteration_time({1}, 4), std::nullopt);
}

TEST(PolluxProfile, GivesACurveAtAFixedBatch) {
  EXPECT_THAT(
      a_profile().curve_at(16).measured(),
      ElementsAre(CurvePoint{1, IterationRate{909'090}}, CurvePoint{2, IterationRate{1'428'571}}));
  EXPECT_THAT(a_profile().curve_at(32).measured(), testing::SizeIs(3));  // 44 holds 32
}

// On two GPUs, 16 samples in 0.7 seconds: twice the user's batch, of which (8 + 8) / (8 + 16) count.
TEST(PolluxProfile, AnAdaptiveCurveTakesTheBestBatchForEachSize) {
  const Curve curve = a_profile().adaptive_curve({8, 8}, 16);
  EXPECT_EQ(curve.rate_at(2), IterationRate{2'000'000});  // 1 / 0.5: the user's batch is better
  EXPECT_EQ(a_profile().adaptive_curve({8, 1'000'000}, 16).rate_at(2), IterationRate{2'857'119});
  EXPECT_EQ(a_profile().adaptive_curve({8, 1'000'000}, 15).rate_at(2), IterationRate{2'000'000});
  // The user's eight are too few for eight GPUs; with 32 they can be used.
  EXPECT_EQ(a_profile().curve_at(8).rate_at(8), IterationRate{0});
  EXPECT_GT(a_profile().adaptive_curve({8, 1'000'000}, 32).rate_at(8), IterationRate{0});
}

RC_GTEST_PROP(PolluxProfile, AnAdaptiveCurveIsNeverBelowTheFixedOne, ()) {
  PolluxProfile profile;
  for (const std::int32_t gpus : {1, 2, 4}) {
    for (const std::int64_t local : {4, 8, 16}) {
      const milliseconds step{*rc::gen::inRange(1, 1000)};
      profile.add({gpus}, local, {step, step / *rc::gen::inRange(1, 10)});
    }
  }
  const auto batch = *rc::gen::inRange<std::int64_t>(4, 100);
  const Curve fixed = profile.curve_at(batch);
  const Curve adaptive =
      profile.adaptive_curve({batch, *rc::gen::inRange<std::int64_t>(0, 10'000)}, 10 * batch);
  for (const CurvePoint& point : fixed.measured())
    RC_ASSERT(adaptive.rate_at(point.gpus) >= point.rate);
}

TEST(PolluxProfiles, ReportEveryMistakeAtOnce) {
  EXPECT_EQ(
      mistakes_in_placements("placement,local_bsz,step_time,sync_time\n"
                             "x4,4,0.5,0.1\n"
                             "4,0,0.5,0.1\n"
                             "4,4,0,0\n"
                             "4,4,fast,-1\n"
                             "4,4,0.5,0.6\n"
                             "4,4,0.5,0.1\n"
                             "4,4,0.5,0.1\n"),
      "dir/bert_placements.csv:2: placement is \"x4\", expected a digit from 1 to 9 for each "
      "node, such as 44\n"
      "dir/bert_placements.csv:3: local_bsz is \"0\", expected an integer from 1 to 1000000\n"
      "dir/bert_placements.csv:4: step_time is \"0\", expected seconds above 0, up to 1000000\n"
      "dir/bert_placements.csv:5: step_time is \"fast\", expected seconds above 0, up to "
      "1000000\n"
      "dir/bert_placements.csv:5: sync_time is \"-1\", expected seconds from 0 to 1000000\n"
      "dir/bert_placements.csv:6: sync_time is \"0.6\", expected no more than step_time\n"
      "dir/bert_placements.csv:8: local_bsz is \"4\", expected another local batch: these "
      "replicas have it already\n");
}

TEST(PolluxProfiles, CheckNodesAndReplicas) {
  EXPECT_EQ(mistakes_in_scalability("num_nodes,num_replicas,local_bsz,step_time,sync_time\n"
                                    "0,8,4,0.5,0.1\n"
                                    "8,7,4,0.5,0.1\n"),
            "dir/bert_scalability.csv:2: num_nodes is \"0\", expected an integer from 1 to 65536\n"
            "dir/bert_scalability.csv:3: num_replicas is \"7\", expected an integer from 8 to "
            "65536\n");
}

TEST(PolluxProfiles, NameMissingColumns) {
  EXPECT_THAT(mistakes_in_placements("placement,local_bsz,step_time\n1,4,0.5\n"),
              HasSubstr("sync_time is missing"));
  EXPECT_NE(mistakes_in_placements(""), "");
}

TEST(PolluxProfiles, RejectNumbersThatAreNone) {
  for (const char* text : {"nan", "inf", "1e400", "0.5s", "", " 1"}) {
    EXPECT_THAT(mistakes_in_placements(
                    std::string{"placement,local_bsz,step_time,sync_time\n1,4,"} + text + ",0\n"),
                HasSubstr("step_time"))
        << text;
  }
}

TEST(PolluxProfiles, AreAllThePairsOfAFolder) {
  const TemporaryFolder folder;
  folder.write("bert_placements.csv", kPlacementTable);
  folder.write("bert_scalability.csv",
               "num_nodes,num_replicas,local_bsz,step_time,sync_time\n4,16,4,1,0.5\n3,4,4,2,1\n");
  folder.write("gpt2_placements.csv.gz", gzip(kPlacementTable));
  folder.write("README.md", "not a table");
  const auto profiles = read_pollux_profiles(folder.path());
  ASSERT_TRUE(profiles) << mistakes_of(profiles);
  ASSERT_EQ(profiles->size(), 2U);
  const PolluxProfile& bert = profiles->at("bert");
  EXPECT_EQ(bert.iteration_time({4, 4, 4, 4}, 64), milliseconds{1000});
  EXPECT_EQ(bert.iteration_time({2, 1, 1}, 16), milliseconds{2000});
  EXPECT_EQ(bert.placement_count(), 5U);
  EXPECT_EQ(profiles->at("gpt2").placement_count(), 3U);
}

TEST(PolluxProfiles, SayWhatIsWrongWithTheFolder) {
  const TemporaryFolder folder;
  EXPECT_THAT(mistakes_of(read_pollux_profiles(folder.path() / "none")), HasSubstr("not a folder"));
  EXPECT_THAT(mistakes_of(read_pollux_profiles(folder.path())),
              HasSubstr("without any _placements.csv"));
  folder.write("bert_placements.csv", "placement\n");
  folder.write("gpt2_placements.csv", "placement,local_bsz,step_time,sync_time\n0,4,1,1\n");
  const std::string mistakes = mistakes_of(read_pollux_profiles(folder.path()));
  EXPECT_THAT(mistakes, HasSubstr("bert_placements.csv"));
  EXPECT_THAT(mistakes, HasSubstr("gpt2_placements.csv"));
}

}  // namespace
}  // namespace weir::formats
