// SPDX-License-Identifier: Apache-2.0
#include "formats/training_plan_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/whole_numbers.h"
#include "formats/input_ranges.h"
#include "formats/json_string.h"
#include "formats/json_values.h"

namespace weir::formats {
namespace {

using Json = nlohmann::ordered_json;
using Members = JsonValues::Members;

constexpr int kMostLayers = 1'000'000;
constexpr int kMostMachines = 65'536;  // nodes, and GPUs of a node

// What is said about each operator: under which key in weir's own form, and in the artifact's with
// run lengths or with full lists.
struct OpProperty {
  std::string_view key;
  std::string_view artifact_runs;
  std::string_view artifact_list;
  int most;
  bool is_power_of_two;
  void (*set)(PlanOp&, int);
  int (*get)(const PlanOp&);
};
constexpr std::array<OpProperty, 4> kOpProperties{
    {{"tp", "tp_rle", "model_parallel_size_of_each_op", kMostPlanStageGpus, true,
      [](PlanOp& op, int value) { op.tp = static_cast<std::int16_t>(value); },
      [](const PlanOp& op) { return int{op.tp}; }},
     {"dp", "dp_rle", "data_parallel_size_of_each_op", kMostPlanStageGpus, true,
      [](PlanOp& op, int value) { op.dp = static_cast<std::int16_t>(value); },
      [](const PlanOp& op) { return int{op.dp}; }},
     {"dim", "dim_rle", "algo_of_each_op", 1, false,
      [](PlanOp& op, int value) { op.dim = static_cast<std::int8_t>(value); },
      [](const PlanOp& op) { return int{op.dim}; }},
     {"recompute", "rc_rle", "recompute_ops", 1, false,
      [](PlanOp& op, int value) { op.recompute = value == 1; },
      [](const PlanOp& op) { return op.recompute ? 1 : 0; }}}};

// How the two forms spell what they say about the whole plan; empty where a form does not say it.
struct Spelling {
  std::string_view database, model, size, layers, nodes, gpus_per_node, memory_limit, cost_model;
  std::string_view batch, microbatch;
};
constexpr Spelling kOwn{
    "database",         "model",      "size",  "layers",    "nodes", "gpus_per_node",
    "memory_limit_mib", "cost_model", "batch", "microbatch"};
constexpr Spelling kArtifact{
    "profile_db", "model_name",      "model_size", "num_layers",        "",
    "",           "memory_limit_mb", "",           "global_batch_size", "micro_batch_size"};
constexpr std::string_view kStages = "stages";
constexpr std::string_view kArtifactGpus = "num_gpus";
constexpr std::string_view kArtifactOps = "num_ops_in_each_stage";

constexpr auto kKeys = [] {
  std::array<std::string_view, 28> keys{
      kStages,           kArtifactGpus,       kArtifactOps,
      kOwn.database,     kOwn.model,          kOwn.size,
      kOwn.layers,       kOwn.nodes,          kOwn.gpus_per_node,
      kOwn.memory_limit, kOwn.cost_model,     kOwn.batch,
      kOwn.microbatch,   kArtifact.database,  kArtifact.model,
      kArtifact.size,    kArtifact.layers,    kArtifact.memory_limit,
      kArtifact.batch,   kArtifact.microbatch};
  std::size_t at = keys.size() - 2 * kOpProperties.size();
  for (const OpProperty& property : kOpProperties) {
    keys[at++] = property.artifact_runs;
    keys[at++] = property.artifact_list;
  }
  return keys;
}();
constexpr std::array<std::string_view, 6> kStageKeys{"ops", "gpus", "tp", "dp", "dim", "recompute"};

const JsonValue* find(const Members& members, std::string_view key) {
  const auto at = members.find(key);
  return at == members.end() ? nullptr : &at->second;
}

// Where a stage says one thing about its operators, and whether as a full list or in runs.
struct OpValues {
  JsonValue value;
  bool is_list = false;
};
using StageValues = std::array<OpValues, kOpProperties.size()>;  // as kOpProperties

// The operators of one stage. Requires: the stage has as many as it says, and its GPUs; 0 of those
// when that was wrong.
class StageReader {
 public:
  StageReader(JsonValues& json, PlanStage& stage) : json_{json}, stage_{stage} {}

