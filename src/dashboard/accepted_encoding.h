// SPDX-License-Identifier: Apache-2.0
//
// Which form of a file a client takes (RFC 9110, section 12.5.3).
#pragma once

#include "transport/http_message.h"

namespace weir::dashboard {

// Whether Accept-Encoding names gzip, or all encodings, with a weight over 0. A field that is not there
// names nothing.
bool accepts_gzip(const transport::HeaderList& headers);

}  // namespace weir::dashboard
