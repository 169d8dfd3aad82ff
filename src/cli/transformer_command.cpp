// SPDX-License-Identifier: Apache-2.0
#include "cli/transformer_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>
#include <utility>

#include "cli/transformer_curve_command.h"
#include "cli/transformer_output.h"
#include "cli/transformer_setup.h"
#include "formats/json_text.h"
#include "formats/rounded_number.h"
#include "plan/transformer/transformer_advice.h"
#include "plan/transformer/transformer_curve.h"
#include "report/plan_export.h"
#include "report/plan_tables.h"
#include "report/text_table.h"
#include "report/transformer_tables.h"

namespace weir::cli {
namespace {

using plan::TransformerRequest;

constexpr std::size_t kRunnerUps = 4;
constexpr std::size_t kSearched = 1 + 3 * kRunnerUps;  // some of them say the same
constexpr double kGibibyte = 1024.0 * 1024 * 1024;

// With fewer GPUs an iteration takes longer and may cost less: so many of them that it costs least, the fewest of equals.
int cheapest_size(const std::vector<plan::PlannedSize>& sizes, int all) {
  int best = all;
  double least = 0;
  for (const plan::PlannedSize& size : sizes) {
    if (!size.best) continue;
    const double gpu_seconds = size.best->time.iteration * size.gpus;
    if (least > 0 && gpu_seconds >= least) continue;
    least = gpu_seconds;
    best = size.gpus;
  }
  return best;
}

std::string answer_text(const OptionValues& options, const report::TransformerView& view) {
  std::string text = report::transformer_headline(view) + "\n\n";
  if (!view.sizes.empty()) text += report::to_text(report::cost_table(view)) + "\n";
  text += report::to_text(report::degree_table(view)) + "\n";
  text += report::to_text(report::transformer_time_table(view)) + "\n";
  text += report::to_text(report::transformer_memory_table(view)) + "\n";
  text += report::to_text(report::family_table(view)) + "\n";
  text += report::to_text(report::other_degree_table(view)) + "\n";
  if (view.answer.best.size() > 1) text += report::to_text(report::runner_up_table(view)) + "\n";
  return text + options.recipe() + "\n";
}

// The best plan that some trainer can run, where this one's is another.
std::optional<plan::TransformerChoice> better_elsewhere(const report::TransformerView& view) {
  TransformerRequest any_trainer = view.request;
  any_trainer.can_run = nullptr;
  auto answer = plan::search_transformer(any_trainer);
  const bool is_better =
      !answer.best.empty() && answer.best.front().time.iteration < view.chosen().time.iteration;
  if (!is_better) return std::nullopt;
  return std::move(answer.best.front());
}

// What the plan is worth, beside its export: comments in most shells and files.
std::vector<std::string> export_comments(const std::string& target, int asked,
                                         const report::TransformerView& view,
                                         const std::optional<plan::TransformerChoice>& better) {
  const auto ms = [](const plan::TransformerChoice& choice) {
    return report::with_commas(choice.time.iteration * 1000, 1);
  };
  std::vector<std::string> lines{
      report::model_words(view.title, view.request.task),
      fmt::format("{}{}: {} ms an iteration, {:.1f} GiB",
                  view.request.gpus == asked
                      ? ""
                      : fmt::format("for {} of {} GPUs: ", view.request.gpus, asked),
                  report::plan_words(view.chosen().plan), ms(view.chosen()),
                  view.chosen().memory.needed / kGibibyte)};
  if (better) {
    const auto missing =
        report::beyond(report::export_target(target), view.request.task, better->plan);
    lines.push_back(fmt::format(
        "{:.3f} times as long as the best plan, {}: {} ms. {} has no word for {}",
        view.chosen().time.iteration / better->time.iteration, report::plan_words(better->plan),
        ms(*better), target, fmt::join(missing, ", ")));
  }
  return lines;
}

Result<void> export_chosen(const OptionValues& options, const TransformerSetup& setup,
                           const report::TransformerView& view, Console& console) {
  const std::string& target = options.text("export");
  const report::ExportedPlan exported{
      .task = view.request.task,
      .plan = view.chosen().plan,
      .nodes = view.nodes(),
      .gpus_per_node = std::min(view.gpus_per_node, view.request.gpus),
      .style = setup.style,
      .window = setup.window};
  auto text = report::export_plan(report::export_target(target), exported);
  if (!text) return tl::unexpected(text.error());
  const auto notes = report::export_notes(report::export_target(target), exported);
  const auto better = better_elsewhere(view);
  for (const std::string& line : export_comments(target, setup.request.gpus, view, better))
    console.err << "# " << line << "\n";
  for (const std::string& note : notes) console.err << "# note: " << note << "\n";
  if (!options.flag("json")) return publish(options, *text, *text, console);
  nlohmann::ordered_json json = report::transformer_answer_json(view);
  // Nothing else was asked for.
  json.erase("attention");
  json.erase("other_degrees");
  json.erase("sizes");
  json["times_the_best"] =
      better ? formats::thousandths(view.chosen().time.iteration / better->time.iteration) : 1;
  json["export"] = {{"target", target}, {"text", *text}, {"notes", notes}};
  auto printed = formats::json_text(json, formats::JsonLayout::compact);
  if (!printed) return tl::unexpected(printed.error());
  return publish(options, *printed + "\n", *text, console);
}

// Tensor cores want whole tiles. Only measured kernels know what a ragged edge costs.
void note_ragged_vocabulary(report::TransformerView& view) {
  constexpr std::int64_t kWhole = 128;
  constexpr double kWorthNoting = 0.99;
  predict::TransformerTask padded = view.request.task;
  std::int64_t& vocab = padded.model.vocab;
  if (!padded.compute || vocab % (kWhole / 2) == 0) return;
  vocab += kWhole - vocab % kWhole;
  const double now = view.chosen().time.iteration;
  const double then = predict::transformer_time(padded, view.chosen().plan).iteration;
  if (then > kWorthNoting * now) return;
  view.notes.push_back(fmt::format(
      "a vocabulary of {} instead of {}, a multiple of {}, would make an iteration {} ms long "
      "instead of {}: pad it",
      vocab, view.request.task.model.vocab, kWhole, report::with_commas(then * 1000, 1),
      report::with_commas(now * 1000, 1)));
}

// A GPU's memory is its nominal one. Whoever gave a margin knows.
void note_full_memory(const OptionValues& options, report::TransformerView& view) {
  constexpr double kWorthNoting = 0.05;
  const predict::GpuType& gpu = view.request.task.gpu;
  const double all = gpu.memory_gib * kGibibyte;
  const double free = all - view.chosen().memory.needed;
  if (options.is_given("margin") || free < 0 || free >= kWorthNoting * all) return;
  view.notes.push_back(fmt::format(
      "{:.1f} of the {:.0f}GiB that {} has stay free: drivers and fragmentation take 1 to 2 GiB, "
      "which --margin 2GiB keeps free",
      free / kGibibyte, gpu.memory_gib, gpu.name));
}

// Beyond so many GPUs a second search would take longer than anybody waits.
constexpr int kMostGpusToCompare = 4096;

// More GPUs than help: half as many as long as that is faster.
void note_fewer_are_faster(report::TransformerView& view) {
  constexpr double kWorthNoting = 0.99;
  if (!view.sizes.empty() || view.request.gpus > kMostGpusToCompare) return;
  const double now = view.chosen().time.iteration;
  double least = now;
  int fewer = 0;
  std::vector<int> sizes = plan::sizes_of_a_pool(view.gpus_per_node, view.request.gpus - 1);
  while (!sizes.empty()) {
    const int size = sizes.back();
    const auto on_fewer = plan::plan_sizes(view.request, {&size, 1}).front().best;
    if (!on_fewer || on_fewer->time.iteration >= kWorthNoting * least) break;
    least = on_fewer->time.iteration;
    fewer = size;
    sizes.pop_back();
  }
  if (fewer == 0) return;
  view.notes.push_back(fmt::format(
      "{} GPUs are slower than {}: {} instead of {} ms an iteration; --curve shows all sizes",
      view.request.gpus, fewer, report::with_commas(now * 1000, 1),
      report::with_commas(least * 1000, 1)));
}

// Of plans with the same words, the first: the others differ in what no word names.
void drop_same_words(plan::TransformerAnswer& answer) {
  std::set<std::string> seen;
  std::erase_if(answer.best, [&](const plan::TransformerChoice& choice) {
    return !seen.insert(report::plan_words(choice.plan)).second;
  });
  if (answer.best.size() > 1 + kRunnerUps) answer.best.resize(1 + kRunnerUps);
}

Result<void> plan_transformer(const OptionValues& options, const TransformerSetup& setup,
                              Console& console) {
  const auto start = std::chrono::steady_clock::now();
  report::TransformerView view;
  view.title = setup.title;
  view.notes = setup.notes;
  view.gpus_per_node = setup.gpus_per_node;
  view.price_per_hour = setup.price_per_hour;
  if (options.text("objective") == "cost")
    view.sizes =
        plan::plan_sizes(setup.request, plan::usual_sizes(setup.gpus_per_node, setup.request.gpus));
  view.request = plan::on_gpus(setup.request, cheapest_size(view.sizes, setup.request.gpus));
  view.answer = plan::search_transformer(view.request, kSearched);
  if (view.answer.best.empty()) return tl::unexpected(no_plan_error(options, view.request));
  drop_same_words(view.answer);
  note_ragged_vocabulary(view);
  note_full_memory(options, view);
  note_fewer_are_faster(view);
  for (const std::string& note : view.notes) console.err << "note: " << note << "\n";
  if (options.has("export")) return export_chosen(options, setup, view, console);
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

}  // namespace

Result<void> transformer_command(const OptionValues& options, Console& console) {
  auto setup = read_transformer_setup(options);
  if (!setup) return tl::unexpected(setup.error());
  return options.has("curve") ? plan_transformer_curve(options, *setup, console)
                              : plan_transformer(options, *setup, console);
}

}  // namespace weir::cli
