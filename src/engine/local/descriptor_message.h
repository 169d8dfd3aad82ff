// SPDX-License-Identifier: Apache-2.0
//
// Messages between processes that carry open descriptors: the receiver gets its own of the same files.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/local/owned_fd.h"

namespace weir::engine {

inline constexpr std::size_t kMostDescriptors = 4;
inline constexpr std::size_t kLongestDescriptorMessage = 8192;

// False when nobody is at the other end, or it does not fit. Requires: a socket that keeps messages
// apart; 1 to kMostDescriptors descriptors.
bool send_with_descriptors(int socket, std::string_view text, std::span<const int> descriptors);

struct DescriptorMessage {
  std::string text;
  std::vector<OwnedFd> descriptors;
};
// Waits for one. Nothing when the other end is closed.
std::optional<DescriptorMessage> receive_with_descriptors(int socket);

}  // namespace weir::engine
