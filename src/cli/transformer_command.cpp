// SPDX-License-Identifier: Apache-2.0
#include "cli/transformer_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "cli/output_files.h"
#include "cli/transformer_setup.h"
#include "formats/json_text.h"
#include "formats/rounded_number.h"
#include "plan/transformer/transformer_advice.h"
#include "report/plan_export.h"
#include "report/plan_tables.h"
#include "report/text_table.h"
#include "report/transformer_tables.h"

namespace weir::cli {
namespace {

using plan::TransformerChoice;
using plan::TransformerRequest;

constexpr std::size_t kRunnerUps = 4;

Error no_plan_error(const TransformerRequest& request) {
  plan::NoTransformerPlan why = plan::why_no_plan(request);
  return {why.is_memory ? ErrorCode::infeasible : ErrorCode::bad_input, std::move(why.reasons)};
}

// With fewer GPUs an iteration takes longer and may cost less.
TransformerRequest cheapest_size(const TransformerRequest& request, int gpus_per_node) {
  TransformerRequest best = request;
  double least = 0;
  for (const int gpus : plan::usual_sizes(gpus_per_node, request.gpus)) {
    TransformerRequest smaller = plan::on_gpus(request, gpus);
    const auto answer = plan::search_transformer(smaller);
    if (answer.best.empty()) continue;
    const double gpu_seconds = answer.best.front().time.iteration * gpus;
    if (least > 0 && gpu_seconds >= least) continue;
    least = gpu_seconds;
    best = std::move(smaller);
  }
  return best;
}

std::string answer_text(const OptionValues& options, const report::TransformerView& view) {
  std::string text = report::transformer_headline(view) + "\n\n";
  text += report::to_text(report::degree_table(view)) + "\n";
  text += report::to_text(report::transformer_time_table(view)) + "\n";
  text += report::to_text(report::transformer_memory_table(view)) + "\n";
  text += report::to_text(report::family_table(view)) + "\n";
  text += report::to_text(report::other_degree_table(view)) + "\n";
  if (view.answer.best.size() > 1) text += report::to_text(report::runner_up_table(view)) + "\n";
  return text + options.recipe() + "\n";
}

Result<void> publish(const OptionValues& options, std::string text, std::string file,
                     Console& console) {
  std::vector<OutputFile> files;
  if (options.has("out")) files.push_back({options.text("out"), std::move(file)});
  if (auto written = write_files(files); !written) return written;
  console.out << text;
  for (const OutputFile& written : files) console.err << "wrote " << written.path.string() << "\n";
  return {};
}

Result<void> export_chosen(const OptionValues& options, const report::TransformerView& view,
                           Console& console) {
  const int gpus_per_node = std::min(view.gpus_per_node, view.request.gpus);
  auto text =
      report::export_plan(report::export_target(options.text("export")),
                          {view.request.task, view.chosen().plan, view.nodes(), gpus_per_node});
  if (!text) return tl::unexpected(text.error());
  console.err << "# " << report::plan_words(view.chosen().plan) << "\n";
  return publish(options, *text, *text, console);
}

Result<void> plan_transformer(const OptionValues& options, TransformerSetup setup,
                              Console& console) {
  const auto start = std::chrono::steady_clock::now();
  report::TransformerView view;
  view.gpus_per_node = setup.gpus_per_node;
  view.price_per_hour = setup.price_per_hour;
  view.request = options.text("objective") == "cost"
                     ? cheapest_size(setup.request, setup.gpus_per_node)
                     : plan::on_gpus(setup.request, setup.request.gpus);
  view.answer = plan::search_transformer(view.request, 1 + kRunnerUps);
  if (view.answer.best.empty()) return tl::unexpected(no_plan_error(view.request));
  if (options.has("export")) return export_chosen(options, view, console);
  view.families = plan::attention_families(view.request);
  view.others = plan::other_degrees(view.request, view.chosen().plan);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  view.seconds = passed.count();
  auto file =
      formats::json_text(report::transformer_plan_json(view.request.task, view.chosen().plan));
  if (!file) return tl::unexpected(file.error());
  if (!options.flag("json"))
    return publish(options, answer_text(options, view), std::move(*file), console);
  nlohmann::ordered_json json = report::transformer_answer_json(view);
  json["search_s"] = formats::thousandths(view.seconds);
  auto text = formats::json_text(json, formats::JsonLayout::compact);
  if (!text) return tl::unexpected(text.error());
  return publish(options, *text + "\n", std::move(*file), console);
}

struct CurveEntry {
  int gpus = 0;
  std::optional<TransformerChoice> best;
};

// A part of a node, or whole nodes.
bool is_usual_size(int gpus, int gpus_per_node) {
  return gpus <= gpus_per_node ? gpus_per_node % gpus == 0 : gpus % gpus_per_node == 0;
}

std::string curve_text(const OptionValues& options, const std::vector<CurveEntry>& curve) {
  report::Table table{
      "Planned curve",
      {{"GPUs"}, {"iterations/s"}, {"times one"}, {"GiB"}, {"plan", report::Align::left}},
      {}};
  double one = 0;
  for (const CurveEntry& entry : curve) {
    if (!entry.best) {
      table.rows.push_back({std::to_string(entry.gpus), "-", "-", "-", "no plan fits"});
      continue;
    }
    const double rate = 1 / entry.best->time.iteration;
    if (one == 0) one = rate;
    table.rows.push_back({std::to_string(entry.gpus), fmt::format("{:.6f}", rate),
                          fmt::format("{:.2f}", rate / one),
                          fmt::format("{:.1f}", entry.best->memory.needed / 1073741824.0),
                          report::plan_words(entry.best->plan)});
  }
  return report::to_text(table) + "\n" + options.recipe() + "\n";
}

// As formats/throughput_table.h has it.
std::string throughput_csv(const std::vector<CurveEntry>& curve, std::int64_t batch) {
  std::string sizes = "global_batch_size";
  std::string rates = std::to_string(batch);
  for (const CurveEntry& entry : curve) {
    sizes += fmt::format(",{}", entry.gpus);
    rates += entry.best ? fmt::format(",{:.6f}", 1 / entry.best->time.iteration) : ",";
  }
  return sizes + "\n" + rates + "\n";
}

Result<void> plan_curve(const OptionValues& options, const TransformerSetup& setup,
                        Console& console) {
  std::vector<CurveEntry> curve;
  auto json = nlohmann::ordered_json::array();
  for (const std::int64_t gpus : options.integers("curve")) {
    const int size = static_cast<int>(gpus);
    if (!is_usual_size(size, setup.gpus_per_node)) continue;
    auto answer = plan::search_transformer(plan::on_gpus(setup.request, size));
    CurveEntry entry{size, std::nullopt};
    if (!answer.best.empty()) entry.best = std::move(answer.best.front());
    nlohmann::ordered_json point{{"gpus", size}};
    if (entry.best) point["iterations_per_s"] = 1 / entry.best->time.iteration;
    json.push_back(std::move(point));
    curve.push_back(std::move(entry));
  }
  const bool is_empty = std::none_of(
      curve.begin(), curve.end(), [](const CurveEntry& entry) { return entry.best.has_value(); });
  if (curve.empty()) {
    return bad_input({{},
                      0,
                      "--curve",
                      options.recipe(),
                      fmt::format("a size that is a part of a node of {} GPUs, or whole nodes",
                                  setup.gpus_per_node)});
  }
  if (is_empty)
    return tl::unexpected(no_plan_error(plan::on_gpus(setup.request, curve.back().gpus)));
  std::string file = throughput_csv(curve, setup.request.task.batch);
  if (!options.flag("json"))
    return publish(options, curve_text(options, curve), std::move(file), console);
  auto text = formats::json_text(
      {{"origin", "planned"}, {"batch", setup.request.task.batch}, {"curve", json}},
      formats::JsonLayout::compact);
  if (!text) return tl::unexpected(text.error());
  return publish(options, *text + "\n", std::move(file), console);
}

}  // namespace

Result<void> transformer_command(const OptionValues& options, Console& console) {
  auto setup = read_transformer_setup(options);
  if (!setup) return tl::unexpected(setup.error());
  return options.has("curve") ? plan_curve(options, *setup, console)
                              : plan_transformer(options, std::move(*setup), console);
}

}  // namespace weir::cli
