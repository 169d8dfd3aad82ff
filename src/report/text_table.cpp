// SPDX-License-Identifier: Apache-2.0
#include "report/text_table.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace weir::report {
namespace {

constexpr std::size_t kColumnGap = 2;

// The code point at the front of `text`, which is shortened by it. Broken UTF-8 counts byte by
// byte.
char32_t take_code_point(std::string_view& text) {
  const auto lead = static_cast<unsigned char>(text.front());
  std::size_t length = 1;
  char32_t code = lead;
  if (lead >= 0xf0) {
    length = 4;
    code = lead & 0x07U;
  } else if (lead >= 0xe0) {
    length = 3;
    code = lead & 0x0fU;
  } else if (lead >= 0xc0) {
    length = 2;
    code = lead & 0x1fU;
  }
  if (length > text.size()) length = 1;
  for (std::size_t i = 1; i < length; ++i) {
    code = (code << 6U) | (static_cast<unsigned char>(text[i]) & 0x3fU);
  }
  text.remove_prefix(length);
  return code;
}

std::size_t width_of(char32_t code) {
  using Range = std::pair<char32_t, char32_t>;
  constexpr std::array<Range, 4> kNone = {
      {{0x300, 0x36f}, {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}}};
  constexpr std::array<Range, 7> kDouble = {{{0x1100, 0x115f},
                                             {0x2e80, 0xa4cf},
                                             {0xac00, 0xd7a3},
                                             {0xf900, 0xfaff},
                                             {0xfe30, 0xfe6f},
                                             {0xff00, 0xff60},
                                             {0x1f300, 0x1faff}}};
  const auto holds = [code](const Range& range) {
    return code >= range.first && code <= range.second;
  };
  if (std::any_of(kNone.begin(), kNone.end(), holds)) return 0;
  return std::any_of(kDouble.begin(), kDouble.end(), holds) ? 2 : 1;
}

void append_cell(std::string& line, const std::string& cell, std::size_t width, Align align) {
  const std::string padding(width - display_width(cell), ' ');
  line += align == Align::right ? padding + cell : cell + padding;
}

void append_line(std::string& text, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  text += line + "\n";
}

}  // namespace

std::size_t display_width(std::string_view utf8) {
  std::size_t width = 0;
  while (!utf8.empty()) width += width_of(take_code_point(utf8));
  return width;
}

std::string to_text(const Table& table) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::size_t width = display_width(table.columns[c].heading);
    for (const auto& row : table.rows) width = std::max(width, display_width(row[c]));
    widths.push_back(width);
  }
  const std::string gap(kColumnGap, ' ');
  std::string headings;
  std::string rule;
  for (std::size_t c = 0; c < widths.size(); ++c) {
    if (c > 0) headings += gap;
    if (c > 0) rule += gap;
    append_cell(headings, table.columns[c].heading, widths[c], table.columns[c].align);
    rule += std::string(widths[c], '-');
  }
  std::string text;
  if (!table.title.empty()) append_line(text, table.title);
  append_line(text, headings);
  append_line(text, rule);
  for (const auto& row : table.rows) {
    std::string line;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      if (c > 0) line += gap;
      append_cell(line, row[c], widths[c], table.columns[c].align);
    }
    append_line(text, line);
  }
  return text;
}

}  // namespace weir::report
