// SPDX-License-Identifier: Apache-2.0
#include "formats/planned_model_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "formats/input_file.h"
#include "formats/input_ranges.h"
#include "formats/job_document.h"
#include "formats/job_fields.h"
#include "formats/json_string.h"
#include "formats/plain_name.h"
#include "formats/transformer_config.h"
#include "formats/yaml_document.h"

namespace weir::formats {
namespace {

namespace fs = std::filesystem;

struct NamedDimension {
  std::string_view name;
  std::int64_t TransformerModel::*member;
  std::int64_t most;
  bool is_required;
};
constexpr std::array<NamedDimension, 9> kModelDimensions{
    {{"layers", &TransformerModel::layers, kMostModelLayers, true},
     {"hidden", &TransformerModel::hidden, kMostHidden, true},
     {"heads", &TransformerModel::heads, kMostHeads, true},
     {"kv_heads", &TransformerModel::kv_heads, kMostHeads, false},
     {"head_dim", &TransformerModel::head_dim, kMostHeads, false},
     {"ffn", &TransformerModel::ffn, kMostFfn, false},
     {"vocab", &TransformerModel::vocab, kMostVocab, true},
     {"experts", &TransformerModel::experts, kMostExperts, false},
     {"experts_per_token", &TransformerModel::experts_per_token, kMostExperts, false}}};

constexpr std::array<std::string_view, 16> kModelKeys{
    "config",   "batch",    "sequence", "gpu",   "name", "layers", "hidden",  "heads",
    "kv_heads", "head_dim", "ffn",      "gated", "tied", "vocab",  "experts", "experts_per_token"};

constexpr std::string_view kCurveNameRule =
    "a name of 1 to 253 bytes, UTF-8 without spaces and control characters";
constexpr std::size_t kLongestGpuName = 64;

// Of all that makes a model fast or slow, so not of its name, and a curve has its batch beside the name. FNV-1a, which
// is the same on every machine, folded to what is short enough for a name.
std::uint32_t model_checksum(PlannedModel planned) {
  planned.dimensions.name.clear();
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char byte : write_planned_model(planned, 0))
    hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
  return static_cast<std::uint32_t>(hash ^ (hash >> 32U));
}

class PlannedModelReader {
 public:
  PlannedModelReader(const JobTree& tree, const JobNode& map, const std::optional<fs::path>& folder,
                     Diagnostics& mistakes)
      : fields_{tree, map, kModelKeys, mistakes, "model", "model."},
        folder_{folder},
        mistakes_{mistakes} {}

  std::optional<ModelOfAJob> read() {
    const std::size_t before = mistakes_.total();
    read_dimensions();
    const auto batch = fields_.integer("batch", 1, kMostGlobalBatch);
    if (!fields_.has("batch")) {
      fields_.reject("batch", fmt::format("the global batch, an integer from 1 to {}: a plan is "
                                          "made for it",
                                          kMostGlobalBatch));
    }
    read_sequence();
    made_.planned.gpu =
        fields_.get("gpu", JobTree::is_text, "a type of GPU, such as H200-141G", gpu_name)
            .value_or("");
    const auto name = fields_.get("name", JobTree::is_text, kCurveNameRule, curve_name);
    if (mistakes_.total() != before) return std::nullopt;
    TransformerModel& model = made_.planned.dimensions;
    model.name = name ? std::string{*name} : usual_name();
    made_.key = {model.name, *batch};
    return std::move(made_);
  }

 private:
  static std::optional<std::string_view> gpu_name(std::string_view text) {
    if (!is_model_name(text) || text.size() > kLongestGpuName) return std::nullopt;
    return text;
  }

  static std::optional<std::string_view> curve_name(std::string_view text) {
    if (!is_plain_name(text) || text.find(' ') != std::string_view::npos) return std::nullopt;
    return text;
  }

  // A file's name tells models apart; "transformer", or the kind of the model, does not.
  std::string usual_name() const {
    const PlannedModel& planned = made_.planned;
    std::string name = planned_model_name(title_, planned.dimensions, planned.sequence);
    if (!is_title_of_file_) name += fmt::format("-{:08x}", model_checksum(planned));
    return name;
  }

  static bool is_dimension(std::string_view key) {
    return key == "gated" || key == "tied" ||
           std::any_of(kModelDimensions.begin(), kModelDimensions.end(),
                       [&](const NamedDimension& known) { return known.name == key; });
  }

  void read_dimensions() {
    const bool has_any = std::any_of(kModelKeys.begin(), kModelKeys.end(), [&](auto key) {
      return is_dimension(key) && fields_.has(key);
    });
    if (!fields_.has("config") && !has_any) {
      return fields_.reject("config", folder_ ? "the model's config.json, or its dimensions: "
                                                "layers, hidden, heads, vocab"
                                              : "not that, but the dimensions: layers, hidden, "
                                                "heads, vocab");
    }
    if (!fields_.has("config")) {
      has_model_ = true;
      return read_given_dimensions();
    }
    for (const std::string_view key : kModelKeys) {
      if (is_dimension(key) && fields_.has(key))
        fields_.reject(key, "none of it beside config, which has the dimensions");
    }
    read_config();
  }

