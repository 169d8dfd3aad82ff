// SPDX-License-Identifier: Apache-2.0
//
// The analytic model against public results. No constant was fitted to them but two of the memory table, by four of its
// rows; two traits of InternEvo's program came in after a first comparison. Each table is printed; docs/models/transformer.md
// has them and says what was chosen when.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "formats/data_dir_testing.h"
#include "plan/transformer/transformer_search.h"
#include "predict/transformer/published_runs_testing.h"

namespace weir::predict {
namespace {

std::vector<std::vector<std::string>> rows_of(const std::filesystem::path& path) {
  std::vector<std::vector<std::string>> rows;
  std::ifstream file{path};
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::istringstream cells_of{line};
    for (std::string cell; std::getline(cells_of, cell, ',');) cells.push_back(cell);
    rows.push_back(std::move(cells));
  }
  return rows;
}

// Errors of the iteration's time: over 0 when the prediction is longer than what was measured.
struct Errors {
  std::vector<double> list;
  void add(double error) { list.push_back(error); }
  double bias() const {
    double sum = 0;
    for (const double error : list) sum += error;
    return sum / static_cast<double>(list.size());
  }
  double worst() const {
    double most = 0;
    for (const double error : list) most = std::max(most, std::abs(error));
    return most;
  }
};

// Asked for are 25 %; the answer for an A100 says 21 (report/transformer_accuracy.cpp).
constexpr double kToldForA100 = 0.21;

struct MegatronRow {
  const char* name;
  int layers, hidden, heads, tp, pp, gpus, batch;
  double tflops;
  int micro_batch = 0;  // 0: not published
};

// Narayanan et al., SC'21 (arXiv 2104.04473): table 1, and the pipelines of table 2 (GPT-3 175B, 530B), checked against
// public copies of both tables (docs/models/transformer.md). Table 2 gives its microbatch, 1. The others and the interleaving
// are not in the tables: the best that fits is taken, as the authors say they did.
TEST(PublishedRuns, MegatronIsWithinTwentyFivePercent) {
  Errors errors;
  for (const MegatronRow& row :
       {MegatronRow{"1.7B", 24, 2304, 24, 1, 1, 32, 512, 137},
        MegatronRow{"3.6B", 30, 3072, 32, 2, 1, 64, 512, 138},
        MegatronRow{"7.5B", 36, 4096, 32, 4, 1, 128, 512, 142},
        MegatronRow{"18.4B", 40, 6144, 48, 8, 1, 256, 1024, 135},
        MegatronRow{"39.1B", 48, 8192, 64, 8, 2, 512, 1536, 138},
        MegatronRow{"76.1B", 60, 10'240, 80, 8, 4, 1024, 1792, 140},
        MegatronRow{"145.6B", 80, 12'288, 96, 8, 8, 1536, 2304, 148},
        MegatronRow{"310.1B", 96, 16'384, 128, 8, 16, 1920, 2160, 155},
        MegatronRow{"529.6B", 105, 20'480, 128, 8, 35, 2520, 2520, 163},
        MegatronRow{"1008B", 128, 25'600, 160, 8, 64, 3072, 3072, 163},
        MegatronRow{"174.6B", 96, 12'288, 96, 8, 12, 384, 1536, 153, 1},
        MegatronRow{"174.6B", 96, 12'288, 96, 8, 12, 768, 1536, 149, 1},
        MegatronRow{"174.6B", 96, 12'288, 96, 8, 12, 1536, 1536, 141, 1},
        MegatronRow{"529.6B", 105, 20'480, 128, 8, 35, 560, 2240, 171, 1},
        MegatronRow{"529.6B", 105, 20'480, 128, 8, 35, 1120, 2240, 167, 1},
        MegatronRow{"529.6B", 105, 20'480, 128, 8, 35, 2240, 2240, 159, 1}}) {
    plan::TransformerRequest request;
    request.task = task_on("A100-80G", gpt_like(row.layers, row.hidden, row.heads), 2048, row.batch,
                           megatron_2021());
    request.gpus = row.gpus;
    request.memory_bytes = 80.0 * 1024 * 1024 * 1024;
    request.pins.mode = ParallelMode::mtp;
    request.pins.tp = row.tp;
    request.pins.pp = row.pp;
    request.pins.wp = request.pins.zp = 1;
    request.pins.recompute = Recompute::full;
    if (row.micro_batch > 0) request.pins.micro_batch = row.micro_batch;
    const auto answer = plan::search_transformer(request);
    ASSERT_FALSE(answer.best.empty()) << row.name;
    const double tflops =
        narayanan_tflops(request.task, answer.best[0].plan, answer.best[0].time.iteration);
    const double error = row.tflops / tflops - 1;
    fmt::print("{:7} {:5} GPUs: {:5.1f} TFLOP/s predicted, {:3.0f} measured, time {:+5.1f} %\n",
               row.name, row.gpus, tflops, row.tflops, 100 * error);
    errors.add(error);
  }
  fmt::print("bias {:+.1f} %, worst {:.1f} %\n", 100 * errors.bias(), 100 * errors.worst());
  EXPECT_LT(errors.worst(), kToldForA100);
}

TransformerPlan internevo_plan(int tp, int pp, int gpus, int zero, int micro_batch,
                               int micro_count) {
  TransformerPlan plan;
  plan.mode = tp > 1 ? ParallelMode::msp : ParallelMode::mtp;
  plan.grid.head = tp;
  plan.stages = pp;
  plan.replicas = gpus / tp / pp;
  plan.optimizer_shards = zero < 0 ? plan.replicas : std::min(zero, plan.replicas);
  plan.micro_batch = micro_batch;
  plan.micro_count = micro_count;
  return plan;
}

double tokens_per_second(const TransformerPlan& plan) {
  const TransformerTask task = internevo_task(internlm_7b(), plan.batch());
  return tokens_per_gpu_second(task, plan, transformer_time(task, plan).iteration);
}

struct Gap {
  double predicted = 0;
  double measured = 0;
};
// Of the gap's ratio to what was measured; it was 0.919 to 1.056.
constexpr double kGapBound = 0.085;

TEST(PublishedRuns, InternEvoScalingIsWithinTwentyFivePercentAndHasItsTrend) {
  WEIR_NEEDS_DATA(data);
  Errors errors;
  std::map<std::pair<int, int>, std::array<Gap, 2>>
      gaps;  // by tp and GPUs: rates of all, of a node
  for (const auto& row : rows_of(data / "loongtrain" / "internevo_7b_tgs_scaling.csv")) {
    const int tp = std::stoi(row[0]);
    const int zero = std::stoi(row[1]);
    const int gpus = std::stoi(row[2]);
    const double measured = std::stod(row[3]);
    const double tgs = tokens_per_second(internevo_plan(tp, 1, gpus, zero, tp == 1 ? 2 : 4, 4));
    fmt::print("tp {} zero1 {:2} {:4} GPUs: {:4.0f} predicted, {:4.0f} measured, time {:+5.1f} %\n",
               tp, zero, gpus, tgs, measured, 100 * (measured / tgs - 1));
    errors.add(measured / tgs - 1);
    gaps[{tp, gpus}][zero < 0 ? 0 : 1] = {tgs, measured};
  }
  ASSERT_EQ(errors.list.size(), 32U);
  fmt::print("bias {:+.1f} %, worst {:.1f} %\n", 100 * errors.bias(), 100 * errors.worst());
  EXPECT_LT(errors.worst(), kToldForA100);
  // Sharding over a node is never behind sharding over all, and the gap widens with every size, predicted as measured. On 8
  // GPUs they are the same.
  std::map<int, Gap> last;
  for (const auto& [key, pair] : gaps) {
    const auto& [tp, gpus] = key;
    const Gap gap{pair[1].predicted / pair[0].predicted, pair[1].measured / pair[0].measured};
    fmt::print(
        "tp {} {:4} GPUs: a node {:.3f} times as fast as all, measured {:.3f}, ratio {:.3f}\n", tp,
        gpus, gap.predicted, gap.measured, gap.predicted / gap.measured);
    EXPECT_NEAR(gap.predicted / gap.measured, 1, kGapBound) << "tp " << tp << ", GPUs " << gpus;
    if (gpus == 8) {
      EXPECT_DOUBLE_EQ(gap.predicted, 1);
    } else {
      EXPECT_GT(gap.predicted, last[tp].predicted) << "tp " << tp << ", GPUs " << gpus;
      EXPECT_GT(gap.measured, last[tp].measured) << "tp " << tp << ", GPUs " << gpus;
    }
    last[tp] = gap;
  }
}

TEST(PublishedRuns, InternEvoFlopsAreWithinTwentyFivePercent) {
  WEIR_NEEDS_DATA(data);
  Errors errors;
  for (const auto& row : rows_of(data / "loongtrain" / "internevo_7b_flops.csv")) {
    TransformerPlan plan = internevo_plan(std::stoi(row[0]), 1, std::stoi(row[3]),
                                          std::stoi(row[1]), std::stoi(row[5]), std::stoi(row[6]));
    plan.recompute = row[2] == "1" ? Recompute::full : Recompute::none;
    const double measured = std::stod(row[8]);
    const double tgs = tokens_per_second(plan);
    fmt::print("ckpt {} {:4} GPUs {} x {}: {:4.0f} predicted, {:4.0f} measured, time {:+5.1f} %\n",
               row[2], row[3], row[5], row[6], tgs, measured, 100 * (measured / tgs - 1));
    errors.add(measured / tgs - 1);
  }
  ASSERT_EQ(errors.list.size(), 22U);
  fmt::print("bias {:+.1f} %, worst {:.1f} %\n", 100 * errors.bias(), 100 * errors.worst());
  EXPECT_LT(errors.worst(), kToldForA100);
}

TEST(PublishedRuns, InternEvoMemoryIsWithinFifteenPercent) {
  WEIR_NEEDS_DATA(data);
  Errors errors;
  for (const auto& row : rows_of(data / "loongtrain" / "internevo_memory.csv")) {
    TransformerPlan plan =
        internevo_plan(std::stoi(row[3]), std::stoi(row[4]), std::stoi(row[1]), -1, 1, 4);
    plan.mode = ParallelMode::mtp;  // sequence_parallel=False
    plan.recompute = Recompute::full;
    if (row[5] == "1") plan.weight_shards = plan.gradient_shards = plan.replicas;
    const TransformerModel model = row[0] == "7B" ? internlm_7b() : internlm_20b();
    const double gb = transformer_memory(model, 2048, internevo_2023(), plan).needed / 1e9;
    const double measured = std::stod(row[6]);
    fmt::print(
        "{:3} {:2} GPUs tp {} pp {:2} fsdp {}: {:4.1f} GB predicted, {:2.0f} measured, {:+5.1f} "
        "%\n",
        row[0], row[1], row[3], row[4], row[5], gb, measured, 100 * (gb / measured - 1));
    errors.add(gb / measured - 1);
  }
  ASSERT_EQ(errors.list.size(), 16U);
  fmt::print("bias {:+.1f} %, worst {:.1f} %\n", 100 * errors.bias(), 100 * errors.worst());
  EXPECT_LT(errors.worst(), 0.15);
}

struct MptRow {
  const char* name;
  int layers, hidden, heads, sequence, gpus, micro_batch, batch;
  double tokens_per_gpu_s;
  bool recomputes;
};

// MPTs on H100s, bf16, weights, gradients and state sharded over all: rows of the table in mosaicml/llm-foundry,
// scripts/train/benchmarking/README.md. No constant was set on them. Predictions are too fast, and the answer for an H100
// says by how much; a prediction out of these bounds makes that sentence wrong.
TEST(PublishedRuns, OnH100sAreSlowerThanPredictedByWhatTheAnswerSays) {
  double least = 2;
  double most = 0;
  double sum = 0;
  int rows = 0;
  for (const MptRow& row : {MptRow{"1b", 24, 2048, 16, 2048, 64, 20, 1280, 44'402, false},
                            MptRow{"3b", 32, 2560, 20, 4096, 8, 5, 240, 20'964, false},
                            MptRow{"3b", 32, 2560, 20, 2048, 16, 10, 480, 24'142, false},
                            MptRow{"3b", 32, 2560, 20, 2048, 64, 6, 1152, 22'525, false},
                            MptRow{"7b", 32, 4096, 32, 2048, 8, 6, 48, 10'643, false},
                            MptRow{"7b", 32, 4096, 32, 4096, 8, 16, 256, 8'611, true},
                            MptRow{"13b", 40, 5120, 40, 2048, 8, 2, 16, 4'792, false},
                            MptRow{"13b", 40, 5120, 40, 2048, 64, 2, 128, 4'800, false},
                            MptRow{"13b", 40, 5120, 40, 4096, 8, 10, 240, 4'717, true},
                            MptRow{"30b", 48, 7168, 56, 2048, 16, 10, 480, 2'263, true},
                            MptRow{"30b", 48, 7168, 56, 2048, 32, 14, 1344, 2'308, true},
                            MptRow{"70b", 80, 8192, 64, 2048, 64, 8, 2048, 1'039, true}}) {
    const TransformerTask task = task_on(
        "H100-80G", gpt_like(row.layers, row.hidden, row.heads, 50'368), row.sequence, row.batch);
    TransformerPlan plan;
    plan.mode = ParallelMode::mtp;
    plan.replicas = plan.weight_shards = plan.gradient_shards = plan.optimizer_shards = row.gpus;
    plan.micro_batch = row.micro_batch;
    plan.micro_count = row.batch / row.gpus / row.micro_batch;
    plan.recompute = row.recomputes ? Recompute::full : Recompute::none;
    const double seconds = transformer_time(task, plan).iteration;
    const double predicted = tokens_per_gpu_second(task, plan, seconds);
    const double share = row.tokens_per_gpu_s / predicted;
    fmt::print("MPT {:4} {:5} tokens, {:2} GPUs{}: {:6.0f} predicted, {:6.0f} measured, {:.0f} %\n",
               row.name, row.sequence, row.gpus, row.recomputes ? ", recomputed" : "", predicted,
               row.tokens_per_gpu_s, 100 * share);
    least = std::min(least, share);
    most = std::max(most, share);
    sum += share;
    ++rows;
  }
  fmt::print("from {:.1f} to {:.1f} %, mean {:.1f} %\n", 100 * least, 100 * most, 100 * sum / rows);
  EXPECT_GT(least, 0.635);
  EXPECT_LT(most, 0.865);
}

// Llama 3 405B, 8192 tokens, 16 M tokens a batch, tp 8, pp 16 (arXiv 2407.21783, table 4: 43 % of the rate on 8,192 H100s,
// 41 % on 16,384). Not published: how far the pipeline is interleaved. It has 126 layers, the first and last stage one
// less than the others; all are counted as alike here.
TEST(PublishedRuns, OnThousandsOfH100sAreNearWhatTheAnswerSays) {
  const TransformerModel model = llama_like(128, 16'384, 128, 8, 53'248, 128'256);
  const TransformerTask task = task_on("H100-80G", model, 8192, 2048);
  for (const auto& [replicas, published] : {std::pair{64, 0.43}, std::pair{128, 0.41}}) {
    for (const int pieces : {4, 8}) {
      TransformerPlan plan;
      plan.mode = ParallelMode::msp;
      plan.grid.head = 8;
      plan.stages = 16;
      plan.interleave = pieces;
      plan.replicas = plan.optimizer_shards = replicas;
      plan.micro_count = 2048 / replicas;
      const double seconds = transformer_time(task, plan).iteration;
      const double predicted = model_flops_utilization(task, plan, seconds);
      fmt::print(
          "Llama 3 405B on {} GPUs, interleaved {} times: {:.1f} % predicted, {:.0f} % measured, "
          "{:.0f} %\n",
          plan.gpus(), pieces, 100 * predicted, 100 * published, 100 * published / predicted);
      EXPECT_GT(published / predicted, 0.895);
      EXPECT_LT(published / predicted, 1.005);
    }
  }
}

}  // namespace
}  // namespace weir::predict
