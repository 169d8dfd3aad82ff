// SPDX-License-Identifier: Apache-2.0
#include "engine/local/warm_interpreter.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/local/descriptor_message.h"
#include "engine/local/run_token.h"
#include "engine/local/small_files.h"
#include "engine/local/spare_supervisor.h"
#include "engine/local/supervisor.h"
#include "engine/local/warm_interpreter_source.h"

namespace weir::engine {
namespace {

using Clock = std::chrono::steady_clock;
// Longer than imports take. Who has not answered by then is given up, and the rank started anew.
constexpr std::chrono::seconds kImportPatience{60};

std::size_t arguments_before_script(const std::vector<std::string>& command) {
  return command.size() > 1 && command[1] == "-u" ? 2 : 1;
}

std::string describe(const RankStart& start) {
  const std::size_t skip = arguments_before_script(start.command);
  nlohmann::json work;
  work["arguments"] = std::vector<std::string>(
      start.command.begin() + static_cast<std::ptrdiff_t>(skip), start.command.end());
  work["command"] = start.command;
  work["unbuffered"] = skip == 2;
  work["environment"] = start.environment;
  work["directory"] = start.directory;
  work["memory"] = start.memory_limit_bytes;
  work["token"] = "";
  const std::string prefix = std::string{kRankVariable} + "=";
  for (const std::string& entry : start.environment)
    if (entry.starts_with(prefix)) work["token"] = entry.substr(prefix.size());
  // Bytes that are no UTF-8 cannot be said in JSON.
  return work.dump(-1, ' ', false, nlohmann::json::error_handler_t::ignore);
}

OwnedFd file_in_memory(std::string_view bytes) {
  OwnedFd file{memfd_create("weir-rank", MFD_CLOEXEC)};
  if (!file || write_all(file.get(), bytes) != 0 || lseek(file.get(), 0, SEEK_SET) != 0) return {};
  return file;
}

// 0 when none came.
pid_t receive_pid(int socket) {
  const auto give_up_at = Clock::now() + kImportPatience;
  pollfd watched{socket, POLLIN, 0};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(give_up_at - Clock::now());
    const int ready = poll(&watched, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return 0;
    std::array<char, 32> text{};
    const ssize_t count = recv(socket, text.data(), text.size(), 0);
    if (count <= 0) return 0;
    return parse_number<std::int32_t>({text.data(), static_cast<std::size_t>(count)}).value_or(0);
  }
}

}  // namespace

bool WarmInterpreter::can_run(const std::vector<std::string>& command) {
  const std::size_t script = command.empty() ? 0 : arguments_before_script(command);
  return script > 0 && command.size() > script && !command[script].empty() &&
         command[script].front() != '-';
}

std::unique_ptr<WarmInterpreter> WarmInterpreter::start(const std::string& program,
                                                        const std::vector<std::string>& modules) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) return nullptr;
  auto made = std::make_unique<WarmInterpreter>();
  made->control_ = OwnedFd{sockets[0]};
  const OwnedFd theirs{sockets[1]};
  RankStart start;
  start.command = {program, "-c", std::string{kWarmInterpreterSource}};
  start.command.insert(start.command.end(), modules.begin(), modules.end());
  start.environment = merge_environment(
      environ,
      {{std::string{kRankVariable}, room_for_token()},
       {"OMP_NUM_THREADS", std::getenv("OMP_NUM_THREADS") ? std::getenv("OMP_NUM_THREADS") : "1"}},
      kSupervisorVariable);
  start.directory = "/";
  start.keeps_output = false;
  start.control = theirs.get();
  if (engine::start_rank(start).pid == 0) return nullptr;
  return made;
}

RankProcess WarmInterpreter::start_rank(const RankStart& start) {
  RankProcess process;
  if (!control_ || !can_run(start.command)) return process;
  int output[2];
  if (pipe2(output, O_CLOEXEC) != 0) return process;
  OwnedFd read_end{output[0]};
  const OwnedFd write_end{output[1]};
  fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  const OwnedFd work = file_in_memory(describe(start));
  std::vector<int> descriptors{work.get(), write_end.get(), kLockDescriptor};
  if (start.cgroup_procs >= 0) descriptors.push_back(start.cgroup_procs);
  if (work && send_with_descriptors(control_.get(), "rank", descriptors))
    process.pid = receive_pid(control_.get());
  if (process.pid == 0) {
    let_go();
    return process;
  }
  process.output = std::move(read_end);
  return process;
}

}  // namespace weir::engine
