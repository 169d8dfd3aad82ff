// SPDX-License-Identifier: Apache-2.0
#include "control/api_replies.h"

#include <algorithm>
#include <utility>

namespace weir::control {

bool is_of_type(const transport::HttpRequest& request,
                std::initializer_list<std::string_view> types) {
  const auto type = request.headers.find("Content-Type").value_or("application/json");
  std::string_view name = type.substr(0, type.find(';'));
  while (name.ends_with(' ') || name.ends_with('\t')) name.remove_suffix(1);
  return std::any_of(types.begin(), types.end(), [&](std::string_view known) {
    return transport::same_header_name(name, known);
  });
}

bool is_json_body(const transport::HttpRequest& request) {
  return is_of_type(request, {"application/json"});
}

Result<formats::InputFile> yaml_body(std::string_view body, std::string expected) {
  // Reading it can take 240 times as much memory (formats/yaml_document.h).
  constexpr std::size_t kMostYamlBytes = std::size_t{256} << 10;
  if (body.size() > kMostYamlBytes) {
    return bad_input(Diagnostic{"body", 0, "content", "longer than 256 KiB", std::move(expected)});
  }
  return formats::InputFile::from_memory("body", body, kMostYamlBytes);
}

using transport::HttpResponse;

HttpResponse json_response(int status, std::string body) {
  body += '\n';
  return {status, "application/json", std::move(body), {}};
}

HttpResponse unavailable(std::string_view detail) {
  while (detail.ends_with('\n')) detail.remove_suffix(1);
  HttpResponse response = transport::problem(503, "", detail);
  response.headers.add("Retry-After", "1");
  return response;
}

std::string text_of(const Diagnostics& details) {
  std::string text = to_string(details);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

HttpResponse store_trouble(const Error& error) {
  return unavailable("the store cannot be read: " + text_of(error.details));
}

}  // namespace weir::control
