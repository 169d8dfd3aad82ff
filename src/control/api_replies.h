// SPDX-License-Identifier: Apache-2.0
//
// What several routes of the API do with a body, and the answers that they give.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "domain/result.h"
#include "formats/input_file.h"
#include "transport/http_message.h"

namespace weir::control {

// Whether the body is said to be of one of these types; without a word it is JSON.
bool is_of_type(const transport::HttpRequest& request,
                std::initializer_list<std::string_view> types);
bool is_json_body(const transport::HttpRequest& request);
// A body of YAML to read; `expected` is said when it is longer than 256 KiB.
Result<formats::InputFile> yaml_body(std::string_view body, std::string expected);

transport::HttpResponse json_response(int status, std::string body);
// 503: come back in a second.
transport::HttpResponse unavailable(std::string_view detail);
transport::HttpResponse store_trouble(const Error& error);
// All mistakes in one text, for a problem's detail.
std::string text_of(const Diagnostics& details);

}  // namespace weir::control
