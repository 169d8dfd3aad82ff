// SPDX-License-Identifier: Apache-2.0
#include "cli/state_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "control/access.h"

namespace weir::cli {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> failed(const fs::path& file, std::string_view what, int error) {
  Diagnostics details;
  details.add({file.string(), 0, "", std::string{what} + ": " + std::strerror(error),
               "a folder that can be written"});
  return tl::unexpected<Error>(Error{ErrorCode::failure, std::move(details)});
}

}  // namespace

fs::path default_state_folder() {
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string{} : value;
  };
  if (const auto folder = variable("WEIR_STATE"); !folder.empty()) return folder;
  if (const auto folder = variable("XDG_STATE_HOME"); !folder.empty())
    return fs::path{folder} / "weir";
  if (const auto home = variable("HOME"); !home.empty())
    return fs::path{home} / ".local/state/weir";
  return "/var/lib/weir";
}

fs::path store_file(const fs::path& state) {
  return state / "weir.db";
}
fs::path token_file(const fs::path& state) {
  return state / "token";
}
fs::path tokens_file(const fs::path& state) {
  return state / "tokens.json";
}
fs::path certificate_file(const fs::path& state) {
  return state / "tls-cert.pem";
}
fs::path key_file(const fs::path& state) {
  return state / "tls-key.pem";
}
fs::path audit_file(const fs::path& state) {
  return state / "audit.jsonl";
}
fs::path url_file(const fs::path& state) {
  return state / "url";
}

Result<void> make_state_folder(const fs::path& state, FolderAccess access) {
  std::error_code error;
  fs::create_directories(state, error);
  if (error) return failed(state, "cannot be made", error.value());
  const mode_t mode = access == FolderAccess::others_pass ? S_IRWXU | S_IXGRP | S_IXOTH : S_IRWXU;
  if (chmod(state.c_str(), mode) != 0) return failed(state, "cannot be made private", errno);
  return {};
}

Result<std::string> read_or_make_token(const fs::path& file) {
  std::string token;
  if (std::ifstream in{file}; in && in >> token && token.size() >= 16) return token;
  token = control::new_secret();
  // Beside it, then renamed: a token is there whole or not at all.
  const fs::path beside = file.string() + ".new";
  const int fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) return failed(file, "cannot be written", errno);
  const std::string line = token + "\n";
  const bool is_written =
      write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size()) && fsync(fd) == 0;
  const int error = errno;
  close(fd);
  if (!is_written || rename(beside.c_str(), file.c_str()) != 0)
    return failed(file, "cannot be written", is_written ? errno : error);
  return token;
}

}  // namespace weir::cli
