// SPDX-License-Identifier: Apache-2.0
#include "engine/local/spare_supervisor.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "engine/local/descriptor_message.h"
#include "engine/local/owned_fd.h"
#include "engine/local/run_token.h"
#include "engine/local/supervisor.h"
#include "engine/local/warm_interpreter.h"

namespace weir::engine {
namespace {

constexpr std::size_t kTokenRoom = 128;

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
  if (token.size() > kTokenRoom) return false;
  std::string text{token};
  text += '\0';
  text += folder;
  return send_with_descriptors(socket, text, std::array{lock});
}

int wait_for_run(const std::string& program, const std::vector<std::string>& modules) {
  close_range(kLockDescriptor, UINT_MAX, 0);
  // The lock's number is given to nothing else before the lock is there, here and in the interpreter.
  const OwnedFd nothing{open("/dev/null", O_RDONLY)};
  if (nothing.get() != kLockDescriptor) return EBADF;
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return errno;
  auto warm = WarmInterpreter::start(program, modules);
  auto run = receive_with_descriptors(STDIN_FILENO);
  if (!run) return 0;
  const std::size_t split = run->text.find('\0');
  if (run->descriptors.size() != 1 || split == std::string::npos) return EINVAL;
  if (dup2(run->descriptors.front().get(), kLockDescriptor) < 0) return errno;
  run->descriptors.clear();
  if (!show_token(run->text.substr(0, split))) return EINVAL;
  const OwnedFd input{open("/dev/null", O_RDONLY | O_CLOEXEC)};
  if (!input || dup2(input.get(), STDIN_FILENO) < 0) return errno;
  return supervise(run->text.substr(split + 1).c_str(), std::move(warm));
}

}  // namespace weir::engine
