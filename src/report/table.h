// SPDX-License-Identifier: Apache-2.0
//
// A table before it becomes text or HTML: headings and cells, already formatted. One value feeds
// both, so the page and the terminal show the same numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir::report {

enum class Align : std::uint8_t { left, right };

struct Column {
  std::string heading;
  Align align = Align::right;
};

struct Table {
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // each as long as columns
};

}  // namespace weir::report