  void read(const StageValues& values, int microbatch) {
    const std::size_t before = json_.mistakes().total();
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i].is_list ? read_list(values[i].value, kOpProperties[i])
                        : read_runs(values[i].value, kOpProperties[i]);
    }
    if (json_.mistakes().total() == before) check(values[1].value, microbatch);
  }

 private:
  // [[value, count], ...]
  void read_runs(const JsonValue& list, const OpProperty& property) {
    const auto runs = json_.elements(list, stage_.ops.size());
    if (!runs) return;
    std::size_t filled = 0;
    for (std::size_t i = 0; i < runs->size(); ++i) {
      const auto [value, count] = read_run(element_of(list, i, (*runs)[i]), property);
      if (count == 0) return;
      const std::size_t end = filled + count;
      for (std::size_t op = filled; op < std::min(end, stage_.ops.size()); ++op)
        property.set(stage_.ops[op], value);
      filled = end;
    }
    check_count(list, filled);
  }

  struct Run {
    int value = 0;
    std::size_t count = 0;
  };
  // A count of 0 when it is wrong.
  Run read_run(const JsonValue& run, const OpProperty& property) {
    const auto parts = json_.elements(run, 2);
    if (!parts) return {};
    if (parts->size() != 2) {
      json_.reject(run, shortened(run.text), "[value, count]");
      return {};
    }
    const auto value = read_value(run, 0, (*parts)[0], property);
    const auto count = json_.integer(element_of(run, 1, (*parts)[1]), 1, kMostPlanOps);
    if (!value || !count) return {};
    return {*value, static_cast<std::size_t>(*count)};
  }

  // [value, value, ...]
  void read_list(const JsonValue& list, const OpProperty& property) {
    const auto values = json_.elements(list, kMostPlanOps);
    if (!values) return;
    for (std::size_t i = 0; i < std::min(values->size(), stage_.ops.size()); ++i) {
      const auto value = read_value(list, i, (*values)[i], property);
      if (!value) return;
      property.set(stage_.ops[i], *value);
    }
    check_count(list, values->size());
  }

  std::optional<int> read_value(const JsonValue& list, std::size_t index, std::string_view text,
                                const OpProperty& property) {
    const auto value = json_integer(text);
    const bool is_right = value && *value <= property.most &&
                          (property.is_power_of_two ? is_power_of_two(*value) : *value >= 0);
    if (is_right) return static_cast<int>(*value);
    json_.reject(element_of(list, index, text),
                 property.is_power_of_two
                     ? fmt::format("a power of two from 1 to {}", property.most)
                     : "0 or 1");
    return std::nullopt;
  }

  void check_count(const JsonValue& list, std::size_t count) {
    if (count == stage_.ops.size()) return;
    json_.reject(list, fmt::format("for {} operators", count),
                 fmt::format("{}, as many as the stage has", stage_.ops.size()));
  }

  // One mistake of each kind is enough: operators come in runs.
  void check(const JsonValue& dp, int microbatch) {
    const auto& ops = stage_.ops;
    const auto wrong = std::find_if(ops.begin(), ops.end(), [&](const PlanOp& op) {
      return stage_.gpus > 0 && op.tp * op.dp != stage_.gpus;
    });
    if (wrong != ops.end()) {
      json_.reject(dp,
                   fmt::format("{} where tp is {}, at operator {} of the stage", wrong->dp,
                               wrong->tp, wrong - ops.begin()),
                   fmt::format("tp x dp = {}, the GPUs of the stage", stage_.gpus));
      return;
    }
    const auto uneven = std::find_if(ops.begin(), ops.end(),
                                     [&](const PlanOp& op) { return microbatch % op.dp != 0; });
    if (uneven != ops.end()) {
      json_.reject(dp,
                   fmt::format("{} at operator {} of the stage", uneven->dp, uneven - ops.begin()),
                   fmt::format("a divisor of the microbatch, {}", microbatch));
    }
  }

