// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_output.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "cli/output_files.h"
#include "formats/json_text.h"
#include "report/plan_json.h"
#include "report/plan_tables.h"
#include "report/text_table.h"

namespace weir::cli {
namespace {

using report::PlanView;

std::string search_text(const report::SearchFigures& search) {
  return fmt::format("{} stages looked at{}; {}.\n",
                     report::with_commas(static_cast<double>(search.evaluations), 0),
                     search.seconds ? fmt::format(" in {:.2f} s", *search.seconds) : "",
                     search.is_complete ? "the search came to its end"
                                        : "the search was cut short, a longer one may find better");
}

std::string text_of(const OptionValues& options, const PlanView& view) {
  std::string text = report::plan_headline(view) + "\n";
  if (view.search) text += search_text(*view.search);
  text += fmt::format("Batch {} in {} microbatches of {}.\n\n", view.plan().batch,
                      view.microbatches(), view.plan().microbatch);
  text += report::to_text(report::stage_table(view)) + "\n";
  text += report::to_text(report::time_table(view)) + "* paces the pipeline\n\n";
  text += report::memory_bars(view) + "\n";
  return text + options.recipe() + "\n";
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
  std::vector<OutputFile> files;
  if (options.has("out")) {
    PlanView same_every_time = view;
    if (same_every_time.search) same_every_time.search->seconds.reset();
    auto json = formats::json_text(report::plan_json(same_every_time));
    if (!json) return tl::unexpected(json.error());
    files.push_back({options.text("out"), std::move(*json)});
  }
  if (auto written = write_files(files); !written) return written;
  console.out << text;
  for (const std::string& warning : report::memory_warnings(view))
    console.err << "note: " << warning << "\n";
  for (const OutputFile& file : files) console.err << "wrote " << file.path.string() << "\n";
  return {};
}

}  // namespace weir::cli
