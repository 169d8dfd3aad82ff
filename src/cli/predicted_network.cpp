// SPDX-License-Identifier: Apache-2.0
#include "cli/predicted_network.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/transformer_setup.h"
#include "formats/traced_training_json.h"
#include "predict/kernels/known_networks.h"
#include "predict/kernels/text_networks.h"
#include "predict/kernels/text_pieces.h"
#include "predict/kernels/traced_ops.h"

namespace weir::cli {
namespace {

constexpr double kLongestPredicted = 1 << 24;
// Of a config.json's network; keeps every count of numbers within 64 bits.
constexpr std::int64_t kMostTokens = std::int64_t{1} << 32;

constexpr const char* kSources[] = {"model", "model-config", "ops"};

void reject(Diagnostics& mistakes, const char* option, std::string found, std::string expected) {
  mistakes.add({{}, 0, fmt::format("--{}", option), std::move(found), std::move(expected)});
}

// What the config says of its layers and the prediction has otherwise: as models of that type usually are.
std::vector<std::string> style_notes(const formats::TransformerConfig& config) {
  const auto usual = predict::decoder_style(config.model.name, config.model.is_gated);
  std::vector<std::string> notes;
  if (config.style.has_qkv_biases != usual.has_query_bias)
    notes.push_back(fmt::format("biases of queries, keys and values (attention_bias) are {}",
                                usual.has_query_bias
                                    ? "counted, though the config has none"
                                    : "not counted: three small additions a layer"));
  if (config.style.has_other_biases && !usual.is_gpt)
    notes.push_back("biases of other linear layers are not counted: a small addition each");
  if (config.style.has_parallel_residual != usual.is_parallel)
    notes.push_back(fmt::format(
        "attention and MLP of a layer are counted {}",
        usual.is_parallel ? "side by side, though the config has one after the other"
                          : "one after the other, though the config has them side by side"));
  const LayerStyle& style = config.style;
  const bool drops_out =
      style.attention_dropout > 0 || style.hidden_dropout > 0 || style.embedding_dropout > 0;
  const bool is_dropout_counted = usual.has_places;
  if (drops_out != is_dropout_counted)
    notes.push_back(is_dropout_counted ? "dropout is counted, though the config has none"
                                       : "dropout is not counted");
  const bool has_usual_activation = usual.is_gpt ? style.activation == Activation::gelu_tanh ||
                                                       style.activation == Activation::gelu
                                                 : style.activation == Activation::silu;
  if (!has_usual_activation)
    notes.push_back(
        fmt::format("the MLP's activation is counted as {}", usual.is_gpt ? "GELU" : "SiLU"));
  if (usual.rotated_part > 0 &&
      std::abs(config.style.rotary_share * static_cast<double>(usual.rotated_part) - 1) > 1e-6)
    notes.push_back(
        fmt::format("positions turn {:g} of each head (rotary_pct); counted as {:g}, as usual",
                    config.style.rotary_share, 1 / static_cast<double>(usual.rotated_part)));
  return notes;
}

Result<PredictedNetwork> from_config(const OptionValues& options) {
  const std::string file = options.text("model-config");
  const auto config = formats::read_transformer_config(file, formats::ConfigUse::iteration);
  if (!config) return tl::unexpected(config.error());
  const TransformerModel& model = config->model;
  if (model.experts > 1)
    return bad_input(Diagnostic{file, 0, "num_local_experts", std::to_string(model.experts),
                                "1: how long routing to experts takes is not known"});
  const std::int64_t batch = options.integer("batch");
  const std::int64_t sequence =
      options.has("sequence") ? options.integer("sequence") : formats::usual_sequence(model);
  if (batch > kMostTokens / sequence)
    return bad_input(
        Diagnostic{{},
                   0,
                   "--batch",
                   std::to_string(batch),
                   fmt::format("at most {} with --sequence {}", kMostTokens / sequence, sequence)});
  std::vector<std::string> notes = sequence_notes(*config, sequence);
  for (std::string& note : style_notes(*config)) notes.push_back(std::move(note));
  return PredictedNetwork{file, batch, sequence, predict::transformer_ops(model, batch, sequence),
                          std::move(notes)};
}

Result<PredictedNetwork> from_trace(const OptionValues& options) {
  auto input = formats::InputFile::open(options.text("ops"), formats::kMaxTracedTrainingBytes);
  if (!input) return tl::unexpected(input.error());
  const auto traced = formats::read_traced_training(std::move(*input));
  if (!traced) return tl::unexpected(traced.error());
  if (options.has("batch") && options.integer("batch") != traced->batch)
    return bad_input(Diagnostic{
        {},
        0,
        "--batch",
        std::to_string(options.integer("batch")),
        fmt::format("{}, as {} was traced, or no --batch", traced->batch, options.text("ops"))});
  predict::TrainingOps ops = predict::ops_of_trace(*traced);
  if (ops.ops.empty())
    return bad_input(Diagnostic{options.text("ops"), 0, "ops", "only empty tensors",
                                "one operator or more that takes time"});
  return PredictedNetwork{traced->model, traced->batch, 0, std::move(ops), {}};
}

}  // namespace

std::vector<OptionSpec> network_source_options() {
  return {
      {.name = "model-config",
       .type = OptionType::file,
       .help = "With --gpu: a decoder's config.json, as Hugging Face writes it (gpt2, gpt_neox, "
               "llama, mistral, qwen2, qwen3, internlm2), instead of --model."},
      {.name = "sequence",
       .type = OptionType::integer,
       .unit = "tokens",
       .least = 1,
       .most = kLongestPredicted,
       .help = "With --model-config: the length of a sample. Default: the longest that the config "
               "knows, at most 4096; 4096 where it does not say."},
      {.name = "ops",
       .type = OptionType::file,
       .help = "With --gpu: operators that tools/collect/trace_model.py --model wrote down, "
               "instead of --model. The batch is as traced."}};
}

void check_network_source(const OptionValues& options, Diagnostics& mistakes) {
  const auto given = std::count_if(std::begin(kSources), std::end(kSources),
                                   [&](const char* name) { return options.has(name); });
  const auto known = predict::known_networks();
  if (given > 1)
    reject(mistakes, "model", "given",
           "one of --model, --model-config and --ops: they name a network each");
  else if (!options.has("model-config") && !options.has("ops")) {
    const std::string name = options.has("model") ? options.text("model") : "";
    if (std::find(known.begin(), known.end(), name) == known.end())
      reject(
          mistakes, "model", name,
          fmt::format("one of {}; or --model-config or --ops for another", fmt::join(known, ", ")));
  }
  if (!options.has("batch") && !options.has("ops"))
    reject(mistakes, "batch", "", "how many samples an iteration has");
  if (options.is_given("sequence") && !options.has("model-config"))
    reject(mistakes, "sequence", "given", "--model-config with it: other networks have their own");
}

Result<PredictedNetwork> predicted_network(const OptionValues& options) {
  if (options.has("model-config")) return from_config(options);
  if (options.has("ops")) return from_trace(options);
  const std::int64_t batch = options.integer("batch");
  return PredictedNetwork{
      options.text("model"), batch, 0, *predict::known_network(options.text("model"), batch), {}};
}

}  // namespace weir::cli
