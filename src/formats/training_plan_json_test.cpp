// SPDX-License-Identifier: Apache-2.0
#include "formats/training_plan_json.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <nlohmann/json.hpp>

#include "formats/json_text.h"
#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

using testing::HasSubstr;

Result<PlanDocument> plan_from(std::string_view text) {
  return read_plan_json(*InputFile::from_memory("plan.json", text));
}

// Two stages of 3 and 2 operators on 1 and 2 GPUs; `second` replaces parts of the second.
constexpr std::string_view kFirst =
    R"({"ops":[0,3],"gpus":1,"tp":[[1,3]],"dp":[[1,3]],"dim":[[0,3]],"recompute":[[0,1],[1,2]]})";
constexpr std::string_view kSecond =
    R"({"ops":[3,5],"gpus":2,"tp":[[2,1],[1,1]],"dp":[[1,1],[2,1]],"dim":[[1,1],[0,1]],"recompute":[[0,2]]})";

std::string with_stages(std::string_view stages) {
  return fmt::format(R"({{"batch":8,"microbatch":2,
"stages":[{}]}})",
                     stages);
}

std::string replaced(std::string_view text, std::string_view what, std::string_view by) {
  std::string result{text};
  const std::size_t at = result.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return result.replace(at, what.size(), by);
}

// The mistakes when a part of the second stage is another.
std::string mistakes_with(std::string_view what, std::string_view by) {
  return mistakes_of(
      plan_from(with_stages(fmt::format("{},\n{}", kFirst, replaced(kSecond, what, by)))));
}

constexpr std::string_view kArtifact =
    R"({"model_name":"gpt","model_size":"1_3B","num_layers":24,"global_batch_size":8,"micro_batch_size":2,
"num_stages":2,"num_gpus":[1,2],"num_ops_in_each_stage":[3,2],
"tp_rle":[[[1,3]],[[2,1],[1,1]]],"dp_rle":[[[1,3]],[[1,1],[2,1]]],
"dim_rle":[[[0,3]],[[1,1],[0,1]]],"rc_rle":[[[0,1],[1,2]],[[0,2]]],
"profile_db":"miniset","memory_limit_mb":12000,"predicted_ms":1.5})";

constexpr std::string_view kArtifactLists =
    R"({"global_batch_size":8,"micro_batch_size":2,"num_layers":[3,4,6,3],
"num_gpus":[1,2],"num_ops_in_each_stage":[3,2],
"model_parallel_size_of_each_op":[[1,1,1],[2,1]],"data_parallel_size_of_each_op":[[1,1,1],[1,2]],
"algo_of_each_op":[[0,0,0],[1,0]],"recompute_ops":[[0,1,1],[0,0]]})";

TrainingPlan small_plan() {
  return {8,
          2,
          {{1, {{1, 1, 0, false}, {1, 1, 0, true}, {1, 1, 0, true}}},
           {2, {{2, 1, 1, false}, {1, 2, 0, false}}}}};
}

TEST(PlanJson, AllThreeFormsGiveTheSamePlan) {
  for (const std::string& text : {with_stages(fmt::format("{},{}", kFirst, kSecond)),
                                  std::string{kArtifact}, std::string{kArtifactLists}}) {
    const auto plan = plan_from(text);
    ASSERT_TRUE(plan) << mistakes_of(plan);
    EXPECT_EQ(plan->plan, small_plan()) << text;
  }
}

TEST(PlanJson, TheArtifactSaysWhereItsPlanComesFrom) {
  const auto plan = plan_from(kArtifact);
  ASSERT_TRUE(plan) << mistakes_of(plan);
  EXPECT_EQ(*plan, (PlanDocument{"miniset", "gpt", "1_3B", 24, {}, {}, 12000, "", small_plan()}));
  EXPECT_EQ(plan_from(kArtifactLists)->layers, std::nullopt);  // not one number
}

TEST(PlanJson, IsWrittenAsTheHeaderShows) {
  const PlanDocument document{"miniset", "gpt", "1_3B", 24, 1, 4, 12000, "published", small_plan()};
  EXPECT_EQ(plan_json(document).dump(),
            R"({"database":"miniset","model":"gpt","size":"1_3B","layers":24,"nodes":1,)"
            R"("gpus_per_node":4,"memory_limit_mib":12000,"cost_model":"published","batch":8,)"
            R"("microbatch":2,"stages":[)" +
                fmt::format("{},{}", kFirst, kSecond) + "]}");
  EXPECT_EQ(plan_header_json({}).dump(), R"({"batch":0,"microbatch":0})");
}

