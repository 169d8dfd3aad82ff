// SPDX-License-Identifier: Apache-2.0
//
// The first line of a record log.
#pragma once

#include <string>
#include <string_view>

#include "domain/result.h"
#include "formats/record_log.h"

namespace weir::formats {

// Without the newline.
void append_header_line(std::string& out, const RecordLogHeader& header, std::string_view build);
Result<RecordLogHeader> read_header_line(std::string_view line);

}  // namespace weir::formats
