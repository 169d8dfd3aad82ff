// SPDX-License-Identifier: Apache-2.0
#include "engine/local/rank_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

namespace weir::engine {
namespace {

bool is_program(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

std::string_view path_of(const std::vector<std::string>& environment) {
  for (const std::string& entry : environment)
    if (entry.starts_with("PATH=")) return std::string_view{entry}.substr(5);
  return "/usr/local/bin:/usr/bin:/bin";
}

// A name with a slash is taken as it is, from the rank's directory on.
std::optional<std::string> find_program(const RankStart& start) {
  const std::string& name = start.command.front();
  if (name.find('/') != std::string::npos) return name;
  std::string_view folders = path_of(start.environment);
  while (!folders.empty()) {
    const std::string_view folder = folders.substr(0, folders.find(':'));
    folders.remove_prefix(folder.size() == folders.size() ? folder.size() : folder.size() + 1);
    if (!folder.starts_with('/')) continue;
    std::string path = std::string{folder} + "/" + name;
    if (is_program(path)) return path;
  }
  return std::nullopt;
}

// Where it went wrong, told by the child before it gives up.
enum class Step : int { settings, user, directory, program };
struct Failure {
  Step step;
  int error;
};

struct ChildSetup {
  const char* program;
  char* const* arguments;
  char* const* environment;
  const char* directory;
  std::int64_t memory_limit_bytes;
  int cgroup_procs;
  int input;
  int output;
  int failure;
  int control;
  pid_t parent;
  const RunUser* user;  // null: as the parent
};

[[noreturn]] void give_up(const ChildSetup& setup, Step step) {
  const Failure failure{step, errno};
  [[maybe_unused]] const ssize_t written = write(setup.failure, &failure, sizeof failure);
  _exit(127);
}

// Straight to the kernel: the library would tell the threads of this process, which are the parent's.
void become_user(const ChildSetup& setup) {
  const RunUser& user = *setup.user;
  if (syscall(SYS_setgroups, user.groups.size(), user.groups.data()) != 0 ||
      syscall(SYS_setresgid, user.group, user.group, user.group) != 0 ||
      syscall(SYS_setresuid, user.user, user.user, user.user) != 0 ||
      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    give_up(setup, Step::user);
}

// Runs in the child, which shares the parent's memory until it becomes the program: system calls only.
[[noreturn]] void become_rank(const ChildSetup& setup) {
  if (setpgid(0, 0) != 0) give_up(setup, Step::settings);
  if (setup.cgroup_procs >= 0 && write(setup.cgroup_procs, "0", 1) != 1)
    give_up(setup, Step::settings);
  if (setup.memory_limit_bytes > 0) {
    const auto bytes = static_cast<rlim_t>(setup.memory_limit_bytes);
    const rlimit limit{bytes, bytes};
    if (setrlimit(RLIMIT_AS, &limit) != 0) give_up(setup, Step::settings);
  }
  if (dup2(setup.input, 0) < 0 || dup2(setup.output, 1) < 0 || dup2(setup.output, 2) < 0)
    give_up(setup, Step::settings);
  constexpr int kControlDescriptor = 4;
  if (setup.control == kControlDescriptor)
    fcntl(kControlDescriptor, F_SETFD, 0);
  else if (setup.control >= 0 && dup2(setup.control, kControlDescriptor) < 0)
    give_up(setup, Step::settings);
  if (setup.user != nullptr) become_user(setup);
  // Not earlier: who becomes another user loses it.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up(setup, Step::settings);
  if (getppid() != setup.parent) _exit(127);  // died before the line above
  if (chdir(setup.directory) != 0) give_up(setup, Step::directory);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(setup.program, setup.arguments, setup.environment);
  give_up(setup, Step::program);
}

// By itself, because what a function keeps in registers does not survive vfork.
[[gnu::noinline]] pid_t spawn(const ChildSetup& setup) {
  const pid_t pid = vfork();
  if (pid == 0) become_rank(setup);
  return pid;
}

std::string explain(const RankStart& start, const Failure& failure) {
  const std::string reason = std::strerror(failure.error);
  switch (failure.step) {
    case Step::user:
      return "cannot become the user " + start.user->name + ": " + reason;
    case Step::directory:
      return "cannot enter the directory " + start.directory + ": " + reason;
    case Step::program:
      if (failure.error == ENOENT)
        return "the program \"" + start.command.front() + "\" was not found";
      if (failure.error == ENOEXEC)
        return "\"" + start.command.front() + "\" is not a program (has it a first line with #! ?)";
      return "cannot start \"" + start.command.front() + "\": " + reason;
    case Step::settings:
      break;
  }
  return "cannot prepare the process: " + reason;
}

RankProcess failed(int error, std::string explanation) {
  RankProcess process;
  process.error = error;
  process.explanation = std::move(explanation);
  return process;
}

}  // namespace

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

RankProcess start_rank(const RankStart& start) {
  if (start.command.empty()) return failed(EINVAL, "the command is empty");
  const auto program = find_program(start);
  if (!program) return failed(ENOENT, explain(start, {Step::program, ENOENT}));

  int output[2];
  int failure_pipe[2];
  if (pipe2(output, O_CLOEXEC) != 0) return failed(errno, explain(start, {Step::settings, errno}));
  OwnedFd read_end{output[0]};
  const OwnedFd write_end{output[1]};
  if (pipe2(failure_pipe, O_CLOEXEC) != 0)
    return failed(errno, explain(start, {Step::settings, errno}));
  const OwnedFd failure_read{failure_pipe[0]};
  OwnedFd failure_write{failure_pipe[1]};
  const OwnedFd input{open("/dev/null", O_RDONLY | O_CLOEXEC)};
  if (!input) return failed(errno, explain(start, {Step::settings, errno}));
  fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  // Who opens /dev/stderr anew must be its owner.
  if (start.user && fchown(write_end.get(), start.user->user, start.user->group) != 0)
    return failed(errno, explain(start, {Step::user, errno}));
  const OwnedFd nowhere{start.keeps_output ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC)};

  const std::vector<char*> arguments = pointers_to(start.command);
  const std::vector<char*> environment = pointers_to(start.environment);
  const ChildSetup setup{program->c_str(),
                         arguments.data(),
                         environment.data(),
                         start.directory.c_str(),
                         start.memory_limit_bytes,
                         start.cgroup_procs,
                         input.get(),
                         start.keeps_output ? write_end.get() : nowhere.get(),
                         failure_write.get(),
                         start.control,
                         getpid(),
                         start.user ? &*start.user : nullptr};
  const pid_t pid = spawn(setup);
  if (pid < 0) return failed(errno, explain(start, {Step::settings, errno}));

  failure_write.reset();
  Failure failure{};
  if (read(failure_read.get(), &failure, sizeof failure) == sizeof failure)
    return failed(failure.error, explain(start, failure));
  RankProcess process;
  process.pid = pid;
  process.output = std::move(read_end);
  return process;
}

std::vector<std::string> merge_environment(
    const char* const* inherited, const std::vector<std::pair<std::string, std::string>>& changes,
    std::string_view removed) {
  std::map<std::string, std::string, std::less<>> merged;
  for (; *inherited != nullptr; ++inherited) {
    const std::string_view entry = *inherited;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || entry.substr(0, equals) == removed) continue;
    merged.insert_or_assign(std::string{entry.substr(0, equals)},
                            std::string{entry.substr(equals + 1)});
  }
  for (const auto& [name, value] : changes) merged.insert_or_assign(name, value);
  std::vector<std::string> environment;
  environment.reserve(merged.size());
  for (const auto& [name, value] : merged) environment.push_back(name + "=" + value);
  return environment;
}

}  // namespace weir::engine