TEST(PlanJson, ResultsAndOtherKeysAreNotRead) {
  const std::string text =
      replaced(with_stages(replaced(kFirst, "}", R"(,"time_ms":"soon","memory_mib":[]})")),
               R"("batch")", R"("predicted_ms":null,"batch")");
  EXPECT_EQ(mistakes_of(plan_from(text)), "ok\n");
}

TEST(PlanJson, WhatIsNotJsonIsRefusedWithItsPlace) {
  EXPECT_EQ(mistakes_of(plan_from("")), "plan.json:1: text is \"empty\", expected a value\n");
  EXPECT_EQ(mistakes_of(plan_from("hello")),
            "plan.json:1: text is \"not JSON at byte 1\", expected a value\n");
  EXPECT_THAT(mistakes_of(plan_from("{\"batch\":8,\n}")),
              HasSubstr("plan.json:2: text is \"not JSON at"));
  EXPECT_THAT(mistakes_of(plan_from("{} {}")), HasSubstr("nothing after the document"));
  EXPECT_THAT(mistakes_of(plan_from(std::string(1000, '['))), HasSubstr("less nesting"));
  EXPECT_EQ(mistakes_of(plan_from("[1]")),
            "plan.json:1: document is \"a list\", expected an object\n");
}

TEST(PlanJson, APlanNeedsStagesAndABatch) {
  EXPECT_EQ(mistakes_of(plan_from("{}")),
            "plan.json:1: stages is missing, expected a list of stages, or num_gpus and "
            "num_ops_in_each_stage as Aceso writes them\n");
  const std::string other = R"({"model":{},"plan":{"micro_batch":2},"sequence":1})";
  EXPECT_THAT(mistakes_of(plan_from(other)),
              HasSubstr("plan.json:1: file is \"a plan of `weir plan --model-config`\", expected a "
                        "plan of a profiled model"));
  EXPECT_EQ(mistakes_of(plan_from(R"({"stages":[]})")),
            "plan.json:1: batch is missing, expected the samples of an iteration\n"
            "plan.json:1: microbatch is missing, expected the samples in a stage at a time\n"
            "plan.json:1: stages is \"empty\", expected at least one stage\n");
  EXPECT_THAT(mistakes_of(plan_from(R"({"batch":8,"microbatch":2,"stages":3})")),
              HasSubstr("stages is \"3\", expected a list\n"));
}

