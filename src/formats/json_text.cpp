// SPDX-License-Identifier: Apache-2.0
#include "formats/json_text.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace weir::formats {
namespace {

using Json = nlohmann::ordered_json;

void find_unwritable(const Json& value, const std::string& path, Diagnostics& mistakes) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    const double number = value.get<double>();
    mistakes.add(Diagnostic{"", 0, path.empty() ? "the document" : path,
                            std::isnan(number) ? "NaN" : "infinite", "a finite number"});
  } else if (value.is_object()) {
    for (const auto& [key, child] : value.items())
      find_unwritable(child, path + "/" + key, mistakes);
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      find_unwritable(value[i], path + "/" + std::to_string(i), mistakes);
    }
  }
}

}  // namespace

Result<std::string> json_text(const Json& document, JsonLayout layout) {
  Diagnostics mistakes;
  find_unwritable(document, "", mistakes);
  if (!mistakes.empty()) return tl::unexpected(Error{ErrorCode::failure, std::move(mistakes)});
  const bool is_indented = layout == JsonLayout::indented;
  std::string text =
      document.dump(is_indented ? 2 : -1, ' ', false, Json::error_handler_t::replace);
  if (is_indented) text += '\n';
  return text;
}

}  // namespace weir::formats
