// SPDX-License-Identifier: Apache-2.0
//
// A response as the bytes that go over the wire.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

#include "transport/http_message.h"

namespace weir::transport {

// How the client learns where the body ends.
enum class BodyEnd : std::uint8_t { content_length, chunks, close };

struct ResponseFraming {
  BodyEnd end = BodyEnd::content_length;
  bool keeps_alive = true;
  std::string_view date;  // "Sun, 06 Nov 1994 08:49:37 GMT"
};

// Status line and header with the empty line, appended. A header value cannot end its line: control
// characters become spaces.
void append_response_head(std::string& out, const HttpResponse& response,
                          const ResponseFraming& framing);

// 1xx, 204 and 304 have no body, whatever the handler said.
bool may_have_body(int status);

// "1f\r\n...\r\n". Requires: bytes are not empty, which would end the body.
void append_chunk(std::string& out, std::string_view bytes);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

std::string http_date(std::time_t seconds);

}  // namespace weir::transport
