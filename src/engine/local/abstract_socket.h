// SPDX-License-Identifier: Apache-2.0
//
// Datagrams between processes of this machine, by a name that needs no file and vanishes with its
// owner. Anyone on the machine can send to such a name, so a receiver learns who did from the kernel.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "engine/local/owned_fd.h"

namespace weir::engine {

struct Datagram {
  pid_t sender = 0;
  uid_t user = 0;
  std::string bytes;
};

class AbstractSocket {
 public:
  // 0 or errno. An empty name: the socket only sends.
  int open(std::string_view name);
  int fd() const { return fd_.get(); }

  // Never waits. 0, or errno: EAGAIN when the receiver is busy, ECONNREFUSED when there is none.
  int send(std::string_view name, std::string_view bytes);
  // Never waits. Nothing when there is nothing; longer ones are cut.
  std::optional<Datagram> receive();

 private:
  OwnedFd fd_;
};

}  // namespace weir::engine
