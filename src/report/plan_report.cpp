// SPDX-License-Identifier: Apache-2.0
#include "report/plan_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "formats/json_text.h"
#include "report/pipeline_timeline.h"
#include "report/plan_json.h"
#include "report/plan_tables.h"
#include "report/report_data.h"
#include "report/stage_memory_plot.h"
#include "report/svg_axes.h"

namespace weir::report {
namespace {

constexpr std::size_t kMostSpansOnAPage = 4000;
constexpr double kNoticeable = 1.01;
constexpr std::string_view kWhyLonger =
    " The drawing is longer: a stage holds no microbatch to spare, so it waits for transfers that "
    "the "
    "cost model takes as hidden behind computation.";

std::string timeline_figure(const PlanView& view) {
  const PipelineTimeline timeline = pipeline_timeline(view, kMostSpansOnAPage);
  const bool is_whole = 2 * timeline.shown_at_each_end >= timeline.microbatches;
  std::string explanation = fmt::format(
      "One forward pass, one backward pass (1F1B){}. Drawn with the predicted times the schedule "
      "takes {} ms; the cost model says {} ms. White is waiting. Hover for what it is.",
      is_whole ? "" : ": the start and the end of an iteration, what lies between repeats",
      with_commas(timeline.total_ms, 1), with_commas(view.cost.iteration_ms, 1));
  if (timeline.total_ms > view.cost.iteration_ms * kNoticeable) explanation += kWhyLonger;
  return figure("Time line", explanation, timeline_svg(timeline), timeline_table(timeline));
}

std::string memory_figure(const PlanView& view) {
  std::string explanation = "What fills the memory of a GPU in each stage.";
  if (view.limit_mib()) {
    explanation +=
        fmt::format(" The red line is the limit, {} MiB.", with_commas(*view.limit_mib(), 0));
  }
  for (const std::string& warning : memory_warnings(view)) explanation += " Note: " + warning + ".";
  return figure("Memory", explanation, stage_memory_svg(view), memory_table(view));
}

std::string grid_sentence(const PlanView& view) {
  if (!view.grid_ms) return "";
  return fmt::format(" The best plan with all stages alike takes {:.2f} times as long.",
                     *view.grid_ms / view.cost.iteration_ms);
}

std::string path_section(const PlanView& view) {
  Table table = path_table(view);
  table.title = "From a naive plan, one change after the other";
  return "<h2>How it came to this</h2>\n" + to_html(table);
}

std::string advice_section(const PlanView& view) {
  Table table = advice_table(view);
  table.title = "Each searched anew, in a short search";
  return "<h2>What would help</h2>\n" + to_html(table);
}

std::string data_of(const ReportHeader& header, const PlanView& view) {
  PlanView same_every_time = view;
  if (same_every_time.search) same_every_time.search->seconds.reset();
  return report_data(formats::json_text(plan_json(same_every_time), formats::JsonLayout::compact),
                     header);
}

}  // namespace

std::string plan_report(const ReportHeader& header, const PlanView& view) {
  std::string content =
      fmt::format("<style>{}{}</style>\n", timeline_style(), stage_memory_style());
  content += "<h2>The plan</h2>\n" + to_html(stage_table(view));
  content += to_html(time_table(view));
  content += timeline_figure(view);
  content += memory_figure(view);
  if (!view.path.empty()) content += path_section(view);
  if (!view.advice.empty()) content += advice_section(view);
  return page(
      header, view.search ? "Which plan is fastest?" : "What does this plan cost?",
      plan_headline(view) + grid_sentence(view), content,
      "Predicted from measurements of single operators. Hover over a bar for what it stands "
      "for.",
      data_of(header, view));
}

}  // namespace weir::report
