// SPDX-License-Identifier: Apache-2.0
#include "report/partition_tables.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "formats/json_text.h"

namespace weir::report {

using simulate::FabricRule;
using simulate::FragmentationResult;
using simulate::JobTimes;
using simulate::SchemeOutcome;

Table fragmentation_table(const std::vector<FragmentationResult>& results,
                          std::span<const double> loads) {
  Table table{"Waiting for a partition, first in, first out",
              {{"load"},
               {"the fabric gives", Align::left},
               {"mean wait"},
               {"least"},
               {"most"},
               {"blocked %"},
               {"least"},
               {"most"}},
              {}};
  for (const double load : loads) {
    for (const FabricRule rule :
         {FabricRule::gpus_only, FabricRule::logical_clos, FabricRule::optical_circuits}) {
      const auto wait = simulate::mean_wait(results, rule, load);
      const auto blocked = simulate::blocked_share(results, rule, load);
      table.rows.push_back(
          {fmt::format("{:.2f}", load), std::string{simulate::name_of(rule)},
           fmt::format("{:.3f}", wait.mean), fmt::format("{:.3f}", wait.least),
           fmt::format("{:.3f}", wait.most), fmt::format("{:.1f}", 100 * blocked.mean),
           fmt::format("{:.1f}", 100 * blocked.least), fmt::format("{:.1f}", 100 * blocked.most)});
    }
  }
  return table;
}

Result<std::string> fragmentation_json(const std::vector<FragmentationResult>& results) {
  auto runs = nlohmann::ordered_json::array();
  for (const FragmentationResult& result : results) {
    runs.push_back({{"rule", simulate::name_of(result.rule)},
                    {"load", result.load},
                    {"seed", result.seed},
                    {"mean_wait", result.mean_wait},
                    {"blocked_share", result.blocked_share},
                    {"circuits_moved_per_job", result.circuits_moved_per_job},
                    {"jobs_paused_per_job", result.jobs_paused_per_job}});
  }
  return formats::json_text({{"runs", runs}});
}

Table scheme_table(std::span<const SchemeOutcome> outcomes) {
  Table table{"How soon jobs are done, means in seconds",
              {{"scheme", Align::left},
               {"completion"},
               {"run"},
               {"wait"},
               {"slowdown"},
               {"blocked %"},
               {"isolated"},
               {"circuits moved"}},
              {}};
  for (const SchemeOutcome& outcome : outcomes) {
    table.rows.push_back(
        {std::string{simulate::name_of(outcome.scheme)},
         fmt::format("{:.0f}", outcome.all.completion), fmt::format("{:.0f}", outcome.all.run),
         fmt::format("{:.0f}", outcome.all.wait), fmt::format("{:.3f}", outcome.all.slowdown),
         fmt::format("{:.1f}", 100 * outcome.blocked_share), std::to_string(outcome.isolated_jobs),
         std::to_string(outcome.circuits_moved)});
  }
  return table;
}

Table size_table(std::span<const SchemeOutcome> outcomes) {
  Table table{"Mean completion time and slowdown by size, seconds", {{"GPUs"}, {"jobs"}}, {}};
  if (outcomes.empty()) return table;
  for (const SchemeOutcome& outcome : outcomes) {
    table.columns.push_back({std::string{simulate::name_of(outcome.scheme)}});
    table.columns.push_back({"x"});
  }
  for (std::size_t size = 0; size < outcomes.front().by_size.size(); ++size) {
    const JobTimes& first = outcomes.front().by_size[size];
    std::vector<std::string> row{std::to_string(first.hosts), std::to_string(first.jobs)};
    for (const SchemeOutcome& outcome : outcomes) {
      row.push_back(fmt::format("{:.0f}", outcome.by_size[size].completion));
      row.push_back(fmt::format("{:.2f}", outcome.by_size[size].slowdown));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Result<std::string> job_mix_json(std::span<const SchemeOutcome> outcomes, double load) {
  auto schemes = nlohmann::ordered_json::array();
  for (const SchemeOutcome& outcome : outcomes) {
    auto sizes = nlohmann::ordered_json::array();
    for (const JobTimes& times : outcome.by_size) {
      sizes.push_back({{"gpus", times.hosts},
                       {"jobs", times.jobs},
                       {"mean_completion_seconds", times.completion},
                       {"mean_run_seconds", times.run},
                       {"mean_wait_seconds", times.wait},
                       {"mean_slowdown", times.slowdown}});
    }
    schemes.push_back({{"scheme", simulate::name_of(outcome.scheme)},
                       {"mean_completion_seconds", outcome.all.completion},
                       {"mean_run_seconds", outcome.all.run},
                       {"mean_wait_seconds", outcome.all.wait},
                       {"mean_slowdown", outcome.all.slowdown},
                       {"blocked_share", outcome.blocked_share},
                       {"isolated_jobs", outcome.isolated_jobs},
                       {"circuits_moved", outcome.circuits_moved},
                       {"windows", outcome.windows},
                       {"sizes", sizes}});
  }
  return formats::json_text({{"schemes", schemes}, {"load", load}});
}

}  // namespace weir::report
