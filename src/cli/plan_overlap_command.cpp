// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_overlap_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "cli/output_files.h"
#include "cli/version.h"
#include "formats/data_amount_text.h"
#include "formats/overlap_document.h"
#include "plan/overlap/overlap_advice.h"
#include "predict/overlap/overlap_step.h"
#include "report/overlap_report.h"
#include "report/text_table.h"

namespace weir::cli {
namespace {

using formats::OverlapDocument;

// Beside --overlap; those of both kinds of plan are --report and --json.
constexpr std::array<std::string_view, 4> kOverlapOnly{"overlap", "rate", "fuse", "tuner"};
constexpr std::array<std::string_view, 2> kOfBothPlans{"report", "json"};
constexpr double kUsPerMs = 1000;

predict::ContentionCurves curves_of(const OverlapDocument& document) {
  std::map<std::string, std::vector<predict::MeasuredRate>> rows;
  for (const formats::ContentionRow& row : document.curves)
    rows[row.kernel].push_back({static_cast<int>(row.ctas), row.target_gbps, row.gbps, row.rate,
                                row.is_kernel_first ? predict::CollectivePlace::between
                                                    : predict::CollectivePlace::spread});
  predict::ContentionCurves curves;
  for (const auto& [kernel, measured] : rows)
    curves.emplace(kernel, predict::ContentionCurve{measured});
  return curves;
}

predict::CollectiveSystem system_of(const OverlapDocument& document) {
  return {.ranks = static_cast<int>(document.ranks),
          .nodes = static_cast<int>(document.nodes.value_or(1)),
          .network_gbps = document.network_gbps,
          .channel_gbps = document.channel_gbps,
          .channel_beside_gbps = document.channel_beside_gbps,
          .latency_us = document.latency_us};
}

predict::OverlapStep step_of(const OverlapDocument& document,
                             const predict::CollectiveSystem& system) {
  constexpr std::int64_t kMostBlocks = 1'000'000'000;  // more waves than matter
  const predict::ContendedGpu gpu{.sms = static_cast<int>(document.sms),
                                  .memory_gbps = document.memory_gbps};
  std::vector<predict::OverlapKernel> kernels;
  std::vector<predict::GroupAfterKernels> groups;
  for (const formats::OverlapKernelRow& row : document.kernels) {
    kernels.push_back({.ms = row.us / kUsPerMs,
                       .curve = row.curve,
                       .blocks = static_cast<int>(std::min(row.blocks, kMostBlocks)),
                       .blocks_per_sm = static_cast<int>(std::min(row.blocks_per_sm, kMostBlocks)),
                       .cluster = static_cast<int>(row.cluster),
                       .memory_gbps = row.memory_gbps});
    if (row.sends) groups.push_back({kernels.size(), *row.sends});
  }
  const std::vector<int> ctas{document.ctas.begin(), document.ctas.end()};
  return predict::make_overlap_step(gpu, curves_of(document), system, kernels, groups, ctas);
}

std::string overlap_text(const OptionValues& options, const report::OverlapView& view) {
  return fmt::format("{}\n{}\n\n{}\n{}\n{}\n{}\n", report::overlap_headline(view),
                     report::overlap_verdict(view), report::to_text(report::overlap_table(view)),
                     report::overlap_time_lines(view), report::nccl_settings(view),
                     options.recipe());
}

report::ReportHeader overlap_header(const OptionValues& options, const OverlapDocument& document) {
  return {options.recipe(),
          std::string{kVersion},
          {{"kernels", std::to_string(document.kernels.size())},
           {"SMs", std::to_string(document.sms)},
           {"ranks", std::to_string(document.ranks)},
           {"network", fmt::format("{:g} GB/s", document.network_gbps)},
           {"measured curves", document.curves.empty() ? "none, the formula" : "yes"}}};
}

Result<OverlapDocument> read_asked_step(const OptionValues& options) {
  Diagnostics mistakes;
  const std::filesystem::path file = options.text("overlap");
  auto document = formats::read_overlap_document(file);
  std::vector<std::filesystem::path> inputs{file};
  if (document) {
    inputs.push_back(document->kernels_file);
    if (!document->curves_file.empty()) inputs.push_back(document->curves_file);
  }
  check_outputs(options, {"report", "tuner"}, inputs, mistakes);
  std::optional<BytesPerSecond> rate;
  if (options.has("rate")) {
    rate = formats::parse_data_rate(options.text("rate"));
    if (!rate)
      mistakes.add({{}, 0, "--rate", options.text("rate"), std::string{formats::kDataRateRule}});
  }
  if (!document) {
    Error error = document.error();
    mistakes.append(error.details);
    return tl::unexpected(Error{error.code, std::move(mistakes)});
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  if (rate) document->network_gbps = rate->value / 1e9;
  return document;
}

}  // namespace

std::vector<OptionSpec> overlap_planning_options() {
  return {
      {.name = "overlap",
       .type = OptionType::file,
       .help = "Another kind of plan: how many CTAs the collectives of the backward pass in this "
               "YAML file should use (docs/tasks/overlap-communication.md). Then only the three "
               "options below, --report and --json may stand beside it."},
      {.name = "rate",
       .type = OptionType::text,
       .unit = "speed",
       .help = "With --overlap: what the network gives, instead of what the file says: 50GB/s."},
      {.name = "fuse",
       .type = OptionType::integer,
       .unit = "groups",
       .default_text = "1",
       .least = 1,
       .most = 1000,
       .help = "With --overlap: up to so many neighbouring groups of gradients may be sent "
               "together, up to 64 MiB."},
      {.name = "tuner",
       .type = OptionType::file,
       .help = "With --overlap: write CTAs by size to this CSV file, for NCCL's example tuner "
               "plugin.",
       .in_recipe = false}};
}

void refuse_mixed_plan_options(const OptionValues& options, const CommandSpec& spec,
                               Diagnostics& mistakes) {
  const auto is_in = [](const auto& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const OptionSpec& option : spec.options) {
    if (!options.is_given(option.name) || is_in(kOfBothPlans, option.name)) continue;
    const bool is_of_overlap = is_in(kOverlapOnly, option.name);
    if (options.has("overlap") == is_of_overlap) continue;
    mistakes.add({{},
                  0,
                  "--" + option.name,
                  "given",
                  is_of_overlap ? "--overlap with it" : "to be left out beside --overlap"});
  }
}

Result<void> plan_overlap_command(const OptionValues& options, Console& console) {
  const auto document = read_asked_step(options);
  if (!document) return tl::unexpected(document.error());
  const predict::CollectiveSystem system = system_of(*document);
  const predict::OverlapStep step = step_of(*document, system);
  const auto usual =
      std::find(document->ctas.begin(), document->ctas.end(), document->default_ctas);
  const plan::OverlapAdvice advice =
      plan::advise_overlap(step, static_cast<std::size_t>(usual - document->ctas.begin()),
                           {.window = static_cast<std::size_t>(options.integer("fuse"))});
  const report::OverlapView view{document->name, step, advice, system,
                                 document->nodes ? std::optional{system.nodes} : std::nullopt};
  std::string text;
  if (options.flag("json")) {
    auto json = report::overlap_json(view);
    if (!json) return tl::unexpected(json.error());
    text = std::move(*json);
  } else {
    text = overlap_text(options, view);
  }
  std::vector<OutputFile> files;
  if (options.has("tuner")) files.push_back({options.text("tuner"), report::tuner_csv(view)});
  if (options.has("report"))
    files.push_back(
        {options.text("report"), report::overlap_page(overlap_header(options, *document), view)});
  if (auto written = write_files(files); !written) return written;
  console.out << text;
  for (const OutputFile& file : files) console.err << "wrote " << file.path.string() << "\n";
  return {};
}

}  // namespace weir::cli
