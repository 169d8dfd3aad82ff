// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::engine::kubernetes {

// RFC 4648 with padding; line ends and spaces between the characters are ignored. Nothing when it is not that.
std::optional<std::string> base64_decoded(std::string_view text);

}  // namespace weir::engine::kubernetes
