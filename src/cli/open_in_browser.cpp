// SPDX-License-Identifier: Apache-2.0
#include "cli/open_in_browser.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/state_folder.h"
#include "report/svg_axes.h"

namespace weir::cli {
namespace {

namespace fs = std::filesystem;

bool is_set(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

// Empty when it cannot be written.
fs::path write_for_owner(const std::string& text) {
  const fs::path folder = default_state_folder();
  std::error_code error;
  // One that is there has the access its server gave it.
  if (!fs::exists(folder, error) && !make_state_folder(folder)) return {};
  fs::path file = folder / "dashboard.html";
  unlink(file.c_str());
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) return {};
  const bool is_written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return is_written ? file : fs::path{};
}

// 0, or why it could not be started. Nobody waits for it: some browsers stay until they are closed.
int start_xdg_open(std::string file) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  std::string program = "xdg-open";
  char* const arguments[] = {program.data(), file.data(), nullptr};
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, program.c_str(), &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

std::string page_leading_to(const std::string& link) {
  return fmt::format(
      "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" "
      "content=\"no-referrer\">\n"
      "<meta http-equiv=\"refresh\" content=\"0; url={0}\">\n<title>weir</title>\n"
      "<a href=\"{0}\">to the dashboard</a>\n",
      report::escape_markup(link));
}

tl::expected<void, std::string> open_in_browser(const std::string& link) {
  if (!is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY"))
    return tl::unexpected<std::string>{"there is no display here"};
  const fs::path file = write_for_owner(page_leading_to(link));
  if (file.empty()) {
    return tl::unexpected<std::string>{
        fmt::format("{} cannot be written", (default_state_folder() / "dashboard.html").string())};
  }
  if (const int error = start_xdg_open(file.string()); error != 0) {
    return tl::unexpected<std::string>{error == ENOENT
                                           ? std::string{"xdg-open is not installed"}
                                           : fmt::format("xdg-open: {}", std::strerror(error))};
  }
  return {};
}

}  // namespace weir::cli
