// SPDX-License-Identifier: Apache-2.0
#include "report/transformer_tables.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "predict/transformer/kernel_times_testing.h"
#include "predict/transformer/published_runs_testing.h"
#include "report/transformer_accuracy.h"

namespace weir::report {
namespace {

using predict::Recompute;
using predict::TransformerPlan;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TransformerView view_of(const TransformerPlan& plan, std::int64_t sequence = 4096) {
  TransformerView view;
  view.title = "mine";
  view.request.task = predict::task_on("A100-80G", predict::llama2_7b(), sequence, plan.batch());
  view.request.gpus = plan.gpus();
  view.request.memory_bytes = 80.0 * 1024 * 1024 * 1024;
  const predict::TransformerTask& task = view.request.task;
  view.answer.best.push_back(
      {plan, predict::transformer_time(task, plan),
       predict::transformer_memory(task.model, sequence, task.runtime, plan)});
  view.answer.structures = 1;
  return view;
}

long long printed_tenths(const std::string& cell) {
  return std::llround(10 * std::stod(cell));
}

// At the update or in the backward pass, with or without recomputation: what is printed is a sum.
RC_GTEST_PROP(TransformerTables, MemoryAddsUpAsPrinted, ()) {
  TransformerPlan plan;
  plan.replicas = 1 << *rc::gen::inRange(0, 6);
  plan.weight_shards = 1;
  plan.gradient_shards = 1;
  plan.optimizer_shards = *rc::gen::element(1, plan.replicas);
  plan.recompute = *rc::gen::element(Recompute::none, Recompute::full, Recompute::plus);
  const std::int64_t sequence = 1 << *rc::gen::inRange(5, 15);
  const Table table = transformer_memory_table(view_of(plan, sequence));
  long long sum = 0;
  for (std::size_t i = 0; i + 1 < table.rows.size(); ++i) sum += printed_tenths(table.rows[i][1]);
  RC_ASSERT(sum == printed_tenths(table.rows.back()[1]));
  RC_ASSERT(printed_tenths(table.rows[table.rows.size() - 2][1]) > 0);
}

TEST(TransformerTables, NamesWhenMemoryIsFullest) {
  TransformerPlan plan;
  EXPECT_THAT(transformer_memory_table(view_of(plan, 32)).title, HasSubstr("in the update"));
  EXPECT_THAT(transformer_memory_table(view_of(plan, 1 << 15)).title,
              HasSubstr("in the backward pass"));
}

TEST(TransformerTables, BeginsWithTheModel) {
  TransformerView view = view_of({});
  EXPECT_THAT(transformer_headline(view),
              testing::StartsWith("mine: 6.74 billion parameters, sequences of 4096 tokens, batch "
                                  "1.\nAn iteration takes"));
  EXPECT_EQ(parameter_words(124'000'000), "124 million parameters");
  EXPECT_EQ(parameter_words(999), "999 parameters");
}

TEST(TransformerTables, SaysNothingOfAPriceThatNobodyKnows) {
  TransformerView view = view_of({});
  EXPECT_THAT(transformer_headline(view), AllOf(HasSubstr("Best of 1 structures."),
                                                Not(HasSubstr("costs")), HasSubstr("of its rate")));
  view.price_per_hour = 2;
  EXPECT_THAT(transformer_headline(view), HasSubstr("costs"));
}

// A millionth of a price is not nothing.
TEST(TransformerTables, ShowsWhatASmallModelCosts) {
  TransformerView view = view_of({});
  view.price_per_hour = 2;
  view.gpus_per_node = 1;
  view.answer.best.front().time.iteration = 0.0123456;
  EXPECT_THAT(transformer_headline(view), HasSubstr("costs 0.00000686 at 2.00 per GPU hour"));
  EXPECT_EQ(transformer_answer_json(view)["cost_per_iteration"], 0.00000685867);
  view.sizes.push_back({1, view.answer.best.front(), 0});
  const std::vector<std::string> row = cost_table(view).rows.front();
  EXPECT_EQ(row[3], "0.0123") << "GPU seconds";
  EXPECT_EQ(row[4], "0.00000686");
  const auto size = transformer_answer_json(view)["sizes"][0];
  EXPECT_EQ(size["gpu_s"], 0.0123456);
  EXPECT_EQ(size["cost_per_million_iterations"], 6.85867);
  view.answer.best.front().time.iteration = 3600;
  EXPECT_THAT(transformer_headline(view), HasSubstr("costs 2.0000 at"));
}

TEST(TransformerTables, CountsOneAsOne) {
  TransformerPlan plan;
  EXPECT_EQ(degree_table(view_of(plan)).rows[1][2], "1 sample at a time, once");
  plan.micro_batch = 2;
  plan.micro_count = 3;
  EXPECT_EQ(degree_table(view_of(plan)).rows[1][2], "2 samples at a time, 3 times");
  plan.grid.head = 32;
  EXPECT_THAT(degree_table(view_of(plan)).rows[1][2], testing::StartsWith("1 head and 1/1 of"));
  plan.grid.head = 1;
  plan.stages = 32;
  plan.micro_count = 32;
  EXPECT_EQ(degree_table(view_of(plan)).rows[2][2], "1 layer on each stage");
}

TEST(TransformerAccuracy, IsThatOfTheGpuAndTheRuntime) {
  const auto words = [](const char* gpu, const predict::RuntimeTraits& runtime) {
    return transformer_accuracy(predict::task_on(gpu, predict::llama2_7b(), 4096, 8, runtime));
  };
  EXPECT_THAT(words("A100-40G", predict::modern_runtime()),
              AllOf(HasSubstr("on A100s"), HasSubstr("within 21 %"), Not(HasSubstr("no run"))));
  EXPECT_THAT(words("L40S", predict::modern_runtime()),
              AllOf(HasSubstr("no run of L40S was compared"), HasSubstr("on A100s")));
  EXPECT_THAT(words("H100-80G", predict::modern_runtime()), HasSubstr("64 to 86 %"));
  EXPECT_THAT(words("H800-80G", predict::modern_runtime()),
              AllOf(HasSubstr("no run of H800-80G was compared"), HasSubstr("64 to 86 %")));
  EXPECT_THAT(words("H200-141G", predict::modern_runtime()),
              HasSubstr("one H200 were within 12 %"));
  for (const char* gpu : {"A100-80G", "H100-80G"})
    EXPECT_THAT(words(gpu, predict::autocast_runtime()),
                HasSubstr("16 to 39 % too fast on one H200"));
}

TEST(TransformerAccuracy, OfKernelsIsWhatWasMeasured) {
  auto task = predict::task_on("H200-141G", predict::llama2_7b(), 4096, 8);
  task.compute = predict::roofline_times(task.runtime);
  EXPECT_THAT(compute_times_words(task),
              HasSubstr("\nIterations on one H200 were within 6 % of such times; more than one GPU "
                        "was not compared."));
  task.runtime = predict::autocast_runtime();
  EXPECT_THAT(compute_times_words(task), HasSubstr("within 15 %"));
  task.gpu = *predict::find_gpu_type("H100-80G");
  EXPECT_THAT(compute_times_words(task), HasSubstr("No iteration of H100-80G was compared."));
}

}  // namespace
}  // namespace weir::report
