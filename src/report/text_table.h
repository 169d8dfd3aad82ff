// SPDX-License-Identifier: Apache-2.0
//
// A table as aligned text for a terminal or a log.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "report/table.h"

namespace weir::report {

// How many terminal columns UTF-8 text takes: combining marks none, East Asian wide characters two.
std::size_t display_width(std::string_view utf8);

// The title, the headings, a rule, the rows. Columns are two spaces apart; no line ends in a space.
std::string to_text(const Table& table);

}  // namespace weir::report
