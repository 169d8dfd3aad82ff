// SPDX-License-Identifier: Apache-2.0
#include "cli/policies_command.h"

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "formats/json_text.h"
#include "report/text_table.h"
#include "schedule/place/policies.h"

namespace weir::cli {

Result<void> policies_command(const OptionValues& options, Console& console) {
  if (options.flag("json")) {
    nlohmann::ordered_json policies = nlohmann::ordered_json::array();
    for (const schedule::PolicyRow& row : schedule::placement_policies()) {
      policies.push_back({{"name", row.name}, {"summary", row.summary}, {"source", row.source}});
    }
    const auto text = formats::json_text({{"policies", policies}});
    if (!text) return tl::unexpected(text.error());
    console.out << *text;
    return {};
  }
  using report::Align;
  report::Table table{
      "",
      {{"policy", Align::left}, {"what it does", Align::left}, {"described in", Align::left}},
      {}};
  for (const schedule::PolicyRow& row : schedule::placement_policies()) {
    table.rows.push_back(
        {std::string{row.name}, std::string{row.summary}, std::string{row.source}});
  }
  console.out << report::to_text(table);
  return {};
}

}  // namespace weir::cli