  void read_config() {
    const JobNode& node = *fields_.find("config");
    if (!folder_) {
      return fields_.reject("config",
                            "the dimensions instead: layers, hidden, heads, vocab. Servers open "
                            "no files of users; `weir submit` reads it and sends them");
    }
    if (!JobTree::is_text(node) || node.text.empty() ||
        node.text.find('\0') != std::string_view::npos) {
      return fields_.reject("config", "the path of the model's config.json");
    }
    const fs::path path = *folder_ / fs::path{node.text};
    std::error_code error;
    if (!fs::exists(path, error)) {
      return fields_.reject("config", fmt::format("a file that is there: {} is not (the path "
                                                  "counts from the folder of the job's file)",
                                                  path.lexically_normal().string()));
    }
    if (fs::is_directory(path, error)) {
      return fields_.reject(
          "config", fmt::format("a config.json: {} is a folder", path.lexically_normal().string()));
    }
    auto config = read_transformer_config(path);
    if (!config) return mistakes_.append(config.error().details);
    title_ = path.stem().string();
    // Every model's file has that name; its kind says more.
    is_title_of_file_ = title_ != "config" && curve_name(title_);
    if (!is_title_of_file_) title_ = config->model.name;
    made_.planned.dimensions = std::move(config->model);
    has_model_ = true;
  }

  void read_given_dimensions() {
    TransformerModel& model = made_.planned.dimensions;
    for (const NamedDimension& known : kModelDimensions) {
      const auto value = fields_.integer(known.name, 1, known.most);
      if (known.is_required && !fields_.has(known.name)) {
        fields_.reject(known.name, fmt::format("an integer from 1 to {}", known.most));
      }
      if (value) model.*known.member = *value;
    }
    const auto truth = [&](std::string_view key) {
      return fields_.get(key, JobTree::is_truth, "true or false", parse_truth).value_or(false);
    };
    model.is_gated = truth("gated");
    model.has_tied_embeddings = truth("tied");
    if (!fields_.has("kv_heads")) model.kv_heads = model.heads;
    if (!fields_.has("ffn")) model.ffn = std::min(4 * model.hidden, kMostFfn);
    check(model);
  }

  void check(TransformerModel& model) {
    if (model.heads == 0 || model.hidden == 0) return;  // noted
    if (!fields_.has("head_dim")) {
      if (model.hidden % model.heads != 0)
        fields_.reject("heads", fmt::format("a divisor of hidden, {}", model.hidden));
      model.head_dim = std::max<std::int64_t>(1, model.hidden / model.heads);
    }
    if (model.kv_heads > 0 && model.heads % model.kv_heads != 0)
      fields_.reject("kv_heads", fmt::format("a divisor of heads, {}", model.heads));
    if (model.experts_per_token > model.experts)
      fields_.reject("experts_per_token", fmt::format("at most experts, {}", model.experts));
  }

  void read_sequence() {
    const auto given = fields_.integer("sequence", 1, kLongestSequence);
    // Nobody sees the sequence of a job beside its answer: where the model does not say, the job has to.
    TransformerModel& model = made_.planned.dimensions;
    made_.planned.sequence = given.value_or(model.positions > 0 ? usual_sequence(model) : 0);
    model.positions = 0;
    if (made_.planned.sequence > 0 || fields_.has("sequence") || !has_model_) return;
    fields_.reject("sequence", fields_.has("config")
                                   ? "the tokens of a sample: the config does not say how many"
                                   : "the tokens of a sample, such as 2048");
  }

  JobFields fields_;
  const std::optional<fs::path>& folder_;
  Diagnostics& mistakes_;
  std::string title_ = "transformer";
  bool is_title_of_file_ = false;
  bool has_model_ = false;  // none was found: its sequence does not matter
  ModelOfAJob made_;
};

// What the reader takes when nothing is said.
std::int64_t usual(const NamedDimension& known, const TransformerModel& model) {
  if (known.name == "kv_heads") return model.heads;
  if (known.name == "head_dim" && model.heads > 0 && model.hidden % model.heads == 0)
    return model.hidden / model.heads;
  if (known.name == "ffn") return std::min(4 * model.hidden, kMostFfn);
  if (known.name == "experts" || known.name == "experts_per_token") return 1;
  return 0;
}

}  // namespace

std::optional<ModelOfAJob> read_planned_model(const JobTree& tree, const JobTree::Node& map,
                                              const std::optional<fs::path>& folder,
                                              Diagnostics& mistakes) {
  return PlannedModelReader{tree, map, folder, mistakes}.read();
}

std::string write_planned_model(const PlannedModel& planned, std::int64_t batch) {
  const TransformerModel& model = planned.dimensions;
  std::string out = "{\"name\":";
  append_json_string(out, model.name);
  out += fmt::format(",\"batch\":{},\"sequence\":{}", batch, planned.sequence);
  for (const NamedDimension& known : kModelDimensions) {
    const std::int64_t value = model.*known.member;
    if (known.is_required || value != usual(known, model))
      out += fmt::format(",\"{}\":{}", known.name, value);
  }
  if (model.is_gated) out += ",\"gated\":true";
  if (model.has_tied_embeddings) out += ",\"tied\":true";
  if (!planned.gpu.empty()) {
    out += ",\"gpu\":";
    append_json_string(out, planned.gpu);
  }
  return out + "}";
}

}  // namespace weir::formats
