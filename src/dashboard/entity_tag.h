// SPDX-License-Identifier: Apache-2.0
//
// Whether a client has the file already (RFC 9110, section 13.1.2).
#pragma once

#include <string_view>

#include "transport/http_message.h"

namespace weir::dashboard {

// If-None-Match names this entity tag (with its quotes), alone, in a list or as weak, or is "*".
bool has_entity(const transport::HeaderList& headers, std::string_view entity_tag);

}  // namespace weir::dashboard
