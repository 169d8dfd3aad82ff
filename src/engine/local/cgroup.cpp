// SPDX-License-Identifier: Apache-2.0
#include "engine/local/cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include "engine/local/run_token.h"
#include "engine/local/small_files.h"

namespace weir::engine {
namespace {

int write_value(const std::string& file, std::string_view value) {
  const OwnedFd fd{open(file.c_str(), O_WRONLY | O_CLOEXEC)};
  return fd ? write_all(fd.get(), value) : errno;
}

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
  return line;
}

// Where version 2 is mounted: the fifth field of a line whose type is cgroup2.
std::optional<std::string> mount_point() {
  const std::string mounts = read_small_file("/proc/self/mountinfo").value_or("");
  std::string_view left = mounts;
  while (!left.empty()) {
    std::string_view line = take_line(left);
    if (line.find(" - cgroup2 ") == std::string_view::npos) continue;
    for (int field = 1; field < 5; ++field) line.remove_prefix(line.find(' ') + 1);
    return std::string{line.substr(0, line.find(' '))};
  }
  return std::nullopt;
}

std::optional<std::string> own_group() {
  const std::string groups = read_small_file("/proc/self/cgroup").value_or("");
  std::string_view left = groups;
  while (!left.empty()) {
    const std::string_view line = take_line(left);
    if (line.starts_with("0::")) return std::string{line.substr(3)};
  }
  return std::nullopt;
}

bool has_word(std::string_view text, std::string_view word) {
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(" \n");
    if (text.substr(0, end) == word) return true;
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + 1);
  }
  return false;
}

CgroupSupport none(std::string reason) {
  return {"", std::move(reason)};
}

}  // namespace

CgroupSupport find_cgroup() {
  const auto mount = mount_point();
  const auto group = own_group();
  if (!mount || !group) return none("no cgroup v2 here");
  // The group of a program started again may be the leaf made by the one before it.
  constexpr std::string_view kLeaf = "/weir-server";
  std::string base = *mount + *group;
  while (base.ends_with('/')) base.pop_back();
  const bool is_in_leaf = base.ends_with(kLeaf);
  if (is_in_leaf) base.resize(base.size() - kLeaf.size());
  if (*group == "/") return none("the cgroup is the machine's own");
  if (!has_word(read_small_file(base + "/cgroup.controllers").value_or(""), "memory"))
    return none("the cgroup has no memory controller");
  if (access((base + "/cgroup.subtree_control").c_str(), W_OK) != 0)
    return none("the cgroup belongs to somebody else");
  if (!is_in_leaf) {
    const std::string procs = read_small_file(base + "/cgroup.procs").value_or("");
    if (procs != std::to_string(getpid()) + "\n") return none("other programs are in the cgroup");
    const std::string leaf = base + std::string{kLeaf};
    if (mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST)
      return none(std::string{"cannot make a cgroup: "} + std::strerror(errno));
    if (const int error = write_value(leaf + "/cgroup.procs", "0"); error != 0)
      return none(std::string{"cannot enter a cgroup: "} + std::strerror(error));
  }
  if (const int error = write_value(base + "/cgroup.subtree_control", "+memory"); error != 0)
    return none(std::string{"cannot use the memory controller: "} + std::strerror(error));
  return {base, ""};
}

int RunCgroup::open(const std::string& folder, const std::string& name,
                    std::int64_t memory_limit_bytes) {
  if (folder.empty()) return 0;
  path_ = folder + "/" + name;
  if (mkdir(path_.c_str(), 0755) != 0 && errno != EEXIST) return errno;
  if (memory_limit_bytes > 0) {
    const int error = write_value(path_ + "/memory.max", std::to_string(memory_limit_bytes));
    if (error != 0) return error;
    // Without it a run at its limit only becomes slow. There may be no swap to limit.
    write_value(path_ + "/memory.swap.max", "0");
  }
  procs_ = OwnedFd{::open((path_ + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC)};
  return procs_ ? 0 : errno;
}

bool RunCgroup::had_out_of_memory() const {
  if (path_.empty()) return false;
  const std::string events = read_small_file(path_ + "/memory.events").value_or("");
  std::string_view left = events;
  while (!left.empty()) {
    const std::string_view line = take_line(left);
    if (line.starts_with("oom_kill "))
      return parse_number<std::uint64_t>(line.substr(9)).value_or(0) > 0;
  }
  return false;
}

void RunCgroup::kill_all() {
  if (!path_.empty()) write_value(path_ + "/cgroup.kill", "1");
}

void RunCgroup::remove() {
  if (!path_.empty()) rmdir(path_.c_str());
}

}  // namespace weir::engine
