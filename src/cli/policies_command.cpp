// SPDX-License-Identifier: Apache-2.0
#include "cli/policies_command.h"

#include <nlohmann/json.hpp>
#include <ostream>
#include <span>
#include <string>

#include "formats/json_text.h"
#include "report/text_table.h"
#include "schedule/place/policies.h"
#include "schedule/policies/training_policies.h"

namespace weir::cli {

namespace {

template <class Row>
nlohmann::ordered_json list_of(std::span<const Row> rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    list.push_back({{"name", row.name}, {"summary", row.summary}, {"source", row.source}});
  }
  return list;
}

template <class Row>
report::Table table_of(const char* title, std::span<const Row> rows) {
  using report::Align;
  report::Table table{
      title,
      {{"policy", Align::left}, {"what it does", Align::left}, {"described in", Align::left}},
      {}};
  for (const Row& row : rows) {
    table.rows.push_back(
        {std::string{row.name}, std::string{row.summary}, std::string{row.source}});
  }
  return table;
}

}  // namespace

Result<void> policies_command(const OptionValues& options, Console& console) {
  const std::span<const schedule::PolicyRow> placement = schedule::placement_policies();
  const std::span<const schedule::TrainingPolicyRow> training = schedule::training_policies();
  if (options.flag("json")) {
    const auto text = formats::json_text(
        {{"policies", list_of(placement)}, {"training_policies", list_of(training)}});
    if (!text) return tl::unexpected(text.error());
    console.out << *text;
    return {};
  }
  console.out
      << report::to_text(table_of("For tasks (weir simulate --tasks): where they run", placement))
      << "\n"
      << report::to_text(table_of(
             "For training jobs (weir simulate --jobs): which deadlines are met", training));
  return {};
}

}  // namespace weir::cli
