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

}  // namespace
}  // namespace weir::plan
