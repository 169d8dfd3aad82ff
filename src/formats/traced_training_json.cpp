// SPDX-License-Identifier: Apache-2.0
#include "formats/traced_training_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "formats/json_values.h"

namespace weir::formats {
namespace {

constexpr std::int64_t kTraceVersion = 1;
constexpr std::string_view kTraceFormat = "weir-ops";
// Together these keep every sum over a file within 64 bits.
constexpr std::size_t kMostOps = 20'000;
constexpr std::size_t kMostTensors = 20'000;  // of one operator: an optimizer has them all
constexpr std::size_t kMostDimensions = 16;
constexpr std::size_t kMostArgumentNumbers = 64;
constexpr std::int64_t kMostElements = std::int64_t{1} << 40;  // of one tensor
constexpr std::int64_t kMostCalls = 1'000'000;
constexpr std::int64_t kMostTracedBatch = 1'000'000;

constexpr std::array<std::string_view, 8> kRootKeys{"format", "version",    "model",   "batch",
                                                    "torch",  "parameters", "tensors", "ops"};
constexpr std::array<std::string_view, 6> kOpKeys{"phase", "op", "count", "in", "out", "args"};
constexpr std::array<std::string_view, 3> kTensorKeys{"dtype", "shape", "strides"};

class TraceReader {
 public:
  TraceReader(std::string file, std::string_view text) : json_{std::move(file), text} {}

  Result<TracedTraining> read() {
    if (const auto root = json_.root()) {
      const auto members = json_.members(*root, kRootKeys);
      if (json_.mistakes().empty()) read_root(*root, members);
    }
    if (!json_.mistakes().empty()) return bad_input(json_.mistakes());
    return std::move(training_);
  }

 private:
  using Members = JsonValues::Members;

  const JsonValue* required(const JsonValue& object, const Members& members, std::string_view key,
                            const char* expected) {
    const auto at = members.find(key);
    if (at != members.end()) return &at->second;
    json_.reject_missing(object, key, expected);
    return nullptr;
  }

  std::int64_t whole(const JsonValue& object, const Members& members, std::string_view key,
                     std::int64_t most) {
    const JsonValue* value = required(object, members, key, "a whole number");
    return value == nullptr ? 1 : json_.integer(*value, 1, most).value_or(1);
  }

  std::string text(const JsonValue& object, const Members& members, std::string_view key,
                   const char* expected) {
    const JsonValue* value = required(object, members, key, expected);
    return value == nullptr ? std::string{} : json_.name(*value).value_or("");
  }

  void read_root(const JsonValue& root, const Members& members) {
    const std::string format = text(root, members, "format", "\"weir-ops\"");
    if (!format.empty() && format != kTraceFormat)
      json_.reject(members.at("format"), format,
                   "\"weir-ops\": a file that tools/collect/trace_model.py --model wrote");
    const JsonValue* version = required(root, members, "version", "1");
    if (version != nullptr) json_.integer(*version, kTraceVersion, kTraceVersion);
    // Another format or version has other fields: no more to say.
    if (!json_.mistakes().empty()) return;
    training_.model = text(root, members, "model", "the network's name");
    training_.torch = text(root, members, "torch", "the version of PyTorch");
    training_.batch = whole(root, members, "batch", kMostTracedBatch);
    training_.parameters = whole(root, members, "parameters", kMostElements);
    training_.tensors = whole(root, members, "tensors", kMostElements);
    const JsonValue* ops = required(root, members, "ops", "a list of operators");
    if (ops == nullptr) return;
    const auto elements = json_.elements(*ops, kMostOps);
    if (!elements) return;
    if (elements->empty()) json_.reject(*ops, "an empty list", "one operator or more");
    training_.ops.reserve(elements->size());
    for (std::size_t i = 0; i < elements->size() && !json_.mistakes().full(); ++i)
      read_op(element_of(*ops, i, (*elements)[i]));
  }