TEST(PlanJson, EveryMistakeOfTheHeaderIsNamedAtOnce) {
  EXPECT_EQ(mistakes_of(plan_from(replaced(with_stages(kFirst), R"("batch":8,"microbatch":2)",
                                           R"("batch":9,"microbatch":2,"database":"","model":7,
"size":["a"],"layers":[3,4],"nodes":0,"gpus_per_node":1.5,"memory_limit_mib":-1,
"cost_model":"a\nb")"))),
            "plan.json:1: database is \"an empty text\", expected a name of 1 to 253 bytes, UTF-8 "
            "without control characters\n"
            "plan.json:1: model is \"7\", expected a name of 1 to 253 bytes, UTF-8 without control "
            "characters\n"
            "plan.json:2: size is \"a list\", expected a name of 1 to 253 bytes, UTF-8 without "
            "control characters\n"
            "plan.json:3: cost_model is \"a\\x0ab\", expected a name of 1 to 253 bytes, UTF-8 "
            "without control characters\n"
            "plan.json:2: nodes is \"0\", expected an integer from 1 to 65536\n"
            "plan.json:2: gpus_per_node is \"1.5\", expected an integer from 1 to 65536\n"
            "plan.json:2: memory_limit_mib is \"-1\", expected a number above 0, up to "
            "1000000000\n"
            "plan.json:1: microbatch is \"2\", expected a divisor of batch, which is 9\n"
            "plan.json:2: layers is \"a list\", expected an integer from 1 to 1000000\n");
}

TEST(PlanJson, AKeyGivenTwiceIsRefused) {
  EXPECT_EQ(mistakes_of(plan_from(R"({"batch":8,"batch":8,"stages":[]})")),
            "plan.json:1: batch is \"given twice\", expected it once\n");
  EXPECT_EQ(mistakes_with(R"("gpus":2)", R"("gpus":2,"gpus":2)"),
            "plan.json:3: stages[1].gpus is \"given twice\", expected it once\n");
}

TEST(PlanJson, StagesFollowEachOther) {
  EXPECT_EQ(mistakes_with("[3,5]", "[4,6]"),
            "plan.json:3: stages[1].ops is \"[4,6]\", expected operators from 3 on: stages follow "
            "each other\n");
  for (const std::string_view range : {"[3]", "[3,3]", "[-1,3]", "[3,\"5\"]", "[3,1000001]"}) {
    EXPECT_THAT(
        mistakes_with("[3,5]", range),
        HasSubstr("expected [first, end]: the first operator and the one after the last, up "
                  "to 1000000\n"))
        << range;
  }
  EXPECT_THAT(mistakes_with("[3,5]", "[3,4,5]"), HasSubstr("expected a list of at most 2\n"));
  EXPECT_THAT(mistakes_with("[3,5]", "3"), HasSubstr("stages[1].ops is \"3\", expected a list\n"));
}

TEST(PlanJson, AStageHasAllItsParts) {
  EXPECT_EQ(mistakes_with(R"("gpus":2,)", ""),
            "plan.json:3: stages[1].gpus is missing, expected it in every stage\n");
  EXPECT_EQ(mistakes_of(plan_from(with_stages("7"))),
            "plan.json:2: stages[0] is \"7\", expected an object\n");
}

TEST(PlanJson, RunLengthsThatDoNotAddUpAreRefused) {
  EXPECT_EQ(mistakes_with(R"("recompute":[[0,2]])", R"("recompute":[[0,3]])"),
            "plan.json:3: stages[1].recompute is \"for 3 operators\", expected 2, as many as the "
            "stage has\n");
  EXPECT_EQ(mistakes_with(R"("recompute":[[0,2]])", R"("recompute":[])"),
            "plan.json:3: stages[1].recompute is \"for 0 operators\", expected 2, as many as the "
            "stage has\n");
  EXPECT_THAT(mistakes_with(R"([[0,2]])", "[[0,1],[0,1],[0,1]]"), HasSubstr("at most 2\n"));
}

TEST(PlanJson, ARunIsAValueAndACount) {
  EXPECT_EQ(mistakes_with("[[0,2]]", "[[0]]"),
            "plan.json:3: stages[1].recompute[0] is \"[0]\", expected [value, count]\n");
  EXPECT_EQ(mistakes_with("[[0,2]]", "[[2,0]]"),
            "plan.json:3: stages[1].recompute[0][0] is \"2\", expected 0 or 1\n"
            "plan.json:3: stages[1].recompute[0][1] is \"0\", expected an integer from 1 to "
            "1000000\n");
  EXPECT_EQ(mistakes_with("[[0,2]]", "[0,0]"),
            "plan.json:3: stages[1].recompute[0] is \"0\", expected a list\n");
  EXPECT_EQ(mistakes_with("[[2,1],[1,1]]", "[[3,1],[1,1]]"),
            "plan.json:3: stages[1].tp[0][0] is \"3\", expected a power of two from 1 to 16384\n");
}

TEST(PlanJson, DegreesMultiplyToTheGpusOfTheStage) {
  EXPECT_EQ(
      mistakes_with(R"("dp":[[1,1],[2,1]])", R"("dp":[[1,2]])"),
      "plan.json:3: stages[1].dp is \"1 where tp is 1, at operator 1 of the stage\", expected "
      "tp x dp = 2, the GPUs of the stage\n");
  EXPECT_EQ(mistakes_with(R"("gpus":2)", R"("gpus":3)"),
            "plan.json:3: stages[1].gpus is \"3\", expected a power of two from 1 to 16384\n");
  EXPECT_EQ(mistakes_of(plan_from(replaced(with_stages(fmt::format("{},{}", kFirst, kSecond)),
                                           R"("microbatch":2)", R"("microbatch":1)"))),
            "plan.json:2: stages[1].dp is \"2 at operator 1 of the stage\", expected a divisor of "
            "the microbatch, 1\n");
}

TEST(PlanJson, ListsOfTheArtifactHaveAnElementForEachStage) {
  EXPECT_EQ(mistakes_of(plan_from(replaced(replaced(kArtifact, R"("rc_rle")", R"("rc")"),
                                           R"("num_ops_in_each_stage":[3,2])",
                                           R"("num_ops_in_each_stage":[5])"))),
            "plan.json:2: num_ops_in_each_stage is \"1 long\", expected 2, as long as num_gpus\n"
            "plan.json:1: rc_rle is missing, expected a list with an element for each stage\n");
  EXPECT_EQ(mistakes_of(plan_from(replaced(kArtifact, R"("num_gpus":[1,2])", R"("num_gpus":[])"))),
            "plan.json:2: num_gpus is \"0 long\", expected at least one stage\n");
}

TEST(PlanJson, FullListsOfTheArtifactAreChecked) {
  EXPECT_EQ(mistakes_of(plan_from(replaced(
                replaced(kArtifactLists, "[[1,1,1],[2,1]]", "[[1,1],[2,1]]"), "[1,0]", "[1,2]"))),
            "plan.json:3: model_parallel_size_of_each_op[0] is \"for 2 operators\", expected 3, as "
            "many as the stage has\n"
            "plan.json:4: algo_of_each_op[1][1] is \"2\", expected 0 or 1\n");
}

// A few bytes must not ask for gigabytes.
TEST(PlanJson, CountsAreCheckedBeforeMemoryIsTaken) {
  EXPECT_THAT(mistakes_of(plan_from(replaced(kArtifact, "[3,2]", "[999999,2]"))),
              HasSubstr("num_ops_in_each_stage[1] is \"2\", expected an integer from 1 to 1\n"));
  EXPECT_THAT(mistakes_with("[[0,2]]", "[[0,999999999999]]"), HasSubstr("from 1 to 1000000\n"));
  EXPECT_THAT(mistakes_with("[[0,2]]", "[[0,99999999999999999999999]]"), HasSubstr("1000000\n"));
  std::string stages = "{}";
  for (int i = 0; i < kMostPlanStages; ++i) stages += ",{}";
  EXPECT_EQ(mistakes_of(plan_from(with_stages(stages))),
            "plan.json:2: stages is \"longer\", expected a list of at most 100000\n");
}

TEST(PlanJson, ReadsNoMoreThanItsLimit) {
  const std::string spaces(kMaxPlanJsonBytes + 1, ' ');
  EXPECT_EQ(mistakes_of(plan_from(spaces)),
            "plan.json: text is \"longer than 64 MiB\", expected at most 64 MiB of JSON\n");
}

TEST(PlanJson, ReadsAFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(mistakes_of(read_plan_json(folder.write("plan.json", kArtifact))), "ok\n");
  EXPECT_EQ(mistakes_of(read_plan_json(folder.write("plan.json.gz", gzip(kArtifact)))), "ok\n");
  const auto missing = read_plan_json(folder.path() / "none.json");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::bad_input);
}

PlanOp any_op(int gpus) {
  PlanOp op;
  const auto powers = std::countr_zero(static_cast<unsigned>(gpus));
  op.tp = static_cast<std::int16_t>(1 << *rc::gen::inRange(0, powers + 1));
  op.dp = static_cast<std::int16_t>(gpus / op.tp);
  op.dim = static_cast<std::int8_t>(*rc::gen::inRange(0, 2));
  op.recompute = *rc::gen::arbitrary<bool>();
  return op;
}

PlanDocument any_document() {
  constexpr int kMostGpus = 16;  // which divides every microbatch below
  PlanDocument document;
  document.database = *rc::gen::element<std::string>("", "miniset", "a\"b\\", "n\xC3\xB8");
  document.model = *rc::gen::element<std::string>("", "gpt");
  document.size = *rc::gen::element<std::string>("", "1_3B");
  document.cost_model = *rc::gen::element<std::string>("", "full");
  const auto maybe = [](auto gen) { return *rc::gen::maybe(std::move(gen)); };
  if (const auto layers = maybe(rc::gen::inRange(1, 2000))) document.layers = *layers;
  if (const auto nodes = maybe(rc::gen::inRange(1, 2000))) document.nodes = *nodes;
  if (const auto gpus = maybe(rc::gen::inRange(1, 65537))) document.gpus_per_node = *gpus;
  if (const auto memory = maybe(rc::gen::element(0.1, 1.0 / 3, 12000.0, 28000.5, 1e9)))
    document.memory_limit_mib = *memory;
  document.plan.microbatch = kMostGpus * *rc::gen::inRange(1, 100);
  document.plan.batch = document.plan.microbatch * *rc::gen::inRange(1, 1000);
  const int stages = *rc::gen::inRange(1, 6);
  for (int i = 0; i < stages; ++i) {
    PlanStage& stage = document.plan.stages.emplace_back();
    stage.gpus = *rc::gen::element(1, 2, 4, 8, kMostGpus);
    const int runs = *rc::gen::inRange(1, 6);
    for (int run = 0; run < runs; ++run)
      stage.ops.insert(stage.ops.end(), *rc::gen::inRange<std::size_t>(1, 30), any_op(stage.gpus));
  }
  return document;
}

RC_GTEST_PROP(PlanJsonProperty, ComesBackAsWritten, ()) {
  const PlanDocument document = any_document();
  const auto text =
      json_text(plan_json(document), *rc::gen::element(JsonLayout::compact, JsonLayout::indented));
  const auto back = plan_from(*text);
  if (!back) RC_FAIL(mistakes_of(back));
  RC_ASSERT(*back == document);
}

}  // namespace
}  // namespace weir::formats
