// SPDX-License-Identifier: Apache-2.0
#include "engine/local/descriptor_message.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace weir::engine {
namespace {

struct Control {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> bytes{};
};

}  // namespace

bool send_with_descriptors(int socket, std::string_view text, std::span<const int> descriptors) {
  if (text.size() > kLongestDescriptorMessage || descriptors.size() > kMostDescriptors)
    return false;
  Control control;
  iovec place{const_cast<char*>(text.data()), text.size()};
  msghdr message{};
  message.msg_iov = &place;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
}

std::optional<DescriptorMessage> receive_with_descriptors(int socket) {
  std::array<char, kLongestDescriptorMessage> bytes{};
  Control control;
  iovec place{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &place;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  ssize_t count = -1;
  do count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (count < 0 && errno == EINTR);
  if (count <= 0) return std::nullopt;
  DescriptorMessage received;
  received.text.assign(bytes.data(), static_cast<std::size_t>(count));
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = 0; at + CMSG_LEN(sizeof(int)) <= header->cmsg_len; at += sizeof(int)) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(header) + at, sizeof descriptor);
      received.descriptors.emplace_back(descriptor);
    }
  }
  return received;
}

}  // namespace weir::engine
