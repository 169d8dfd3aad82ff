// SPDX-License-Identifier: Apache-2.0
#include "dashboard/entity_tag.h"

#include "dashboard/header_elements.h"

namespace weir::dashboard {

bool has_entity(const transport::HeaderList& headers, std::string_view entity_tag) {
  for (std::string_view given : header_elements(headers, "If-None-Match")) {
    if (given == "*") return true;
    if (given.starts_with("W/")) given.remove_prefix(2);
    if (given == entity_tag) return true;
  }
  return false;
}

}  // namespace weir::dashboard
