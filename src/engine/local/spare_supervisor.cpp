// SPDX-License-Identifier: Apache-2.0
#include "engine/local/spare_supervisor.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/local/owned_fd.h"
#include "engine/local/run_token.h"
#include "engine/local/supervisor.h"
#include "engine/local/warm_interpreter.h"

namespace weir::engine {
namespace {

constexpr std::size_t kTokenRoom = 128;
constexpr std::size_t kLongestMessage = 8192;

struct HandedRun {
  std::string token;
  std::string folder;
  OwnedFd lock;
};

// Nothing when the engine is gone.
std::optional<HandedRun> receive_run(int socket) {
  std::array<char, kLongestMessage> bytes{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  iovec place{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &place;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t count = -1;
  do count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (count < 0 && errno == EINTR);
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (count <= 0 || header == nullptr || header->cmsg_type != SCM_RIGHTS) return std::nullopt;
  int lock = -1;
  std::memcpy(&lock, CMSG_DATA(header), sizeof lock);
  HandedRun run;
  run.lock = OwnedFd{lock};
  const std::string_view text{bytes.data(), static_cast<std::size_t>(count)};
  const std::size_t split = text.find('\0');
  if (split == std::string_view::npos) return std::nullopt;
  run.token = text.substr(0, split);
  run.folder = text.substr(split + 1);
  return run;
}

// Where others look for it: in the environment this process was started with.
bool show_token(std::string_view token) {
  char* const place = std::getenv(std::string{kSupervisorVariable}.c_str());
  if (place == nullptr || std::strlen(place) < token.size()) return false;
  const std::size_t size = std::strlen(place);
  std::memset(place, 0, size);
  std::memcpy(place, token.data(), token.size());
  return true;
}

}  // namespace

std::string room_for_token() {
  return std::string(kTokenRoom, '-');
}

bool hand_over_run(int socket, const std::string& folder, std::string_view token, int lock) {
  std::string text{token};
  text += '\0';
  text += folder;
  if (text.size() > kLongestMessage || token.size() > kTokenRoom) return false;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  iovec place{text.data(), text.size()};
  msghdr message{};
  message.msg_iov = &place;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof lock);
  std::memcpy(CMSG_DATA(header), &lock, sizeof lock);
  return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
}

int wait_for_run(const std::string& program, const std::vector<std::string>& modules) {
  close_range(kLockDescriptor, UINT_MAX, 0);
  // The lock's number is given to nothing else before the lock is there, here and in the interpreter.
  const OwnedFd nothing{open("/dev/null", O_RDONLY)};
  if (nothing.get() != kLockDescriptor) return EBADF;
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return errno;
  auto warm = WarmInterpreter::start(program, modules);
  auto run = receive_run(STDIN_FILENO);
  if (!run) return 0;
  if (dup2(run->lock.get(), kLockDescriptor) < 0) return errno;
  run->lock.reset();
  if (!show_token(run->token)) return EINVAL;
  const OwnedFd input{open("/dev/null", O_RDONLY | O_CLOEXEC)};
  if (!input || dup2(input.get(), STDIN_FILENO) < 0) return errno;
  return supervise(run->folder.c_str(), std::move(warm));
}

}  // namespace weir::engine
