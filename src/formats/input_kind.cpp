// SPDX-License-Identifier: Apache-2.0
#include "formats/input_kind.h"

#include <algorithm>
#include <string_view>

#include "formats/file_title.h"

namespace weir::formats {
namespace {

// The first line that says something: neither blank nor a YAML comment.
std::string_view first_line(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::size_t start = line.find_first_not_of(" \t\r");
    if (start != std::string_view::npos && line[start] != '#') return line;
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return text;
}

}  // namespace

Result<bool> is_csv(InputFile& input) {
  if (is_csv_name(input.name())) return true;
  if (is_yaml_name(input.name())) return false;
  const auto head = input.peek();
  if (!head) return tl::unexpected(head.error());
  const std::string_view line = first_line(*head);
  return line.find(',') != std::string_view::npos && line.find(':') == std::string_view::npos;
}

}  // namespace weir::formats
