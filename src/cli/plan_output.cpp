// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "cli/output_files.h"
#include "cli/version.h"
#include "formats/json_text.h"
#include "report/pipeline_timeline.h"
#include "report/plan_json.h"
#include "report/plan_report.h"
#include "report/plan_tables.h"
#include "report/text_table.h"

namespace weir::cli {
namespace {

using report::PlanView;

constexpr std::size_t kMostRows = 40;

std::string_view how_it_ended(const report::SearchFigures& search) {
  if (search.is_complete) return "the search came to its end";
  if (search.is_cut_short) return "the search was cut short, a longer one may find better";
  return "no further change helped, which proves nothing";
}

std::string search_text(const report::SearchFigures& search) {
  return fmt::format("{} stages looked at{}; {}.\n",
                     report::with_commas(static_cast<double>(search.evaluations), 0),
                     search.seconds ? fmt::format(" in {:.2f} s", *search.seconds) : "",
                     how_it_ended(search));
}

// What people find by trying: all stages alike.
std::string grid_text(const PlanView& view) {
  return fmt::format("The best plan with all stages alike takes {} ms, {:.2f} times as long.\n",
                     report::with_commas(*view.grid_ms, 1), *view.grid_ms / view.cost.iteration_ms);
}

// Of hundreds of stages nobody reads them all: the page has the rest.
std::string shortened(report::Table table) {
  const std::size_t left_out = table.rows.size() - std::min(table.rows.size(), kMostRows);
  table.rows.resize(table.rows.size() - left_out);
  std::string text = report::to_text(table);
  if (left_out > 0) text += fmt::format("and {} more: --report shows all\n", left_out);
  return text + "\n";
}

std::string text_of(const OptionValues& options, const PlanView& view) {
  std::string text = report::plan_headline(view) + "\n";
  if (view.search) text += search_text(*view.search);
  if (view.grid_ms) text += grid_text(view);
  text += fmt::format("Batch {} in {} microbatches of {}.\n\n", view.plan().batch,
                      view.microbatches(), view.plan().microbatch);
  text += shortened(report::stage_table(view));
  text += shortened(report::time_table(view));
  text += report::memory_bars(view, kMostRows) + "\n";
  if (!view.path.empty()) text += report::path_text(view) + "\n";
  if (!view.advice.empty()) text += report::to_text(report::advice_table(view)) + "\n";
  return text + options.recipe() + "\n";
}

report::ReportHeader header_of(const OptionValues& options, const PlanView& view) {
  const formats::PlanDocument& document = view.document;
  report::ReportHeader header{options.recipe(), std::string{kVersion}, {}};
  header.facts = {{"model", document.model + " " + document.size},
                  {"measured on", document.database},
                  {"cluster", fmt::format("{} x {} GPUs", document.nodes.value_or(1),
                                          document.gpus_per_node.value_or(1))},
                  {"batch", std::to_string(document.plan.batch)},
                  {"microbatch", std::to_string(document.plan.microbatch)},
                  {"cost model", document.cost_model}};
  return header;
}

Result<std::vector<OutputFile>> files_of(const OptionValues& options, const PlanView& view) {
  std::vector<OutputFile> files;
  if (options.has("out")) {
    PlanView same_every_time = view;
    same_every_time.advice.clear();
    same_every_time.path.clear();
    if (same_every_time.search) same_every_time.search->seconds.reset();
    auto json = formats::json_text(report::plan_json(same_every_time));
    if (!json) return tl::unexpected(json.error());
    files.push_back({options.text("out"), std::move(*json)});
  }
  if (options.has("timeline")) {
    files.push_back(
        {options.text("timeline"), report::chrome_trace(report::pipeline_timeline(view))});
  }
  if (options.has("report")) {
    files.push_back({options.text("report"), report::plan_report(header_of(options, view), view)});
  }
  return files;
}

}  // namespace

Result<void> publish_plan(const OptionValues& options, const PlanView& view, Console& console) {
  std::string text;
  if (options.flag("json")) {
    auto json = formats::json_text(report::plan_json(view), formats::JsonLayout::compact);
    if (!json) return tl::unexpected(json.error());
    text = *json + "\n";
  } else {
    text = text_of(options, view);
  }
  const auto files = files_of(options, view);
  if (!files) return tl::unexpected(files.error());
  if (auto written = write_files(*files); !written) return written;
  console.out << text;
  for (const std::string& warning : report::memory_warnings(view))
    console.err << "note: " << warning << "\n";
  for (const OutputFile& file : *files) console.err << "wrote " << file.path.string() << "\n";
  return {};
}

}  // namespace weir::cli
