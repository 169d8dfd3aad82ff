// SPDX-License-Identifier: Apache-2.0
//
// What the API's routes ask about their caller.
#pragma once

#include <string>
#include <string_view>

#include "control/access.h"
#include "formats/job_document.h"
#include "transport/responder.h"

namespace weir::control {

// Null when no gate has let the request in: such a request may do nothing.
const AccessCaller* caller_of(const transport::HttpRequest& request);

// Gives the job the caller's tenant. Answers 403 and returns false when it names another.
bool claim(const transport::HttpRequest& request, formats::JobDocument& document,
           transport::Responder& responder);

// Of a job as the API shows it.
std::string tenant_of_view(std::string_view view);

}  // namespace weir::control
