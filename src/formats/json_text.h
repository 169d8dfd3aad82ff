// SPDX-License-Identifier: Apache-2.0
//
// JSON as weir writes it: keys in the order in which they were added, doubles so that they read
// back to the same bits, no locale. Equal values give equal bytes. JSON has no NaN and no infinity:
// a document that holds one is refused, with the path to it, rather than written as null.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "domain/result.h"

namespace weir::formats {

enum class JsonLayout : std::uint8_t { compact, indented };

// Text that is not UTF-8 (a file name may be anything) gets U+FFFD in place of the broken bytes.
// An indented document ends with a newline.
Result<std::string> json_text(const nlohmann::ordered_json& document,
                              JsonLayout layout = JsonLayout::indented);

}  // namespace weir::formats