  JsonValues& json_;
  PlanStage& stage_;
};

// Everything that is wrong is noted; the document is of use only when nothing is.
class PlanReader {
 public:
  PlanReader(std::string file, std::string_view text) : json_{std::move(file), text} {}

  Result<PlanDocument> read() {
    if (const auto root = json_.root()) read_document(*root);
    if (!json_.mistakes().empty()) return bad_input(json_.mistakes());
    return std::move(document_);
  }

 private:
  void read_document(const JsonValue& root) {
    root_ = root;
    members_ = json_.members(root, kKeys);
    const bool is_own = members_.contains(kStages);
    const bool is_artifact = members_.contains(kArtifactGpus) || members_.contains(kArtifactOps);
    if (!json_.mistakes().empty()) return;
    if (!is_own && !is_artifact && root.text.find("\"micro_batch\"") != std::string_view::npos) {
      return json_.reject(JsonValue{root.text, "file"}, "a plan of `weir plan --model-config`",
                          "a plan of a profiled model (`weir plan --model`): the time of this one "
                          "is what `weir plan --model-config` prints; with --pin it tells that of "
                          "any other");
    }
    if (!is_own && !is_artifact) {
      return json_.reject_missing(root, kStages,
                                  fmt::format("a list of stages, or {} and {} as Aceso writes them",
                                              kArtifactGpus, kArtifactOps));
    }
    read_header(is_own ? kOwn : kArtifact);
    if (const JsonValue* const layers = find(members_, is_own ? kOwn.layers : kArtifact.layers)) {
      // The artifact has a list where layers are not all alike.
      if (is_own || !is_json_list(layers->text))
        document_.layers = read_integer(*layers, kMostLayers);
    }
    is_own ? read_own_stages(members_.at(kStages)) : read_artifact_stages();
  }

  void read_header(const Spelling& keys) {
    read_name(keys.database, document_.database);
    read_name(keys.model, document_.model);
    read_name(keys.size, document_.size);
    read_name(keys.cost_model, document_.cost_model);
    if (const JsonValue* const nodes = find(members_, keys.nodes))
      document_.nodes = read_integer(*nodes, kMostMachines);
    if (const JsonValue* const gpus = find(members_, keys.gpus_per_node))
      document_.gpus_per_node = read_integer(*gpus, kMostMachines);
    if (const JsonValue* const memory = find(members_, keys.memory_limit))
      document_.memory_limit_mib = json_.positive_number(*memory, kMostMebibytes);
    TrainingPlan& plan = document_.plan;
    plan.batch = read_samples(keys.batch, "the samples of an iteration");
    plan.microbatch = read_samples(keys.microbatch, "the samples in a stage at a time");
    if (plan.batch == 0 || plan.microbatch == 0 || plan.batch % plan.microbatch == 0) return;
    json_.reject(members_.at(keys.microbatch),
                 fmt::format("a divisor of {}, which is {}", keys.batch, plan.batch));
  }

  void read_name(std::string_view key, std::string& name) {
    if (const JsonValue* const value = find(members_, key)) name = json_.name(*value).value_or("");
  }

  // 0 when it is missing or wrong.
  int read_samples(std::string_view key, std::string expected) {
    const JsonValue* const value = find(members_, key);
    if (value != nullptr) return read_integer(*value, int{kMostGlobalBatch}).value_or(0);
    json_.reject_missing(root_, key, std::move(expected));
    return 0;
  }

  std::optional<int> read_integer(const JsonValue& value, int most) {
    const auto number = json_.integer(value, 1, most);
    return number ? std::optional{static_cast<int>(*number)} : std::nullopt;
  }

