// SPDX-License-Identifier: Apache-2.0
#include "engine/local/abstract_socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace weir::engine {
namespace {

constexpr std::size_t kLongestDatagram = 4096;

struct Address {
  sockaddr_un bytes{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

// The zero byte before the name makes it abstract.
std::optional<Address> address_of(std::string_view name) {
  Address address;
  address.bytes.sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof address.bytes.sun_path) return std::nullopt;
  std::memcpy(address.bytes.sun_path + 1, name.data(), name.size());
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

}  // namespace

int AbstractSocket::open(std::string_view name) {
  fd_ = OwnedFd{socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd_) return errno;
  if (name.empty()) return 0;
  const auto address = address_of(name);
  if (!address) return ENAMETOOLONG;
  const int on = 1;
  if (setsockopt(fd_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) return errno;
  return bind(fd_.get(), address->get(), address->size) == 0 ? 0 : errno;
}

int AbstractSocket::send(std::string_view name, std::string_view bytes) {
  const auto address = address_of(name);
  if (!address) return ENAMETOOLONG;
  const ssize_t sent = sendto(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                              address->get(), address->size);
  return sent < 0 ? errno : 0;
}

std::optional<Datagram> AbstractSocket::receive() {
  char buffer[kLongestDatagram];
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
  iovec place{buffer, sizeof buffer};
  msghdr message{};
  message.msg_iov = &place;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t count = recvmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (count < 0) return std::nullopt;
  Datagram datagram;
  datagram.bytes.assign(buffer, static_cast<std::size_t>(count));
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_CREDENTIALS) continue;
    ucred credentials{};
    std::memcpy(&credentials, CMSG_DATA(header), sizeof credentials);
    datagram.sender = credentials.pid;
    datagram.user = credentials.uid;
  }
  return datagram;
}

}  // namespace weir::engine
