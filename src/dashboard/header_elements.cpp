// SPDX-License-Identifier: Apache-2.0
#include "dashboard/header_elements.h"

namespace weir::dashboard {
namespace {

void append_elements(std::vector<std::string_view>& elements, std::string_view list) {
  const auto add = [&](std::string_view text) {
    text = trimmed(text);
    if (!text.empty()) elements.push_back(text);
  };
  bool is_quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '"') is_quoted = !is_quoted;
    if (list[i] != ',' || is_quoted) continue;
    add(list.substr(begin, i - begin));
    begin = i + 1;
  }
  add(list.substr(begin));
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> header_elements(const transport::HeaderList& headers,
                                              std::string_view name) {
  std::vector<std::string_view> elements;
  for (const auto& [field, value] : headers) {
    if (transport::same_header_name(field, name)) append_elements(elements, value);
  }
  return elements;
}

}  // namespace weir::dashboard
