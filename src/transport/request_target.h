// SPDX-License-Identifier: Apache-2.0
//
// The target of a request, taken apart: "/v1/jobs/a%20b?tail=5" -> {"v1", "jobs", "a b"}, {{"tail", "5"}}.
// What comes out is safe to compare with names and to show: UTF-8 without control characters, and no
// segment is empty, ".", ".." or has a '/'.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::transport {

struct RequestTarget {
  std::vector<std::string> segments;
  std::vector<std::pair<std::string, std::string>> query;
};

// Nothing when it is malformed; `mistake` then says why, in words for the client.
std::optional<RequestTarget> parse_request_target(std::string_view target, std::string& mistake);

// "%41" -> "A". Nothing when a '%' has no two hexadecimal digits after it.
std::optional<std::string> percent_decoded(std::string_view text);

// "a b/c" -> "a%20b%2Fc": everything but letters, digits and "-._~" is encoded.
std::string percent_encoded(std::string_view text);

}  // namespace weir::transport
