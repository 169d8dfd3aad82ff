// SPDX-License-Identifier: Apache-2.0
#include "control/api_replies.h"

#include <utility>

namespace weir::control {

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
