// SPDX-License-Identifier: Apache-2.0
//
// Answers that several routes of the API give.
#pragma once

#include <string>
#include <string_view>

#include "domain/result.h"
#include "transport/http_message.h"

namespace weir::control {

transport::HttpResponse json_response(int status, std::string body);
// 503: come back in a second.
transport::HttpResponse unavailable(std::string_view detail);
transport::HttpResponse store_trouble(const Error& error);
// All mistakes in one text, for a problem's detail.
std::string text_of(const Diagnostics& details);

}  // namespace weir::control
