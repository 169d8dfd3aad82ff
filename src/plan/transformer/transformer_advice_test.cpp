// SPDX-License-Identifier: Apache-2.0
#include "plan/transformer/transformer_advice.h"

#include <gmock/gmock.h>

#include "predict/transformer/published_runs_testing.h"

namespace weir::plan {
namespace {

using predict::Recompute;
using testing::HasSubstr;
using testing::Not;

constexpr double kAdvisedGiB = 1024.0 * 1024 * 1024;

TransformerRequest llama_405b(int nodes) {
  TransformerRequest request;
  request.task = predict::task_on(
      "A100-80G", predict::llama_like(126, 16'384, 128, 8, 53'248, 128'256), 4096, 1024);
  request.gpus = 8 * nodes;
  request.memory_bytes = 80 * kAdvisedGiB;
  return request;
}

std::string reasons_of(const TransformerRequest& request) {
  return to_string(why_no_plan(request).reasons);
}

// Above 16 nodes, too: between the doubling that is enough and the one before.
TEST(TransformerAdvice, NamesTheFewestOfManyNodes) {
  EXPECT_THAT(reasons_of(llama_405b(8)), HasSubstr("or --nodes 18"));
  for (int nodes = 9; nodes < 18; ++nodes)
    EXPECT_TRUE(search_transformer(llama_405b(nodes)).best.empty()) << nodes;
  EXPECT_FALSE(search_transformer(llama_405b(18)).best.empty());
}

TEST(TransformerAdvice, SuggestsAnotherGpuOnlyWhereItBringsItsMemory) {
  TransformerRequest request = llama_405b(12);
  EXPECT_THAT(reasons_of(request), HasSubstr("or --gpu H200-141G"));
  request.memory_bytes = 60 * kAdvisedGiB;  // --memory, which stays with another GPU
  EXPECT_THAT(reasons_of(request), Not(HasSubstr("--gpu")));
}

TEST(TransformerAdvice, SuggestsAnotherTrainerWhereThatOneNeedsTooMuchMemory) {
  TransformerRequest request = llama_405b(18);
  request.can_run = [](const predict::TransformerPlan& plan) { return plan.optimizer_shards == 1; };
  EXPECT_THAT(reasons_of(request), HasSubstr("another --export)"));
  request.can_run = nullptr;
  request.gpus = 8;
  EXPECT_THAT(reasons_of(request), Not(HasSubstr("--export")));
}

TEST(TransformerAdvice, NamesTheWordsThatAPinMayBe) {
  TransformerRequest request = llama_405b(64);
  request.pins.recompute = Recompute::selective;
  EXPECT_EQ(reasons_of(request),
            "--pin is \"recompute=selective\", expected recompute= one of full, none, selective++; "
            "selective needs a runtime without flash attention (--runtime megatron-2021)\n");
  request.task.runtime = predict::megatron_2021();
  EXPECT_FALSE(search_transformer(request).structures == 0);
  request.pins.recompute = Recompute::plus;
  EXPECT_THAT(reasons_of(request), HasSubstr("recompute= one of full, none, selective; "
                                             "selective++ needs flash attention"));
}

// 37 GPUs: neither layers nor heads.
TransformerRequest on_37(std::int64_t batch, std::int64_t sequence = 4096) {
  TransformerRequest request;
  request.task = predict::task_on("A100-80G", predict::llama2_7b(8), sequence, batch);
  request.task.fabric.gpus_per_node = 1;
  request.gpus = 37;
  request.memory_bytes = 80 * kAdvisedGiB;
  return request;
}

bool has_plan(TransformerRequest request, std::int64_t batch) {
  request.task.batch = batch;
  return !search_transformer(request).best.empty();
}

TEST(TransformerAdvice, NamesTheNearestBatchesBelowAndAbove) {
  EXPECT_THAT(
      reasons_of(on_37(40)),
      HasSubstr("--batch is \"40\", expected 37 or 74, which can be divided among 37 GPUs"));
  EXPECT_EQ(dividable_batches(on_37(40)), (std::vector<std::int64_t>{37, 74}));
  EXPECT_EQ(dividable_batches(on_37(3)), (std::vector<std::int64_t>{37}));
}

TEST(TransformerAdvice, NamesABatchThatPinsAllow) {
  TransformerRequest request = on_37(40);
  request.pins.micro_batch = 2;
  EXPECT_THAT(reasons_of(request), HasSubstr("--batch is \"40\", expected 74, which"));
  EXPECT_TRUE(has_plan(request, 74));
  EXPECT_FALSE(has_plan(request, 37));
}

TEST(TransformerAdvice, TellsPinsBesideTheBatchThatTheyForbidAsWell) {
  TransformerRequest request = on_37(40);
  request.pins.pp = 5;
  EXPECT_THAT(reasons_of(request),
              testing::AllOf(HasSubstr("--batch is \"40\", expected 37 or 74"),
                             HasSubstr("--pin is \"pp=5\", expected pp= one of 1\n")));
}

TEST(TransformerAdvice, TellsMemoryBesideTheBatchWhereNoneIsEnough) {
  TransformerRequest request = on_37(40);
  request.memory_bytes = 4 * kAdvisedGiB;
  EXPECT_THAT(reasons_of(request), testing::AllOf(HasSubstr("--batch is \"40\", expected 37 or 74"),
                                                  HasSubstr("--memory is \"4GiB\", expected ")));
}

// Batches of whole long sequences do not fit; one that the GPUs can share does.
TEST(TransformerAdvice, NamesASequenceWhereNoBatchHelps) {
  TransformerRequest request = on_37(1, 1 << 20);
  EXPECT_EQ(reasons_of(request),
            "--batch is \"1\", expected --sequence 1048580, which 37 GPUs can share\n");
  request.task.sequence = 1'048'580;
  EXPECT_FALSE(search_transformer(request).best.empty());
}

TEST(TransformerAdvice, SaysThatNoBatchHelpsATrainer) {
  TransformerRequest request = on_37(40);
  request.can_run = [](const predict::TransformerPlan&) { return false; };
  const NoTransformerPlan why = why_no_plan(request);
  EXPECT_THAT(to_string(why.reasons), HasSubstr("--batch is \"40\", expected 37 or 74"));
  ASSERT_TRUE(why.beyond_trainer);
  EXPECT_FALSE(structures(*why.beyond_trainer).empty()) << "whose words can be told";
  request.can_run = [](const predict::TransformerPlan& plan) { return plan.replicas == 37; };
  EXPECT_FALSE(why_no_plan(request).beyond_trainer);
}

}  // namespace
}  // namespace weir::plan
