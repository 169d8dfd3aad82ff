// SPDX-License-Identifier: Apache-2.0
#include "engine/local/find_user.h"

#include <grp.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace weir::engine {
namespace {

std::vector<gid_t> groups_of(const std::string& name, gid_t group) {
  std::vector<gid_t> groups(32);
  auto count = static_cast<int>(groups.size());
  while (getgrouplist(name.c_str(), group, groups.data(), &count) < 0) {
    // It says how many there are, unless it cannot.
    if (static_cast<std::size_t>(count) <= groups.size())
      count = 2 * static_cast<int>(groups.size());
    groups.resize(static_cast<std::size_t>(count));
  }
  groups.resize(static_cast<std::size_t>(count));
  return groups;
}

}  // namespace

std::optional<RunUser> find_user(const std::string& name) {
  std::vector<char> room(1024);
  passwd entry{};
  passwd* found = nullptr;
  int error = 0;
  while ((error = getpwnam_r(name.c_str(), &entry, room.data(), room.size(), &found)) == ERANGE)
    room.resize(2 * room.size());
  errno = error;
  if (found == nullptr) return std::nullopt;
  return RunUser{entry.pw_name, entry.pw_uid,  entry.pw_gid, groups_of(entry.pw_name, entry.pw_gid),
                 entry.pw_dir,  entry.pw_shell};
}

bool can_enter(const RunUser& user, const std::filesystem::path& folder) {
  const pid_t child = fork();
  if (child == 0) {
    const bool is_able = setgroups(user.groups.size(), user.groups.data()) == 0 &&
                         setgid(user.group) == 0 && setuid(user.user) == 0 &&
                         chdir(folder.c_str()) == 0;
    _exit(is_able ? 0 : 1);
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && status == 0;
}

}  // namespace weir::engine
