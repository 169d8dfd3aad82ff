// SPDX-License-Identifier: Apache-2.0
#include "formats/traced_training_json.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

namespace weir::formats {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Result<TracedTraining> read_trace(const std::string& text) {
  auto input = InputFile::from_memory("ops.json", text);
  return read_traced_training(std::move(*input));
}

constexpr const char* kTracedHead =
    R"({"format": "weir-ops", "version": 1, "model": "tiny", "batch": 8, "torch": "2.11.0",
 "parameters": 1000, "tensors": 3, "unknown": {"is": ["passed", "over"]},)";

std::string with_ops(const std::string& ops) {
  return fmt::format("{}\n \"ops\": [{}]}}\n", kTracedHead, ops);
}

constexpr const char* kTracedProduct =
    R"(
  {"phase": "backward", "op": "aten::mm", "count": 32,
   "in": [{"dtype": "bf16", "shape": [4096, 2048]},
          {"dtype": "bf16", "shape": [2048, 512], "strides": [1, 2048]}],
   "out": [{"dtype": "bf16", "shape": [4096, 512]}]})";

std::string trace_mistakes(const std::string& text) {
  const auto trace = read_trace(text);
  return trace ? "" : to_string(trace.error().details);
}

TEST(TracedTrainingJson, ReadsOperatorsWithTheirTensors) {
  const auto trace = read_trace(with_ops(kTracedProduct));
  ASSERT_TRUE(trace) << to_string(trace.error().details);
  EXPECT_EQ(trace->model, "tiny");
  EXPECT_EQ(trace->batch, 8);
  EXPECT_EQ(trace->torch, "2.11.0");
  EXPECT_EQ(trace->parameters, 1000);
  EXPECT_EQ(trace->tensors, 3);
  ASSERT_EQ(trace->ops.size(), 1U);
  EXPECT_EQ(trace->ops[0], (TracedOp{TrainingPhase::backward,
                                     "aten::mm",
                                     32,
                                     {{"bf16", {4096, 2048}, {}}, {"bf16", {2048, 512}, {1, 2048}}},
                                     {{"bf16", {4096, 512}, {}}},
                                     {}}));
}

