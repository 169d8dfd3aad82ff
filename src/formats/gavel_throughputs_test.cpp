// SPDX-License-Identifier: Apache-2.0
#include "formats/gavel_throughputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<std::vector<CurveBook>> gavel_from(std::string_view text) {
  return read_gavel_throughputs(*InputFile::from_memory("dir/t.json", text));
}

TEST(GavelThroughputs, AreTheRatesOfJobsAlone) {
  const auto books = gavel_from(R"json({
    "k80": {
      "('ResNet-18 (batch size 16)', 2)": {"('A3C', 1)": [1, [2, {"null": 3}]], "null": 8.7600009},
      "('ResNet-18 (batch size 16)', 1)": {"null": 5, "('LM (batch size 5)', 1)": {"null": 9}},
      "('ResNet-50 (batch size 128)', 2)": {"null": 0.0},
      "('A3C', 1)": {"null": 3.4e-1}
    },
    "v100_unconsolidated": {"('It's (odd)', 1)": {"null": 1}}
  })json");
  ASSERT_TRUE(books) << mistakes_of(books);
  ASSERT_EQ(books->size(), 2U);
  const CurveBook& k80 = (*books)[0];
  EXPECT_EQ(k80.gpu, "K80");
  ASSERT_EQ(k80.curves.size(), 2U);  // nothing fits for ResNet-50
  EXPECT_THAT(k80.find({"ResNet-18", 16})->measured(),
              ElementsAre(CurvePoint{1, IterationRate{5'000'000}},
                          CurvePoint{2, IterationRate{8'760'000}}));
  EXPECT_EQ(k80.find({"A3C", 0})->rate_at(1), IterationRate{340'000});
  EXPECT_EQ((*books)[1].gpu, "V100_unconsolidated");
  EXPECT_NE((*books)[1].find({"It's (odd)", 0}), nullptr);
}

TEST(GavelThroughputs, ReportEveryMistakeAtOnce) {
  EXPECT_EQ(mistakes_of(gavel_from(R"json({
    "k80": {
      "ResNet": {"null": 1},
      "('A (batch size 0)', 1)": {"null": 1},
      "('A', 0)": {"null": 1},
      "('A', 1)": {"null": -1},
      "('A', 2)": {"null": "fast"},
      "('A', 3)": {"null": [1]},
      "('A', 4)": {"alone": 1},
      "('A', 5)": 5,
      "('A', 6)": {"null": 0.0000001},
      "('A', 8)": {"null": 1},
      "('A', 8)": {"null": 1}
    },
    "p100": [1, 2],
    "p100": {}
  })json")),
            "dir/t.json: job of k80 is \"ResNet\", expected ('Model (batch size 16)', 2) or "
            "('Model', 2): a model and a number of GPUs\n"
            "dir/t.json: job of k80 is \"('A (batch size 0)', 1)\", expected ('Model (batch size "
            "16)', 2) or ('Model', 2): a model and a number of GPUs\n"
            "dir/t.json: job of k80 is \"('A', 0)\", expected ('Model (batch size 16)', 2) or "
            "('Model', 2): a model and a number of GPUs\n"
            "dir/t.json: k80: ('A', 1): null is \"-1\", expected iterations per second from "
            "0.000001 to 1000000, or 0 where it does not fit\n"
            "dir/t.json: k80: ('A', 2): null is \"text\", expected iterations per second from "
            "0.000001 to 1000000\n"
            "dir/t.json: k80: ('A', 3): null is \"a list\", expected iterations per second from "
            "0.000001 to 1000000\n"
            "dir/t.json: k80: ('A', 4) is missing, expected the rate alone, such as \"null\": "
            "4.79\n"
            "dir/t.json: k80: ('A', 5) is \"5\", expected a map with the rate alone, such as "
            "{\"null\": 4.79}\n"
            "dir/t.json: k80: ('A', 6): null is \"0.0000001\", expected iterations per second from "
            "0.000001 to 1000000, or 0 where it does not fit\n"
            "dir/t.json: k80: ('A', 8): null is \"1\", expected each job once\n"
            "dir/t.json: p100 is \"a list\", expected a map from jobs to their rates\n"
            "dir/t.json: kind of worker is \"p100\", expected each kind once\n");
  EXPECT_EQ(mistakes_of(gavel_from(R"json({"k80": {"('A', 1)": {"null": 0}}, "v100": {}})json")),
            "dir/t.json: k80 is \"without a rate\", expected at least one positive rate\n"
            "dir/t.json: v100 is \"without a rate\", expected at least one positive rate\n");
}

TEST(GavelThroughputs, SayWhereTheJsonIsMalformed) {
  EXPECT_EQ(mistakes_of(gavel_from("{\n\"k80\": {\n,")),
            "dir/t.json:3: JSON is \"malformed here\", expected a JSON document\n");
  EXPECT_EQ(mistakes_of(gavel_from("")),
            "dir/t.json:1: JSON is missing, expected a JSON document\n");
  EXPECT_EQ(mistakes_of(gavel_from("[]")),
            "dir/t.json: file is \"a list\", expected a map from kinds of worker to their jobs\n");
  EXPECT_EQ(mistakes_of(gavel_from("{}")),
            "dir/t.json: file is \"without workers\", expected at least one kind of worker, such "
            "as \"k80\": {...}\n");
  EXPECT_THAT(mistakes_of(gavel_from("{\"k\\u0007\": {}}")),
              HasSubstr("kind of worker is \"k\\x07\""));
}

TEST(GavelThroughputs, AreNotUpsetByDepth) {
  const std::string deep(100'000, '[');
  EXPECT_THAT(mistakes_of(gavel_from("{\"k80\": {\"('A', 1)\": {\"x\": " + deep)),
              HasSubstr("JSON is"));
}

}  // namespace
}  // namespace weir::formats
