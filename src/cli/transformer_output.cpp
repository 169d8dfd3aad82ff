// SPDX-License-Identifier: Apache-2.0
#include "cli/transformer_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "cli/output_files.h"
#include "plan/transformer/transformer_advice.h"
#include "report/plan_export.h"

namespace weir::cli {
namespace {

// What the trainer has no word for in any plan; where each plan lacks another word, those of the first.
void add_missing_words(const OptionValues& options, const plan::TransformerRequest& request,
                       Diagnostics& reasons) {
  const std::string& target = options.text("export");
  std::vector<std::string> of_all;
  std::vector<std::string> of_first;
  for (const predict::TransformerPlan& structure : plan::structures(request)) {
    for (const predict::TransformerPlan& plan : plan::sharded(request, structure)) {
      const auto missing = report::beyond(report::export_target(target), request.task, plan);
      if (of_first.empty()) of_first = of_all = missing;
      std::erase_if(of_all, [&](const std::string& word) {
        return std::find(missing.begin(), missing.end(), word) == missing.end();
      });
    }
  }
  const auto& words = of_all.empty() ? of_first : of_all;
  reasons.add({{},
               0,
               "--export",
               target,
               fmt::format("another target: it has no word for {}", fmt::join(words, ", "))});
}

}  // namespace

Result<void> publish(const OptionValues& options, const std::string& text, std::string file,
                     Console& console) {
  std::vector<OutputFile> files;
  if (options.has("out")) files.push_back({options.text("out"), std::move(file)});
  if (auto written = write_files(files); !written) return written;
  console.out << text;
  for (const OutputFile& written : files) console.err << "wrote " << written.path.string() << "\n";
  return {};
}

Error no_plan_error(const OptionValues& options, const plan::TransformerRequest& request,
                    std::optional<int> node_of_a_curve) {
  plan::NoTransformerPlan why = plan::why_no_plan(
      request, {.node_of_a_curve = node_of_a_curve,
                .memory = options.is_given("memory") ? options.text("memory") : std::string{}});
  if (why.beyond_trainer) add_missing_words(options, *why.beyond_trainer, why.reasons);
  return {why.is_memory ? ErrorCode::infeasible : ErrorCode::bad_input, std::move(why.reasons)};
}

}  // namespace weir::cli
