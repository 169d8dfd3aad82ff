// SPDX-License-Identifier: Apache-2.0
//
// The data of a page, and the page without it.
#pragma once

#include <string>
#include <string_view>

namespace weir::report {

inline constexpr std::string_view kDataBegins =
    "<script type=\"application/json\" id=\"weir-data\">";
inline constexpr std::string_view kDataEnds = "</script>";

inline std::string data_of(const std::string& page) {
  const std::size_t begin = page.find(kDataBegins);
  if (begin == std::string::npos) return "";
  const std::size_t from = begin + kDataBegins.size();
  return page.substr(from, page.find(kDataEnds, from) - from);
}

inline std::string without_data(const std::string& page) {
  const std::size_t begin = page.find(kDataBegins);
  if (begin == std::string::npos) return page;
  const std::size_t end = page.find(kDataEnds, begin) + kDataEnds.size();
  return page.substr(0, begin) + page.substr(end);
}

}  // namespace weir::report
