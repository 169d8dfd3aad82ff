// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/traced_ops.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "predict/kernels/kernel_work.h"
#include "predict/kernels/traced_tensor.h"

namespace weir::predict {
namespace {

using testing::ElementsAre;

TracedTensor bf16(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides = {}) {
  return {"bf16", std::move(shape), std::move(strides)};
}

TracedTensor fp32(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides = {}) {
  return {"fp32", std::move(shape), std::move(strides)};
}

TracedOp traced(std::string op, std::vector<TracedTensor> inputs, std::vector<TracedTensor> outputs,
                std::map<std::string, std::vector<std::int64_t>, std::less<>> arguments = {}) {
  return {TrainingPhase::forward, std::move(op),      3,
          std::move(inputs),      std::move(outputs), std::move(arguments)};
}

// "gemm mm nt bf16 B=1 M=..", with "(for NAME)" where it stands in.
std::vector<std::string> calls_of(TracedOp op) {
  TracedTraining training;
  training.ops = {std::move(op)};
  std::vector<std::string> calls;
  for (const TrainingOp& one : ops_of_trace(training).ops) {
    EXPECT_EQ(one.count % 3, 0);
    calls.push_back(to_string(one.call) +
                    (one.stands_for.empty() ? "" : " (for " + one.stands_for + ")"));
  }
  return calls;
}

TEST(TracedProducts, LayoutsComeFromStrides) {
  EXPECT_THAT(calls_of(traced("aten::mm", {bf16({4, 8}), bf16({8, 16})}, {bf16({4, 16})})),
              ElementsAre("gemm mm nn bf16 B=1 M=4 N=8 K=16"));
  EXPECT_THAT(calls_of(traced("aten::mm", {bf16({4, 8}), bf16({8, 16}, {1, 8})}, {bf16({4, 16})})),
              ElementsAre("gemm mm nt bf16 B=1 M=4 N=8 K=16"));
  EXPECT_THAT(calls_of(traced("aten::mm", {bf16({4, 8}, {1, 4}), bf16({8, 16})}, {bf16({4, 16})})),
              ElementsAre("gemm mm tn bf16 B=1 M=4 N=8 K=16"));
  EXPECT_THAT(
      calls_of(traced("aten::mm", {bf16({4, 8}, {1, 4}), bf16({8, 16}, {1, 8})}, {bf16({4, 16})})),
      ElementsAre("gemm mm tn bf16 B=1 M=4 N=8 K=16 (for aten::mm, both transposed)"));
}

TEST(TracedProducts, BiasesAndBatches) {
  EXPECT_THAT(calls_of(traced("aten::addmm", {bf16({16}), bf16({4, 8}), bf16({8, 16}, {1, 8})},
                              {bf16({4, 16})})),
              ElementsAre("gemm linear nt bf16 B=1 M=4 N=8 K=16"));
  EXPECT_THAT(
      calls_of(traced("aten::addmm", {bf16({16}), bf16({4, 8}), bf16({8, 16})}, {bf16({4, 16})})),
      ElementsAre("gemm mm nn bf16 B=1 M=4 N=8 K=16"));
  EXPECT_THAT(
      calls_of(traced("aten::bmm", {fp32({2, 4, 8}), fp32({2, 8, 16})}, {fp32({2, 4, 16})})),
      ElementsAre("gemm bmm nn fp32 B=2 M=4 N=8 K=16"));
}

TEST(TracedProducts, AttentionHasItsBackendAndMask) {
  const TracedTensor q = bf16({8, 32, 512, 64}, {1048576, 64, 2048, 1});
  const TracedTensor kv = bf16({8, 8, 256, 64});
  EXPECT_THAT(calls_of(traced("aten::_scaled_dot_product_cudnn_attention", {q, kv, kv}, {q},
                              {{"is_causal", {1}}})),
              ElementsAre("attention sdpa fwd/cudnn bf16 B=8 heads=32 kv_heads=8 Sq=512 Sk=256 "
                          "D=64 causal=1"));
  EXPECT_THAT(
      calls_of(traced("aten::_scaled_dot_product_flash_attention_backward", {q, q, kv, kv}, {q})),
      ElementsAre("attention sdpa bwd/flash bf16 B=8 heads=32 kv_heads=8 Sq=512 Sk=256 D=64 "
                  "causal=0"));
}

TEST(TracedProducts, AttentionWithAMaskStandsForItself) {
  const TracedTensor q = bf16({8, 32, 512, 64});
  const TracedTensor mask = bf16({512, 512});
  const TracedTensor sums = fp32({8, 32, 512, 1});
  const TracedTensor seed{"int64", {}, {}};
  EXPECT_THAT(calls_of(traced("aten::_scaled_dot_product_cudnn_attention", {q, q, q, mask}, {q})),
              ElementsAre(testing::HasSubstr(
                  "(for aten::_scaled_dot_product_cudnn_attention, with a mask)")));
  std::vector<TracedTensor> given{q, q, q, q, q, sums, seed, seed};
  const auto backward = [&] {
    return calls_of(traced("aten::_scaled_dot_product_cudnn_attention_backward", given, {q, q, q}));
  };
  EXPECT_THAT(backward(), ElementsAre(testing::Not(testing::HasSubstr("with a mask"))));
  given.push_back(mask);
  EXPECT_THAT(backward(), ElementsAre(testing::HasSubstr(", with a mask)")));
}

const TracedTensor kImages = bf16({8, 64, 56, 56}, {200704, 1, 3584, 64});
const std::map<std::string, std::vector<std::int64_t>, std::less<>> kWindow = {
    {"stride", {2, 2}},  {"padding", {1, 1}}, {"dilation", {1, 1}},
    {"transposed", {0}}, {"groups", {1}},     {"output_mask", {1, 1, 0}}};

TEST(TracedConvolutions, PlainOnesAreWhatWasMeasured) {
  const TracedTensor weight = bf16({128, 64, 3, 3}, {576, 1, 192, 64});
  const TracedTensor result = bf16({8, 128, 28, 28}, {100352, 1, 3584, 128});
  EXPECT_THAT(
      calls_of(traced("aten::convolution", {kImages, weight}, {result}, kWindow)),
      ElementsAre("conv conv fwd/nhwc bf16 B=8 Cin=64 Cout=128 ksize=3 insize=56 stride=2 pad=1"));
  EXPECT_THAT(
      calls_of(traced("aten::convolution_backward", {result, kImages, weight}, {kImages}, kWindow)),
      ElementsAre(
          "conv conv dgrad/nhwc bf16 B=8 Cin=64 Cout=128 ksize=3 insize=56 stride=2 pad=1",
          "conv conv wgrad/nhwc bf16 B=8 Cin=64 Cout=128 ksize=3 insize=56 stride=2 pad=1"));
  auto first = kWindow;
  first["output_mask"] = {0, 1, 1};  // images need no gradient; there is a bias
  EXPECT_THAT(
      calls_of(traced("aten::convolution_backward", {result, kImages, weight}, {weight}, first)),
      ElementsAre("conv conv wgrad/nhwc bf16 B=8 Cin=64 Cout=128 ksize=3 insize=56 stride=2 pad=1",
                  "rows sum_rows bf16 B=6272 H=128"));
}

TEST(TracedConvolutions, LayoutAndFormatFollowTheTensors) {
  EXPECT_THAT(
      calls_of(traced("aten::convolution",
                      {fp32({8, 64, 56, 56}), fp32({128, 64, 3, 3}), fp32({128})},
                      {fp32({8, 128, 28, 28})}, kWindow)),
      ElementsAre("conv conv fwd/nchw tf32 B=8 Cin=64 Cout=128 ksize=3 insize=56 stride=2 pad=1",
                  "rows mul_row fp32 B=28672 H=28"));
}

TEST(TracedConvolutions, OthersAreTheProductTheyAmountToAndSaySo) {
  auto grouped = kWindow;
  grouped["groups"] = {32};
  const TracedTensor result = bf16({8, 128, 28, 28}, {100352, 1, 3584, 128});
  EXPECT_THAT(
      calls_of(traced("aten::convolution", {kImages, bf16({128, 2, 3, 3})}, {result}, grouped)),
      ElementsAre("gemm bmm nt bf16 B=32 M=6272 N=18 K=4 (for aten::convolution, in groups)"));
  EXPECT_THAT(calls_of(traced("aten::convolution", {bf16({8, 80, 3000}), bf16({384, 80, 3})},
                              {bf16({8, 384, 3000})},
                              {{"stride", {1}}, {"padding", {1}}, {"dilation", {1}}})),
              ElementsAre("gemm bmm nt bf16 B=1 M=24000 N=240 K=384 (for aten::convolution, not a "
                          "plain square)"));
}

TEST(TracedConvolutions, ATransposedOneIsTheGradientOfAPlainOne) {
  auto transposed = kWindow;
  transposed["transposed"] = {1};
  EXPECT_THAT(
      calls_of(traced("aten::convolution", {bf16({8, 128, 28, 28}), bf16({128, 64, 4, 4})},
                      {bf16({8, 64, 56, 56})}, transposed)),
      ElementsAre(
          "conv conv dgrad/nchw bf16 B=8 Cin=64 Cout=128 ksize=4 insize=56 stride=2 pad=1"));
}

// What no network has, but a file can say: nothing of it may overflow.
TEST(TracedConvolutions, OfDifferentBatchesOrOfNothingAreNone) {
  constexpr std::int64_t kMany = std::int64_t{1} << 40;
  EXPECT_THAT(calls_of(traced("aten::convolution", {bf16({kMany, 1, 1}), bf16({1, 1, 1})},
                              {bf16({1, 1, kMany})})),
              ElementsAre(testing::HasSubstr("(for aten::convolution)")));
  auto transposed = kWindow;
  transposed["transposed"] = {1};
  EXPECT_THAT(calls_of(traced("aten::convolution", {bf16({0, 128, 28, 28}), bf16({128, 64, 4, 4})},
                              {bf16({0, 64, 56, 56}), bf16({4})}, transposed)),
              ElementsAre(testing::HasSubstr("(for aten::convolution)")));
}

TEST(TracedImages, AreSquareOrSaySo) {
  EXPECT_THAT(calls_of(traced("aten::native_batch_norm", {kImages}, {kImages})),
              ElementsAre("image bn fwd/nhwc bf16 B=8 C=64 insize=56 ksize=0 stride=0 pad=0"));
  EXPECT_THAT(calls_of(traced("aten::native_batch_norm_backward", {kImages, kImages}, {kImages})),
              ElementsAre("image bn bwd/nhwc bf16 B=8 C=64 insize=56 ksize=0 stride=0 pad=0"));
  EXPECT_THAT(calls_of(traced("aten::native_batch_norm", {fp32({8, 64, 4, 9})}, {fp32({8})})),
              ElementsAre("image bn fwd/nchw fp32 B=8 C=64 insize=6 ksize=0 stride=0 pad=0 (for "
                          "aten::native_batch_norm, not square)"));
  EXPECT_THAT(calls_of(traced("aten::max_pool2d_with_indices", {kImages}, {kImages},
                              {{"kernel_size", {3, 3}}, {"stride", {2, 2}}, {"padding", {1, 1}}})),
              ElementsAre("image maxpool fwd/nhwc bf16 B=8 C=64 insize=56 ksize=3 stride=2 pad=1"));
  EXPECT_THAT(calls_of(traced("aten::mean", {kImages}, {bf16({8, 64, 1, 1})}, {{"dim", {-1, -2}}})),
              ElementsAre("image avgpool fwd/nhwc bf16 B=8 C=64 insize=56 ksize=0 stride=0 pad=0"));
  EXPECT_THAT(
      calls_of(traced("aten::div", {bf16({8, 64, 7, 7}, {64, 1, 0, 0})}, {bf16({8, 64, 7, 7})})),
      ElementsAre("image avgpool bwd/nhwc bf16 B=8 C=64 insize=7 ksize=0 stride=0 pad=0"));
}

TEST(TracedElements, CopiesByTypeAndOrder) {
  const TracedTensor heads = bf16({8, 32, 512, 64}, {1048576, 64, 2048, 1});
  EXPECT_THAT(calls_of(traced("aten::_to_copy", {fp32({4, 8})}, {bf16({4, 8})})),
              ElementsAre("rows cast_down bf16 B=4 H=8"));
  EXPECT_THAT(calls_of(traced("aten::copy_", {fp32({4, 8}), bf16({4, 8})}, {})),
              ElementsAre("rows cast_up bf16 B=4 H=8"));
  EXPECT_THAT(calls_of(traced("aten::clone", {fp32({4, 8})}, {fp32({4, 8})})),
              ElementsAre("rows copy fp32 B=4 H=8"));
  EXPECT_THAT(calls_of(traced("aten::clone", {heads}, {bf16({8, 32, 512, 64})})),
              ElementsAre("rows copy_heads bf16 B=131072 H=64"));
  EXPECT_THAT(calls_of(traced("aten::clone", {bf16({4, 8}, {1, 4})}, {bf16({4, 8})})),
              ElementsAre("rows transpose bf16 B=4 H=8"));
  EXPECT_THAT(calls_of(traced("aten::_to_copy", {{"int64", {4, 8}, {}}}, {bf16({4, 8})})),
              ElementsAre("rows copy bf16 B=1 H=80 (for aten::_to_copy)"));
}

TEST(TracedElements, PairsByShapeAndOrder) {
  const TracedTensor x = bf16({4, 6, 8});
  EXPECT_THAT(calls_of(traced("aten::add", {x, x}, {x})), ElementsAre("rows add bf16 B=24 H=8"));
  EXPECT_THAT(calls_of(traced("aten::mul", {x, x}, {x})), ElementsAre("rows mul bf16 B=24 H=8"));
  EXPECT_THAT(calls_of(traced("aten::add", {fp32({4, 8}), bf16({4, 8})}, {fp32({4, 8})})),
              ElementsAre("rows add_mixed bf16 B=4 H=8"));
  EXPECT_THAT(calls_of(traced("aten::mul", {x, bf16({8})}, {x})),
              ElementsAre("rows mul_row bf16 B=24 H=8"));
  EXPECT_THAT(calls_of(traced("aten::mul", {bf16({4, 6, 1}), x}, {x})),
              ElementsAre("rows mul_col bf16 B=24 H=8"));
  EXPECT_THAT(calls_of(traced("aten::mul", {x}, {x})), ElementsAre("rows scale bf16 B=24 H=8"));
  const TracedTensor turned = bf16({4, 6, 8}, {48, 8, 1});
  EXPECT_THAT(calls_of(traced("aten::mul", {bf16({4, 6, 8}, {8, 32, 1}), bf16({6, 8})}, {x})),
              ElementsAre("rows mul_heads bf16 B=24 H=8"));
  EXPECT_THAT(calls_of(traced("aten::add", {bf16({4, 6, 8}, {8, 32, 1}), turned}, {x})),
              ElementsAre("rows add_heads bf16 B=24 H=8"));
}

TEST(TracedElements, FillsByTheBytesThatAreWritten) {
  EXPECT_THAT(calls_of(traced("aten::zeros", {}, {bf16({4, 8})})),
              ElementsAre("rows fill bf16 B=4 H=8"));
  EXPECT_THAT(calls_of(traced("aten::zeros", {}, {fp32({4, 8})})),
              ElementsAre("rows fill fp32 B=4 H=8"));
  EXPECT_THAT(calls_of(traced("aten::zeros", {}, {{"int64", {4, 8}, {}}})),
              ElementsAre("rows fill fp32 B=4 H=16"));
}

TEST(TracedElements, CountersAreSmall) {
  EXPECT_THAT(calls_of(traced("aten::add_", {{"int64", {}, {}}}, {{"int64", {}, {}}})),
              ElementsAre("rows fill fp32 B=1 H=64"));
}

TEST(TracedRows, NormsSumsAndTables) {
  const TracedTensor x = fp32({8, 512, 768});
  EXPECT_THAT(calls_of(traced("aten::native_layer_norm", {x}, {x}, {{"normalized_shape", {768}}})),
              ElementsAre("rows ln fp32 B=4096 H=768"));
  EXPECT_THAT(calls_of(traced("aten::_softmax", {x}, {x}, {{"dim", {-1}}})),
              ElementsAre("rows softmax fp32 B=4096 H=768"));
  EXPECT_THAT(calls_of(traced("aten::sum", {x}, {fp32({1, 512, 768})}, {{"dim", {0}}})),
              ElementsAre("rows sum_rows fp32 B=8 H=393216"));
  EXPECT_THAT(calls_of(traced("aten::mean", {x}, {fp32({8, 512, 1})}, {{"dim", {2}}})),
              ElementsAre("rows mean_cols fp32 B=4096 H=768"));
  const TracedTensor tokens{"int64", {8, 512}, {}};
  EXPECT_THAT(calls_of(traced("aten::embedding", {fp32({32000, 768}), tokens}, {x})),
              ElementsAre("rows embedding fp32 B=4096 H=768"));
  EXPECT_THAT(calls_of(traced("aten::embedding_dense_backward", {x, tokens}, {fp32({1, 768})},
                              {{"num_weights", {50000}}})),
              ElementsAre("rows fill fp32 B=18000 H=768", "rows embedding_bwd fp32 B=4096 H=768"));
  EXPECT_THAT(calls_of(traced("aten::embedding_dense_backward", {x, tokens}, {fp32({1, 768})},
                              {{"num_weights", {512}}})),
              ElementsAre("rows embedding fp32 B=4096 H=768"));
}

TEST(TracedOps, EmptyTensorsTakeNoTime) {
  EXPECT_THAT(calls_of(traced("aten::zeros", {}, {bf16({0})})), ElementsAre());
  EXPECT_THAT(calls_of(traced("aten::cat", {bf16({0}), bf16({4, 8})}, {bf16({4, 8})})),
              ElementsAre("rows cat bf16 B=4 H=8"));
}

TEST(TracedOps, TheFusedStepGoesOverAllParameters) {
  TracedTraining training;
  training.parameters = 120'000'000;
  training.tensors = 2;
  training.ops = {{TrainingPhase::optimizer,
                   "aten::_fused_adamw_",
                   1,
                   {fp32({100'000'000}), fp32({20'000'000})},
                   {},
                   {}}};
  const TrainingOps ops = ops_of_trace(training);
  EXPECT_EQ(ops.parameters, 120'000'000);
  EXPECT_EQ(ops.tensors, 2);
  ASSERT_EQ(ops.ops.size(), 2U);
  EXPECT_EQ(to_string(ops.ops[0].call), "rows adamw fp32 B=8 H=12500000");
  EXPECT_EQ(to_string(ops.ops[1].call), "rows adamw fp32 B=8 H=2500000");
}

// What is not known moves as many bytes as it has, and says its name; whatever the shapes.
RC_GTEST_PROP(TracedOpsProperties, AStandInMovesTheBytesOfTheOperator, ()) {
  const auto tensor = [] {
    return TracedTensor{
        *rc::gen::element<std::string>("bf16", "fp32", "int64", "bool"),
        *rc::gen::container<std::vector<std::int64_t>>(3, rc::gen::inRange<std::int64_t>(1, 300)),
        {}};
  };
  TracedOp op = traced("aten::roll", {tensor(), tensor()}, {tensor()});
  double bytes = 0;
  for (const TracedTensor& one : {op.inputs[0], op.inputs[1], op.outputs[0]})
    bytes += bytes_of(one);
  TracedTraining training;
  training.ops = {op};
  const TrainingOps ops = ops_of_trace(training);
  RC_ASSERT(ops.ops.size() == 1U);
  RC_ASSERT(ops.ops[0].stands_for == "aten::roll");
  const double moved = kernel_work(ops.ops[0].call).bytes;
  RC_ASSERT(moved >= bytes - 4);
  RC_ASSERT(moved <= bytes + 4096 + 4);  // up to a row more
}

// Operators with too few tensors, odd ranks or unknown formats come through as well.
RC_GTEST_PROP(TracedOpsProperties, AnyKnownNameWithAnyTensorsGivesCallsOfPositiveSize, ()) {
  const auto tensor = [] {
    TracedTensor one{*rc::gen::element<std::string>("bf16", "fp32", "fp16", "int64", "odd"),
                     *rc::gen::resize(5, rc::gen::container<std::vector<std::int64_t>>(
                                             rc::gen::inRange<std::int64_t>(0, 40))),
                     {}};
    if (*rc::gen::arbitrary<bool>())
      for (std::size_t i = 0; i < one.shape.size(); ++i)
        one.strides.push_back(*rc::gen::inRange<std::int64_t>(0, 50));
    return one;
  };
  const auto name = *rc::gen::element<std::string>(
      "aten::mm", "aten::addmm", "aten::bmm", "aten::convolution", "aten::convolution_backward",
      "aten::add", "aten::add_", "aten::mul", "aten::div", "aten::copy_", "aten::_to_copy",
      "aten::cat", "aten::sum", "aten::mean", "aten::_softmax", "aten::native_layer_norm",
      "aten::embedding", "aten::embedding_dense_backward", "aten::nll_loss_forward",
      "aten::nll_loss_backward", "aten::native_batch_norm", "aten::max_pool2d_with_indices",
      "aten::_adaptive_avg_pool2d_backward", "aten::zeros", "aten::slice_backward",
      "aten::_scaled_dot_product_cudnn_attention", "aten::_fused_adamw_", "aten::_foreach_add_",
      "aten::never_heard_of");
  TracedOp op = traced(name, {}, {});
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i) op.inputs.push_back(tensor());
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) op.outputs.push_back(tensor());
  for (const char* argument : {"dim", "stride", "padding", "groups", "kernel_size",
                               "normalized_shape", "num_weights", "transposed", "output_mask"})
    if (*rc::gen::arbitrary<bool>())
      op.arguments[argument] = *rc::gen::resize(
          3, rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(-5, 60)));
  TracedTraining training;
  training.ops = {op};
  for (const TrainingOp& one : ops_of_trace(training).ops) {
    RC_ASSERT(one.count % 3 == 0);
    const KernelWork work = kernel_work(one.call);
    RC_ASSERT(std::isfinite(work.bytes));
    RC_ASSERT(work.bytes > 0);
  }
}

}  // namespace
}  // namespace weir::predict
