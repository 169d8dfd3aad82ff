// SPDX-License-Identifier: Apache-2.0
#include "cli/kernels_pick_command.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/embedded_kernel_models.h"
#include "cli/fitted_device.h"
#include "formats/conv_algorithms_csv.h"
#include "formats/data_amount_text.h"
#include "formats/json_text.h"
#include "formats/kernel_model_json.h"
#include "formats/kernel_tables_csv.h"
#include "predict/kernels/algorithm_picker.h"
#include "predict/kernels/attention_backend.h"
#include "predict/kernels/fit_kernels.h"
#include "predict/kernels/kernel_work.h"
#include "predict/kernels/launch_dispatch.h"

namespace weir::cli {
namespace {

constexpr std::int64_t kMostPickSize = 1'000'000;
constexpr double kMostWorkspace = 1e15;

struct PickCandidate {
  std::string name{};
  KernelCall call{};
  std::int64_t workspace_bytes = 0;  // as of the nearest measured shape, by the bytes that move
  std::string refused{};             // why it cannot be picked
  double seconds = 0;
  bool is_extrapolated = false;
};

constexpr std::array<std::string_view, 3> kConvPickPasses = {"fwd", "dgrad", "wgrad"};
constexpr std::array<std::string_view, 2> kAttentionPickPasses = {"fwd", "bwd"};
constexpr std::array<std::string_view, 2> kPickLayouts = {"nhwc", "nchw"};
constexpr std::array<std::string_view, 3> kPickDtypes = {"bf16", "tf32", "fp32"};

// "32,64,128,3,56,1,1", as many as the family has.
std::optional<KernelSizes> pick_sizes(const std::string& text, KernelFamily family) {
  KernelSizes sizes{};
  const char* at = text.data();
  const char* const end = at + text.size();
  const std::size_t count = kernel_size_names(family).size();
  for (std::size_t i = 0; i < count; ++i) {
    const bool may_be_zero =
        i == (family == KernelFamily::conv ? std::size_t{conv_size::pad}
                                           : std::size_t{attention_size::causal});
    const auto [next, error] = std::from_chars(at, end, sizes[i]);
    if (error != std::errc{} || sizes[i] < (may_be_zero ? 0 : 1) || sizes[i] > kMostPickSize)
      return std::nullopt;
    if ((next == end) != (i + 1 == count) || (next != end && *next != ',')) return std::nullopt;
    at = next == end ? next : next + 1;
  }
  return sizes;
}

void check_word(const OptionValues& options, const char* option,
                std::span<const std::string_view> words, Diagnostics& mistakes) {
  const std::string& text = options.text(option);
  if (std::find(words.begin(), words.end(), text) == words.end())
    mistakes.add({{},
                  0,
                  fmt::format("--{}", option),
                  text,
                  fmt::format("one of {}", fmt::join(words, ", "))});
}

void check_attention(const KernelSizes& sizes, Diagnostics& mistakes) {
  const std::int64_t heads = sizes[attention_size::heads];
  const std::int64_t kv_heads = sizes[attention_size::kv_heads];
  const std::int64_t causal = sizes[attention_size::causal];
  if (heads % kv_heads != 0)
    mistakes.add({{},
                  0,
                  "kv_heads of --attention",
                  fmt::format("{}", kv_heads),
                  fmt::format("a divisor of heads, which is {}", heads)});
  if (causal > 1)
    mistakes.add({{}, 0, "causal of --attention", fmt::format("{}", causal), "0 or 1"});
}

// As in the tables: no filter is larger than the image that it moves over.
void check_convolution(const KernelSizes& sizes, Diagnostics& mistakes) {
  const std::int64_t padded = sizes[conv_size::insize] + 2 * sizes[conv_size::pad];
  if (sizes[conv_size::ksize] > padded)
    mistakes.add({{},
                  0,
                  "ksize of --conv",
                  fmt::format("{}", sizes[conv_size::ksize]),
                  fmt::format("at most {}, the side of the padded image", padded)});
}

KernelCall pick_call(const OptionValues& options, KernelFamily family, Diagnostics& mistakes) {
  const bool is_conv = family == KernelFamily::conv;
  const char* const option = is_conv ? "conv" : "attention";
  KernelCall call{
      family, is_conv ? "conv" : "sdpa", options.text("dtype"), options.text("pass"), {}};
  if (is_conv) call.variant += "/" + options.text("layout");
  if (is_conv)
    check_word(options, "pass", kConvPickPasses, mistakes);
  else
    check_word(options, "pass", kAttentionPickPasses, mistakes);
  check_word(options, "dtype", kPickDtypes, mistakes);
  if (is_conv) check_word(options, "layout", kPickLayouts, mistakes);
  const auto sizes = pick_sizes(options.text(option), family);
  if (sizes)
    call.sizes = *sizes;
  else
    mistakes.add({{},
                  0,
                  fmt::format("--{}", option),
                  options.text(option),
                  fmt::format("{}, each from 1 (the last from 0) to {}",
                              fmt::join(kernel_size_names(family), ","), kMostPickSize)});
  if (sizes && is_conv) check_convolution(*sizes, mistakes);
  if (sizes && !is_conv) check_attention(*sizes, mistakes);
  return call;
}

std::string algorithm_of(const KernelCall& call) {
  return call.variant.substr(call.variant.rfind('/') + 1);
}

// Of the measured shape whose sizes are nearest.
std::int64_t workspace_like(const std::vector<formats::TimedAlgorithm>& timed,
                            const KernelCall& call) {
  double least = INFINITY;
  double bytes = 0;
  for (const formats::TimedAlgorithm& one : timed) {
    const KernelCall& other = one.sample.call;
    if (other.variant != call.variant || other.dtype != call.dtype) continue;
    double distance = 0;
    for (std::size_t i = 0; i < call.sizes.size(); ++i)
      distance += std::abs(std::log2((static_cast<double>(call.sizes[i]) + 1) /
                                     (static_cast<double>(other.sizes[i]) + 1)));
    if (distance >= least) continue;
    least = distance;
    bytes = static_cast<double>(one.workspace_bytes) * predict::kernel_work(call).all_bytes() /
            std::max(1.0, predict::kernel_work(other).all_bytes());
  }
  return static_cast<std::int64_t>(std::min(bytes, kMostWorkspace));
}

Result<std::vector<formats::TimedAlgorithm>> timed_algorithms(const TableFolder& folder,
                                                              const std::string& ending) {
  const std::filesystem::path at{folder.path};
  auto names_input = formats::InputFile::open(at / (folder.prefix + "kernel_names" + ending));
  if (!names_input) return tl::unexpected(names_input.error());
  const auto names = formats::read_kernel_names(std::move(*names_input));
  if (!names) return tl::unexpected(names.error());
  auto input = formats::InputFile::open(at / (folder.prefix + "conv_algorithms" + ending));
  if (!input) return tl::unexpected(input.error());
  return formats::read_conv_algorithms(std::move(*input), *names);
}

// Why a backend cannot compute the attention; empty if it can. What was measured it can compute, whatever the limit says.
std::string why_no_backend(const KernelCall& call, std::string_view backend,
                           const std::vector<DispatchEntry>& measured) {
  if (backend == "efficient" &&
      call.sizes[attention_size::heads] != call.sizes[attention_size::kv_heads])
    return "it takes no grouped heads";
  for (const predict::AttentionBackend& limit : predict::kAttentionBackends) {
    if (limit.name != backend) continue;
    const std::int64_t head = call.sizes[attention_size::d];
    if (head % limit.whole_head != 0)
      return fmt::format("it computes heads of a multiple of {}", limit.whole_head);
    if (limit.most_head == 0) continue;
    std::int64_t most = limit.most_head;
    for (const DispatchEntry& entry : measured)
      most = std::max(most, entry.sizes[attention_size::d]);
    if (head > most) return fmt::format("it computes heads of at most {}", most);
  }
  return {};
}

// Backends without a fused kernel write every score; the others none.
std::int64_t attention_workspace(const KernelCall& call, std::string_view backend) {
  if (backend != "math") return 0;
  const double scores = static_cast<double>(call.sizes[attention_size::b]) *
                        static_cast<double>(call.sizes[attention_size::heads]) *
                        static_cast<double>(call.sizes[attention_size::sq]) *
                        static_cast<double>(call.sizes[attention_size::sk]);
  return static_cast<std::int64_t>(
      std::min(scores * predict::element_bytes(call.dtype), kMostWorkspace));
}

std::string variant_and_dtype(const std::string& variant, const std::string& dtype) {
  return fmt::format("{} {}", variant.substr(0, variant.rfind('/')), dtype);
}

struct PickFrom {
  KernelModel model{};
  std::vector<PickCandidate> candidates{};
  std::set<std::string> timed{};  // "fwd/nhwc bf16": what there are candidates for
};

Result<PickFrom> conv_candidates(const OptionValues& options, const KernelCall& call) {
  const TableFolder folder{options.text("tables"),
                           options.has("prefix") ? options.text("prefix") : ""};
  std::error_code ignored;
  const bool is_packed = std::filesystem::exists(
      std::filesystem::path{folder.path} / (folder.prefix + "conv_algorithms.csv.gz"), ignored);
  const auto timed = timed_algorithms(folder, is_packed ? ".csv.gz" : ".csv");
  if (!timed) return tl::unexpected(timed.error());
  auto measured = described_device(folder);
  if (!measured) return tl::unexpected(measured.error());
  KernelTable table{std::move(*measured), {}};
  for (const formats::TimedAlgorithm& one : *timed)
    // What PyTorch takes is one of the others.
    if (!one.algorithm.starts_with("torch")) table.samples.push_back(one.sample);
  const auto device = device_of_table(folder, table);
  if (!device) return tl::unexpected(device.error());
  PickFrom from;
  std::vector<const KernelSample*> samples;
  std::set<std::string> names;
  for (const KernelSample& sample : table.samples) {
    samples.push_back(&sample);
    from.timed.insert(variant_and_dtype(sample.call.variant, sample.call.dtype));
    if (sample.call.dtype == call.dtype && sample.call.variant.starts_with(call.variant + "/"))
      names.insert(algorithm_of(sample.call));
  }
  if (!samples.empty()) from.model = predict::fit_kernels(samples, *device, {});
  for (const std::string& name : names) {
    PickCandidate one{name, call, 0, {}, 0, false};
    one.call.variant += "/" + name;
    one.workspace_bytes = workspace_like(*timed, one.call);
    one.refused = predict::why_not_valid(one.call, name);
    from.candidates.push_back(std::move(one));
  }
  return from;
}

Result<PickFrom> attention_candidates(const OptionValues& options, const KernelCall& call) {
  PickFrom from;
  if (options.has("kernel-model")) {
    auto input =
        formats::InputFile::open(options.text("kernel-model"), formats::kMaxKernelModelBytes);
    if (!input) return tl::unexpected(input.error());
    auto model = formats::read_kernel_model(std::move(*input));
    if (!model) return tl::unexpected(model.error());
    from.model = std::move(*model);
  } else {
    auto model = embedded_kernel_model("h200");
    if (!model) return tl::unexpected(model.error());
    from.model = std::move(*model);
  }
  for (const auto& [key, entries] : from.model.dispatch) {
    const KernelCall measured = predict::call_of_key(key);
    if (measured.family != KernelFamily::attention || measured.op != call.op) continue;
    from.timed.insert(variant_and_dtype(measured.variant, measured.dtype));
    if (measured.dtype != call.dtype || !measured.variant.starts_with(call.variant + "/")) continue;
    PickCandidate one{algorithm_of(measured), call, 0, {}, 0, false};
    one.call.variant = measured.variant;
    one.workspace_bytes = attention_workspace(call, one.name);
    one.refused = why_no_backend(call, one.name, entries);
    from.candidates.push_back(std::move(one));
  }
  return from;
}

}  // namespace

CommandSpec kernels_pick_spec() {
  return {
      .name = "kernels pick",
      .summary = "Tell which algorithm of a convolution, or backend of attention, is fastest.",
      .about =
          "Predicts every algorithm that was timed (tools/collect/algorithms.py) for a "
          "convolution, "
          "leaves out those that cannot compute it or need too much memory, and picks the fastest. "
          "For attention it compares the backends that a model of kernels knows. Workspaces are "
          "estimated from the nearest measured shape.",
      .options =
          {{.name = "conv",
            .type = OptionType::text,
            .help = "B,Cin,Cout,ksize,insize,stride,pad of a square convolution."},
           {.name = "attention",
            .type = OptionType::text,
            .help = "B,heads,kv_heads,Sq,Sk,D,causal; causal is 0 or 1."},
           {.name = "pass",
            .type = OptionType::text,
            .default_text = "fwd",
            .help = "fwd; of a convolution also dgrad and wgrad, of attention bwd."},
           {.name = "layout",
            .type = OptionType::text,
            .default_text = "nhwc",
            .help = "Of a convolution: nhwc or nchw."},
           {.name = "dtype",
            .type = OptionType::text,
            .default_text = "bf16",
            .help = "bf16, tf32 or fp32."},
           {.name = "workspace",
            .type = OptionType::text,
            .default_text = "2GiB",
            .help = "Memory that an algorithm may use besides."},
           {.name = "tables",
            .type = OptionType::file,
            .help = "With --conv: the folder with conv_algorithms.csv and kernel_names.csv."},
           {.name = "prefix",
            .type = OptionType::text,
            .help = "What the names of the tables begin with, \"h200_\"."},
           {.name = "kernel-model",
            .type = OptionType::file,
            .help =
                "With --attention: a model that `weir kernels fit` wrote. Default: the H200's."},
           {.name = "json",
            .type = OptionType::flag,
            .help = "Print JSON for programs instead of text for people.",
            .in_recipe = false}},
      .examples = {
          {"weir kernels pick --conv 32,64,128,3,56,1,1 --tables docs/measurements --prefix h200_",
           "A convolution on the H200."},
          {"weir kernels pick --attention 8,16,16,4096,4096,128,1", "Attention on the H200."}}};
}

Result<void> kernels_pick_command(const OptionValues& options, Console& console) {
  const bool is_conv = options.has("conv");
  if (is_conv == options.has("attention"))
    return bad_input(
        Diagnostic{{}, 0, "--conv", is_conv ? "given" : "", "either --conv or --attention"});
  Diagnostics mistakes;
  if (is_conv && !options.has("tables"))
    mistakes.add({{}, 0, "--tables", "", "the folder with conv_algorithms.csv"});
  const auto refuse = [&](const char* with, std::initializer_list<const char*> others) {
    for (const char* other : others)
      if (options.is_given(other))
        mistakes.add({{},
                      0,
                      fmt::format("--{}", other),
                      options.text(other),
                      fmt::format("no such option with {}", with)});
  };
  if (is_conv)
    refuse("--conv", {"kernel-model"});
  else
    refuse("--attention", {"layout", "tables", "prefix"});
  const auto budget = formats::parse_data_size(options.text("workspace"));
  if (!budget)
    mistakes.add(
        {{}, 0, "--workspace", options.text("workspace"), std::string{formats::kDataSizeRule}});
  const KernelCall call =
      pick_call(options, is_conv ? KernelFamily::conv : KernelFamily::attention, mistakes);
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  auto from = is_conv ? conv_candidates(options, call) : attention_candidates(options, call);
  if (!from) return tl::unexpected(from.error());
  if (from->candidates.empty())
    return bad_input(Diagnostic{
        {},
        0,
        is_conv ? "--pass, --layout, --dtype" : "--pass, --dtype",
        fmt::format("{} {}", call.variant, call.dtype),
        from->timed.empty() ? "a model or tables with timed calls of it"
                            : fmt::format("what was timed: {}", fmt::join(from->timed, ", "))});
  const predict::KernelPredictor predictor{from->model};
  std::vector<predict::AlgorithmChoice> choices;
  std::vector<const PickCandidate*> of_choice;
  for (PickCandidate& one : from->candidates) {
    const predict::KernelPrediction prediction = predictor.predict(one.call);
    one.seconds = prediction.seconds;
    one.is_extrapolated = prediction.is_extrapolated;
    if (one.refused.empty() && static_cast<double>(one.workspace_bytes) > *budget)
      one.refused = "more memory than --workspace";
    if (!one.refused.empty()) continue;
    choices.push_back({one.call, one.workspace_bytes});
    of_choice.push_back(&one);
  }
  const auto picked =
      predict::pick_algorithm(predictor, choices, static_cast<std::int64_t>(*budget));
  const std::string pick = picked ? of_choice[*picked]->name : "";
  std::stable_sort(
      from->candidates.begin(), from->candidates.end(),
      [](const PickCandidate& a, const PickCandidate& b) { return a.seconds < b.seconds; });
  if (options.flag("json")) {
    nlohmann::ordered_json document = {
        {"call", to_string(call)}, {"gpu", from->model.device.name}, {"pick", pick}};
    document["candidates"] = nlohmann::ordered_json::array();
    for (const PickCandidate& one : from->candidates)
      document["candidates"].push_back({{"name", one.name},
                                        {"us", one.seconds * 1e6},
                                        {"workspace_bytes", one.workspace_bytes},
                                        {"extrapolated", one.is_extrapolated},
                                        {"refused", one.refused}});
    const auto json = formats::json_text(document, formats::JsonLayout::indented);
    if (!json) return tl::unexpected(json.error());
    console.out << *json;
    return {};
  }
  fmt::print(console.out, "{} on {}\n", to_string(call), from->model.device.name);
  for (const PickCandidate& one : from->candidates)
    fmt::print(console.out, "{} {:22} {:>10.1f} us {:>8.1f} MiB{}{}\n",
               one.name == pick ? ">" : " ", one.name, one.seconds * 1e6,
               static_cast<double>(one.workspace_bytes) / (1 << 20),
               one.is_extrapolated ? "  (beyond what was measured)" : "",
               one.refused.empty() ? "" : "  no: " + one.refused);
  if (pick.empty()) console.out << "none can be picked\n";
  return {};
}

}  // namespace weir::cli
