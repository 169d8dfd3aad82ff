// SPDX-License-Identifier: Apache-2.0
#include "cli/transformer_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "cli/output_files.h"
#include "plan/transformer/transformer_advice.h"

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
      const auto missing = words_missing(report::export_target(target), request.task, plan);
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

std::vector<std::string> words_missing(report::ExportTarget target,
                                       const predict::TransformerTask& task,
                                       const predict::TransformerPlan& plan) {
  std::vector<std::string> missing = report::beyond(target, task, plan);
  if (target == report::ExportTarget::internevo || target == report::ExportTarget::weir)
    return missing;
  if (plan.has_memory_pool) missing.emplace_back("a memory pool for gathered weights");
  const bool waits = plan.gradient_shards > 1 && !plan.hides_weights;
  if (waits) missing.emplace_back("weights that are not gathered ahead");
  return missing;
}

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
  plan::NoTransformerPlan why = plan::why_no_plan(request, node_of_a_curve);
  if (why.is_trainer) add_missing_words(options, request, why.reasons);
  return {why.is_memory ? ErrorCode::infeasible : ErrorCode::bad_input, std::move(why.reasons)};
}

}  // namespace weir::cli
