// SPDX-License-Identifier: Apache-2.0
//
// Header fields that are lists: "gzip, br;q=0.5", also over several lines of the same name.
#pragma once

#include <string_view>
#include <vector>

#include "transport/http_message.h"

namespace weir::dashboard {

// The text without spaces and tabs around it.
std::string_view trimmed(std::string_view text);

// What stands between commas, trimmed, without empty ones. A comma between double quotes divides nothing.
std::vector<std::string_view> header_elements(const transport::HeaderList& headers,
                                              std::string_view name);

}  // namespace weir::dashboard