  void read_op(const JsonValue& value) {
    const std::size_t before = json_.mistakes().total();
    const auto members = json_.members(value, kOpKeys);
    if (json_.mistakes().total() != before) return;
    TracedOp op;
    op.op = text(value, members, "op", "the operator's name, \"aten::mm\"");
    op.count = whole(value, members, "count", kMostCalls);
    read_phase(value, members, op);
    read_tensors(value, members, "in", op.inputs);
    read_tensors(value, members, "out", op.outputs);
    if (const auto args = members.find("args"); args != members.end())
      read_arguments(args->second, op);
    training_.ops.push_back(std::move(op));
  }

  void read_phase(const JsonValue& value, const Members& members, TracedOp& op) {
    constexpr const char* kExpected = "forward, backward or optimizer";
    const JsonValue* phase = required(value, members, "phase", kExpected);
    if (phase == nullptr) return;
    const auto name = json_.name(*phase);
    if (!name) return;
    const auto at = std::find(kTrainingPhaseNames.begin(), kTrainingPhaseNames.end(), *name);
    if (at == kTrainingPhaseNames.end())
      json_.reject(*phase, *name, kExpected);
    else
      op.phase = static_cast<TrainingPhase>(at - kTrainingPhaseNames.begin());
  }

  void read_tensors(const JsonValue& value, const Members& members, std::string_view key,
                    std::vector<TracedTensor>& into) {
    const JsonValue* list = required(value, members, key, "a list of tensors");
    if (list == nullptr) return;
    const auto elements = json_.elements(*list, kMostTensors);
    if (!elements) return;
    into.reserve(elements->size());
    for (std::size_t i = 0; i < elements->size() && !json_.mistakes().full(); ++i)
      into.push_back(tensor(element_of(*list, i, (*elements)[i])));
  }

  TracedTensor tensor(const JsonValue& value) {
    const std::size_t before = json_.mistakes().total();
    const auto members = json_.members(value, kTensorKeys);
    TracedTensor tensor;
    if (json_.mistakes().total() != before) return tensor;
    tensor.dtype = text(value, members, "dtype", "the number format, \"bf16\"");
    const JsonValue* shape = required(value, members, "shape", "a list of sizes");
    if (shape == nullptr) return tensor;
    tensor.shape = numbers(*shape, kMostDimensions, 0, kMostElements);
    std::int64_t elements = 1;
    for (const std::int64_t size : tensor.shape) {
      if (size > 0 && elements > kMostElements / size) {
        json_.reject(*shape, "larger", fmt::format("at most {} numbers in all", kMostElements));
        return tensor;
      }
      elements *= std::max<std::int64_t>(1, size);
    }
    const auto strides = members.find("strides");
    if (strides == members.end()) return tensor;
    tensor.strides = numbers(strides->second, kMostDimensions, 0, kMostElements);
    if (tensor.strides.size() != tensor.shape.size())
      json_.reject(strides->second, fmt::format("{} numbers", tensor.strides.size()),
                   fmt::format("one for each of the {} sizes", tensor.shape.size()));
    return tensor;
  }

  std::vector<std::int64_t> numbers(const JsonValue& list, std::size_t most,
                                    std::int64_t least_each, std::int64_t most_each) {
    std::vector<std::int64_t> found;
    const auto elements = json_.elements(list, most);
    if (!elements) return found;
    for (std::size_t i = 0; i < elements->size(); ++i)
      found.push_back(json_.integer(element_of(list, i, (*elements)[i]), least_each, most_each)
                          .value_or(std::max<std::int64_t>(least_each, 0)));
    return found;
  }

  void read_arguments(const JsonValue& value, TracedOp& op) {
    for (const auto& [name, argument] : json_.members(value, kTracedArguments)) {
      std::vector<std::int64_t>& into = op.arguments[std::string{name}];
      if (is_json_list(argument.text))
        into = numbers(argument, kMostArgumentNumbers, -kMostElements, kMostElements);
      else
        into = {json_.integer(argument, -kMostElements, kMostElements).value_or(0)};
    }
  }

  JsonValues json_;
  TracedTraining training_;
};

}  // namespace

Result<TracedTraining> read_traced_training(InputFile input) {
  const std::string name = input.name();
  const auto text = input.read_all(kMaxTracedTrainingBytes);
  if (!text) return tl::unexpected(text.error());
  return TraceReader{name, *text}.read();
}

}  // namespace weir::formats