  void read_own_stages(const JsonValue& list) {
    const auto stages = json_.elements(list, kMostPlanStages);
    if (!stages) return;
    if (stages->empty()) json_.reject(list, "empty", "at least one stage");
    for (std::size_t i = 0; i < stages->size() && !json_.mistakes().full(); ++i)
      read_own_stage(element_of(list, i, (*stages)[i]));
  }

  void read_own_stage(const JsonValue& object) {
    const std::size_t before = json_.mistakes().total();
    const Members members = json_.members(object, kStageKeys);
    if (json_.mistakes().total() != before) return;
    for (const std::string_view key : kStageKeys) {
      if (!members.contains(key)) json_.reject_missing(object, key, "it in every stage");
    }
    const JsonValue* const range = find(members, "ops");
    const std::int64_t ops = range != nullptr ? read_range(*range) : 0;
    if (members.size() != kStageKeys.size()) return;
    StageValues values;
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i].value = members.at(kOpProperties[i].key);
    read_stage(members.at("gpus"), ops, values);
  }

  // How many operators [first, end] holds; 0 when that is wrong.
  std::int64_t read_range(const JsonValue& range) {
    const auto ends = json_.elements(range, 2);
    if (!ends) return 0;
    const auto first = ends->size() == 2 ? json_integer((*ends)[0]) : std::nullopt;
    const auto end = ends->size() == 2 ? json_integer((*ends)[1]) : std::nullopt;
    if (!first || !end || *first < 0 || *end <= *first || *end > kMostPlanOps) {
      json_.reject(
          range, shortened(range.text),
          fmt::format("[first, end]: the first operator and the one after the last, up to {}",
                      kMostPlanOps));
      return 0;
    }
    const std::int64_t expected = std::exchange(next_op_, *end);
    if (*first == expected) return *end - *first;
    json_.reject(range, shortened(range.text),
                 fmt::format("operators from {} on: stages follow each other", expected));
    return 0;
  }

  void read_artifact_stages() {
    const auto gpus = artifact_list(kArtifactGpus, std::nullopt);
    const auto stages = gpus ? std::optional{gpus->size()} : std::nullopt;
    const auto ops = artifact_list(kArtifactOps, stages);
    std::array<std::optional<std::vector<JsonValue>>, kOpProperties.size()> lists;
    bool is_whole = gpus && ops;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const OpProperty& property = kOpProperties[i];
      const bool is_list = members_.contains(property.artifact_list);
      lists[i] = artifact_list(is_list ? property.artifact_list : property.artifact_runs, stages);
      is_whole = is_whole && lists[i];
    }
    if (!is_whole) return;
    for (std::size_t stage = 0; stage < *stages && !json_.mistakes().full(); ++stage) {
      const auto count = json_.integer((*ops)[stage], 1, kMostPlanOps - next_op_);
      next_op_ += count.value_or(0);
      StageValues values;
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = {(*lists[i])[stage], members_.contains(kOpProperties[i].artifact_list)};
      read_stage((*gpus)[stage], count.value_or(0), values);
    }
  }

  // A list with an element for each stage.
  std::optional<std::vector<JsonValue>> artifact_list(std::string_view key,
                                                      std::optional<std::size_t> stages) {
    const JsonValue* const list = find(members_, key);
    if (list == nullptr) {
      json_.reject_missing(root_, key, "a list with an element for each stage");
      return std::nullopt;
    }
    const auto texts = json_.elements(*list, kMostPlanStages);
    if (!texts) return std::nullopt;
    if (texts->empty() || texts->size() != stages.value_or(texts->size())) {
      json_.reject(
          *list, fmt::format("{} long", texts->size()),
          stages ? fmt::format("{}, as long as {}", *stages, kArtifactGpus) : "at least one stage");
      return std::nullopt;
    }
    std::vector<JsonValue> values;
    for (std::size_t i = 0; i < texts->size(); ++i)
      values.push_back(element_of(*list, i, (*texts)[i]));
    return values;
  }

  // Memory for the operators is taken only here, for a number that was checked; 0 is a wrong one.
  void read_stage(const JsonValue& gpus, std::int64_t ops, const StageValues& values) {
    PlanStage& stage = document_.plan.stages.emplace_back();
    stage.gpus = read_gpus(gpus);
    if (ops == 0) return;
    stage.ops.resize(static_cast<std::size_t>(ops));
    StageReader{json_, stage}.read(values, document_.plan.microbatch);
  }

  int read_gpus(const JsonValue& value) {
    const auto gpus = json_integer(value.text);
    if (gpus && *gpus <= kMostPlanStageGpus && is_power_of_two(*gpus))
      return static_cast<int>(*gpus);
    json_.reject(value, fmt::format("a power of two from 1 to {}", kMostPlanStageGpus));
    return 0;
  }

  JsonValues json_;
  JsonValue root_;
  Members members_;
  PlanDocument document_;
  std::int64_t next_op_ = 0;
};

