// SPDX-License-Identifier: Apache-2.0
#include "formats/json_string.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weir::formats {

void append_json_string(std::string& out, std::string_view text) {
  const auto is_plain = [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; };
  if (std::all_of(text.begin(), text.end(), is_plain)) {
    out += '"';
    out += text;
    out += '"';
  } else {
    using Json = nlohmann::json;
    out += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

std::string shortened(std::string_view text) {
  if (text.size() <= kMostQuoted) return std::string{text};
  std::size_t end = kMostQuoted;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string{text.substr(0, end)} + "...";
}

}  // namespace weir::formats
