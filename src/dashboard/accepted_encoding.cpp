// SPDX-License-Identifier: Apache-2.0
#include "dashboard/accepted_encoding.h"

#include <optional>

#include "dashboard/header_elements.h"

namespace weir::dashboard {
namespace {

// "q=0", "q=0.0", ... What is no number is no wish to go without, either.
bool is_weight_zero(std::string_view parameter) {
  parameter = trimmed(parameter);
  if (parameter.size() < 3 || (parameter[0] != 'q' && parameter[0] != 'Q')) return false;
  return parameter[1] == '=' && parameter[2] == '0' &&
         parameter.find_first_not_of("0.", 2) == std::string_view::npos;
}

}  // namespace

bool accepts_gzip(const transport::HeaderList& headers) {
  std::optional<bool> all;
  for (const std::string_view element : header_elements(headers, "Accept-Encoding")) {
    const std::size_t end = element.find(';');
    const std::string_view coding = trimmed(element.substr(0, end));
    const bool is_wanted =
        end == std::string_view::npos || !is_weight_zero(element.substr(end + 1));
    if (transport::same_header_name(coding, "gzip")) return is_wanted;
    if (coding == "*") all = is_wanted;
  }
  return all.value_or(false);
}

}  // namespace weir::dashboard