Json runs_json(const std::vector<PlanOp>& ops, const OpProperty& property) {
  Json runs = Json::array();
  for (auto at = ops.begin(); at != ops.end();) {
    const int value = property.get(*at);
    const auto end =
        std::find_if(at, ops.end(), [&](const PlanOp& op) { return property.get(op) != value; });
    runs.push_back(Json::array({value, end - at}));
    at = end;
  }
  return runs;
}

// 12000 rather than 12000.0, where that is the same number.
Json number_json(double number) {
  constexpr double kExactIntegers = 9e15;
  if (std::abs(number) < kExactIntegers && number == std::floor(number))
    return static_cast<std::int64_t>(number);
  return number;
}

}  // namespace

Result<PlanDocument> read_plan_json(InputFile input) {
  const auto text = input.read_all(kMaxPlanJsonBytes + 1);
  if (!text) return tl::unexpected(text.error());
  if (text->size() > kMaxPlanJsonBytes)
    return bad_input(
        Diagnostic{input.name(), 0, "text", "longer than 64 MiB", "at most 64 MiB of JSON"});
  return PlanReader{input.name(), *text}.read();
}

Result<PlanDocument> read_plan_json(const std::filesystem::path& path) {
  auto input = InputFile::open(path);
  if (!input) return tl::unexpected(input.error());
  return read_plan_json(std::move(*input));
}

Json stage_json(const PlanStage& stage, int first) {
  Json json;
  json["ops"] = Json::array({first, first + static_cast<int>(stage.ops.size())});
  json["gpus"] = stage.gpus;
  for (const OpProperty& property : kOpProperties)
    json[std::string{property.key}] = runs_json(stage.ops, property);
  return json;
}

Json plan_header_json(const PlanDocument& document) {
  Json json = Json::object();
  const auto put = [&](std::string_view key, auto value) {
    json[std::string{key}] = std::move(value);
  };
  if (!document.database.empty()) put(kOwn.database, document.database);
  if (!document.model.empty()) put(kOwn.model, document.model);
  if (!document.size.empty()) put(kOwn.size, document.size);
  if (document.layers) put(kOwn.layers, *document.layers);
  if (document.nodes) put(kOwn.nodes, *document.nodes);
  if (document.gpus_per_node) put(kOwn.gpus_per_node, *document.gpus_per_node);
  if (document.memory_limit_mib) put(kOwn.memory_limit, number_json(*document.memory_limit_mib));
  if (!document.cost_model.empty()) put(kOwn.cost_model, document.cost_model);
  put(kOwn.batch, document.plan.batch);
  put(kOwn.microbatch, document.plan.microbatch);
  return json;
}

Json plan_json(const PlanDocument& document) {
  Json json = plan_header_json(document);
  Json& stages = json[std::string{kStages}] = Json::array();
  int first = 0;
  for (const PlanStage& stage : document.plan.stages) {
    stages.push_back(stage_json(stage, first));
    first += static_cast<int>(stage.ops.size());
  }
  return json;
}

}  // namespace weir::formats
