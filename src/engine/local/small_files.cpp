// SPDX-License-Identifier: Apache-2.0
#include "engine/local/small_files.h"

#include <fcntl.h>

#include <cerrno>

#include "engine/local/owned_fd.h"

namespace weir::engine {

std::optional<std::string> read_small_file(int folder, const char* name) {
  const OwnedFd file{openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  if (!file) return std::nullopt;
  std::string bytes;
  char buffer[4096];
  while (true) {
    const ssize_t count = read(file.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) return bytes;
    bytes.append(buffer, static_cast<std::size_t>(count));
  }
}

std::optional<std::string> read_small_file(const std::string& path) {
  return read_small_file(AT_FDCWD, path.c_str());
}

int write_small_file(int folder, const char* name, std::string_view bytes) {
  const OwnedFd file{
      openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600)};
  return file ? write_all(file.get(), bytes) : errno;
}

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

}  // namespace weir::engine
