// SPDX-License-Identifier: Apache-2.0
#include "engine/local/process_table.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "engine/local/small_files.h"

namespace weir::engine {
namespace {

std::string proc_path(pid_t pid, std::string_view file) {
  std::string path = "/proc/" + std::to_string(pid) + "/";
  path += file;
  return path;
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> all;
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return all;
  while (const dirent* entry = readdir(proc))
    if (const auto pid = parse_number<std::int32_t>(entry->d_name)) all.push_back(*pid);
  closedir(proc);
  return all;
}

// The effective one. From the text: the owner of a file in /proc is root's when a process hides itself.
std::optional<uid_t> user_of(pid_t pid) {
  const std::string text = read_small_file(proc_path(pid, "status")).value_or("");
  constexpr std::string_view kLine = "\nUid:\t";
  const std::size_t line = text.find(kLine);
  if (line == std::string::npos) return std::nullopt;
  std::string_view users = std::string_view{text}.substr(line + kLine.size());
  users = users.substr(0, users.find('\n'));
  users.remove_prefix(std::min(users.size(), users.find('\t') + 1));
  return parse_number<std::uint32_t>(users.substr(0, users.find('\t')));
}

std::optional<std::string_view> find_variable(std::string_view environment,
                                              std::string_view variable) {
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    if (entry.size() > variable.size() && entry.starts_with(variable) &&
        entry[variable.size()] == '=')
      return entry.substr(variable.size() + 1);
    environment.remove_prefix(std::min(environment.size(), entry.size() + 1));
  }
  return std::nullopt;
}

}  // namespace

std::optional<ProcessStat> parse_process_stat(std::string_view line) {
  // The second field is the program's name in parentheses, which may hold anything.
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= line.size()) return std::nullopt;
  line.remove_prefix(name_end + 2);
  while (line.ends_with('\n')) line.remove_suffix(1);
  ProcessStat stat;
  for (int field = 3; field <= 22; ++field) {
    const std::string_view text = line.substr(0, line.find(' '));
    if (text.empty()) return std::nullopt;
    if (field == 3) stat.state = text.front();
    if (field == 4) stat.parent = parse_number<std::int32_t>(text).value_or(0);
    if (field == 6) stat.session = parse_number<std::int32_t>(text).value_or(0);
    if (field == 22) {
      const auto ticks = parse_number<std::uint64_t>(text);
      if (!ticks) return std::nullopt;
      stat.start_time = *ticks;
    }
    line.remove_prefix(std::min(line.size(), text.size() + 1));
  }
  return stat;
}

std::optional<ProcessStat> stat_of(pid_t pid) {
  const auto line = read_small_file(proc_path(pid, "stat"));
  return line ? parse_process_stat(*line) : std::nullopt;
}

const std::string& boot_id() {
  static const std::string id = [] {
    std::string text = read_small_file("/proc/sys/kernel/random/boot_id").value_or("unknown");
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }();
  return id;
}

ProcessIdentity own_identity() {
  const auto stat = stat_of(getpid());
  return {getpid(), stat ? stat->start_time : 0, boot_id()};
}

bool is_alive(const ProcessIdentity& identity) {
  if (identity.boot_id != boot_id()) return false;
  const auto stat = stat_of(identity.pid);
  return stat && !stat->is_dead() && stat->start_time == identity.start_time;
}

std::optional<std::string> started_with(pid_t pid, std::string_view variable) {
  const auto environment = read_small_file(proc_path(pid, "environ"));
  if (!environment) return std::nullopt;
  const auto value = find_variable(*environment, variable);
  return value ? std::optional<std::string>{*value} : std::nullopt;
}

std::vector<RunProcess> find_run_processes(std::string_view store) {
  std::vector<RunProcess> found;
  for (const pid_t pid : all_processes()) {
    const auto environment = read_small_file(proc_path(pid, "environ"));
    if (!environment || environment->find(store) == std::string::npos) continue;
    for (const std::string_view variable : {kRankVariable, kSupervisorVariable}) {
      const auto token = find_variable(*environment, variable);
      const auto run = token ? parse_run_token(store, *token) : std::nullopt;
      if (!run) continue;
      const auto stat = stat_of(pid);
      if (!stat || stat->is_dead()) break;
      // A rank looks like its supervisor until it becomes its own program, but leads no session.
      const bool is_supervisor =
          variable == kSupervisorVariable && stat->session == pid && user_of(pid) == geteuid();
      found.push_back({pid, *run, is_supervisor});
      break;
    }
  }
  return found;
}

std::vector<pid_t> living_children(pid_t parent) {
  std::vector<pid_t> children;
  for (const pid_t pid : all_processes())
    if (const auto stat = stat_of(pid); stat && !stat->is_dead() && stat->parent == parent)
      children.push_back(pid);
  return children;
}

std::vector<pid_t> living_descendants() {
  std::vector<std::pair<pid_t, pid_t>> living;  // parent, child
  for (const pid_t pid : all_processes())
    if (const auto stat = stat_of(pid); stat && !stat->is_dead())
      living.emplace_back(stat->parent, pid);
  std::vector<pid_t> family{getpid()};
  for (std::size_t i = 0; i < family.size(); ++i)
    for (const auto& [parent, child] : living)
      if (parent == family[i]) family.push_back(child);
  family.erase(family.begin());
  return family;
}

}  // namespace weir::engine