TEST(TracedTrainingJson, ReadsArgumentsThatChangeAKernelAndPassesOverOthers) {
  const auto trace = read_trace(with_ops(
      R"({"phase": "forward", "op": "aten::convolution", "count": 1, "in": [], "out": [],
          "args": {"stride": [2, 2], "groups": 4, "dim": -1, "end": 9223372036854775807}})"));
  ASSERT_TRUE(trace) << to_string(trace.error().details);
  const auto& arguments = trace->ops[0].arguments;
  EXPECT_EQ(arguments.size(), 3U);
  EXPECT_EQ(arguments.at("stride"), (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(arguments.at("groups"), std::vector<std::int64_t>{4});
  EXPECT_EQ(arguments.at("dim"), std::vector<std::int64_t>{-1});
}

TEST(TracedTrainingJson, OneNumberHasNoSizes) {
  const auto trace = read_trace(with_ops(
      R"({"phase": "optimizer", "op": "aten::add_", "count": 1,
          "in": [{"dtype": "int64", "shape": []}], "out": []})"));
  ASSERT_TRUE(trace) << to_string(trace.error().details);
  EXPECT_TRUE(trace->ops[0].inputs[0].shape.empty());
}

TEST(TracedTrainingJsonMistakes, AreToldAllAtOnceWithLineAndPath) {
  const std::string text = with_ops(R"(
  {"phase": "sideways", "op": "aten::mm", "count": 0, "in": [], "out": []},
  {"phase": "forward", "count": 1,
   "in": [{"dtype": "bf16", "shape": [4, -1]}, {"dtype": "bf16", "shape": [4, 4], "strides": [1]}],
   "out": 7})");
  EXPECT_EQ(trace_mistakes(text),
            "ops.json:4: ops[0].count is \"0\", expected an integer from 1 to 1000000\n"
            "ops.json:4: ops[0].phase is \"sideways\", expected forward, backward or optimizer\n"
            "ops.json:5: ops[1].op is missing, expected the operator's name, \"aten::mm\"\n"
            "ops.json:6: ops[1].in[0].shape[1] is \"-1\", expected an integer from 0 to "
            "1099511627776\n"
            "ops.json:6: ops[1].in[1].strides is \"1 numbers\", expected one for each of the 2 "
            "sizes\n"
            "ops.json:7: ops[1].out is \"7\", expected a list\n");
}

TEST(TracedTrainingJsonMistakes, AnotherFormatOrVersionSaysOnlyThat) {
  EXPECT_THAT(trace_mistakes(R"({"format": "weir-kernel-model", "version": 1})"),
              AllOf(HasSubstr("format is \"weir-kernel-model\", expected \"weir-ops\": a file that "
                              "tools/collect/trace_model.py --model wrote"),
                    Not(HasSubstr("ops is missing"))));
  EXPECT_THAT(trace_mistakes(R"({"format": "weir-ops", "version": 2})"),
              AllOf(HasSubstr("version is \"2\", expected an integer from 1 to 1"),
                    Not(HasSubstr("batch"))));
  EXPECT_THAT(trace_mistakes("{}"), HasSubstr("format is missing, expected \"weir-ops\""));
}

TEST(TracedTrainingJsonMistakes, NameWhatIsMissing) {
  const std::string mistakes = trace_mistakes(R"({"format": "weir-ops", "version": 1})");
  for (const char* field : {"model", "torch", "batch", "parameters", "tensors", "ops"})
    EXPECT_THAT(mistakes, HasSubstr(fmt::format("{} is missing", field)));
  EXPECT_THAT(trace_mistakes(with_ops("")), HasSubstr("ops is \"an empty list\""));
}

TEST(TracedTrainingJsonMistakes, RefuseWhatIsNotJsonAndTensorsBeyondAllMemory) {
  EXPECT_THAT(trace_mistakes("{\"format\": "), HasSubstr("ops.json:1: text is \"not JSON"));
  EXPECT_THAT(trace_mistakes("[1]"), HasSubstr("expected an object"));
  EXPECT_THAT(
      trace_mistakes(with_ops(
          R"({"phase": "forward", "op": "aten::x", "count": 1, "out": [],
              "in": [{"dtype": "bf16", "shape": [1099511627776, 1099511627776]}]})")),
      HasSubstr("ops[0].in[0].shape is \"larger\", expected at most 1099511627776 numbers"));
}

// As the tracer writes it.
std::string trace_text(const TracedTraining& training) {
  const auto tensors = [](const std::vector<TracedTensor>& all) {
    auto list = nlohmann::json::array();
    for (const TracedTensor& one : all) {
      nlohmann::json entry{{"dtype", one.dtype}, {"shape", one.shape}};
      if (!one.strides.empty()) entry["strides"] = one.strides;
      list.push_back(std::move(entry));
    }
    return list;
  };
  nlohmann::json document{{"format", "weir-ops"},       {"version", 1},
                          {"model", training.model},    {"batch", training.batch},
                          {"torch", training.torch},    {"parameters", training.parameters},
                          {"tensors", training.tensors}};
  for (const TracedOp& op : training.ops) {
    nlohmann::json entry{{"phase", to_string(op.phase)},
                         {"op", op.op},
                         {"count", op.count},
                         {"in", tensors(op.inputs)},
                         {"out", tensors(op.outputs)}};
    for (const auto& [name, values] : op.arguments) {
      if (values.size() == 1)
        entry["args"][name] = values.front();
      else
        entry["args"][name] = values;
    }
    document["ops"].push_back(std::move(entry));
  }
  return document.dump(1);
}

TracedTensor any_tensor() {
  TracedTensor tensor;
  tensor.dtype = *rc::gen::element<std::string>("bf16", "fp32", "int64");
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i) {
    tensor.shape.push_back(*rc::gen::inRange<std::int64_t>(0, 500));
    tensor.strides.push_back(*rc::gen::inRange<std::int64_t>(0, 500));
  }
  if (*rc::gen::arbitrary<bool>()) tensor.strides.clear();
  return tensor;
}

RC_GTEST_PROP(TracedTrainingJsonProperties, WhatIsWrittenIsRead, ()) {
  TracedTraining training;
  training.model = "net";
  training.torch = "2.11";
  training.batch = *rc::gen::inRange<std::int64_t>(1, 1000);
  training.parameters = *rc::gen::inRange<std::int64_t>(1, 1LL << 40);
  training.tensors = *rc::gen::inRange<std::int64_t>(1, 1000);
  for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
    TracedOp op;
    op.phase = *rc::gen::element(TrainingPhase::forward, TrainingPhase::backward,
                                 TrainingPhase::optimizer);
    op.op = "aten::" + std::to_string(i);
    op.count = *rc::gen::inRange<std::int64_t>(1, 1'000'001);
    for (int n = *rc::gen::inRange(0, 4); n > 0; --n) op.inputs.push_back(any_tensor());
    for (int n = *rc::gen::inRange(0, 3); n > 0; --n) op.outputs.push_back(any_tensor());
    for (const char* name : {"stride", "dim", "groups"})
      if (*rc::gen::arbitrary<bool>())
        op.arguments[name] = *rc::gen::container<std::vector<std::int64_t>>(
            2, rc::gen::inRange<std::int64_t>(-9, 99));
    training.ops.push_back(std::move(op));
  }
  const auto back = read_trace(trace_text(training));
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == training);
}

// Whatever is changed in a file, it is read or refused; nothing in between.
RC_GTEST_PROP(TracedTrainingJsonProperties, AnyByteChangedIsReadOrRefusedWithTheFile, ()) {
  std::string text = with_ops(kTracedProduct);
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  text[at] = static_cast<char>(*rc::gen::inRange(1, 128));
  const auto trace = read_trace(text);
  if (trace) {
    RC_ASSERT(!trace->ops.empty());
    for (const TracedOp& op : trace->ops) {
      RC_ASSERT(op.count >= 1);
      for (const TracedTensor& tensor : op.inputs)
        RC_ASSERT(tensor.strides.empty() || tensor.strides.size() == tensor.shape.size());
    }
  } else {
    RC_ASSERT(to_string(trace.error().details).starts_with("ops.json:"));
  }
}

}  // namespace
}  // namespace weir::formats
