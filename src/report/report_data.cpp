// SPDX-License-Identifier: Apache-2.0
#include "report/report_data.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "formats/json_text.h"

namespace weir::report {
namespace {

using Json = nlohmann::ordered_json;

std::string quoted(const std::string& text) {
  return formats::json_text(Json(text), formats::JsonLayout::compact).value_or("null");
}

}  // namespace

std::string report_data(const Result<std::string>& json, const ReportHeader& header,
                        std::span<const Result<std::string>> shown) {
  if (!json) return "";
  std::string data = json->substr(0, json->rfind('}'));
  data +=
      fmt::format(",\n\"version\":{},\"recipe\":{}", quoted(header.version), quoted(header.recipe));
  if (!shown.empty()) {
    data += ",\"shown\":[";
    std::string_view separator = "\n";
    for (const Result<std::string>& run : shown) {
      if (!run) return "";
      data.append(separator).append(*run);
      separator = ",\n";
    }
    data += "\n]";
  }
  return data + "}\n";
}

std::string data_element(const std::string& data) {
  if (data.empty()) return "";
  std::string html = "<script type=\"application/json\" id=\"weir-data\">\n";
  for (const char letter : data) {
    if (letter == '<')
      html += "\\u003c";  // the same in JSON, and no markup
    else
      html += letter;
  }
  return html + "</script>\n";
}

}  // namespace weir::report
