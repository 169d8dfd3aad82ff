// SPDX-License-Identifier: Apache-2.0
#include "running_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "transport/http_client.h"

extern char** environ;

namespace weir::bench {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::string first_line(const fs::path& file) {
  std::ifstream in{file};
  std::string line;
  std::getline(in, line);
  return line;
}

std::string whole_file(const fs::path& file) {
  std::ifstream in{file};
  return {std::istreambuf_iterator<char>{in}, {}};
}

tl::unexpected<Error> failed(std::string what) {
  Diagnostics details;
  details.add({"weir serve", 0, "", std::move(what), "a server that answers"});
  return tl::unexpected<Error>(Error{ErrorCode::failure, std::move(details)});
}

}  // namespace

Result<RunningServer> RunningServer::start(const fs::path& program, const fs::path& state,
                                           const std::vector<std::string>& options) {
  std::vector<std::string> words{program.string(), "serve",  "--state",
                                 state.string(),   "--port", "0"};
  words.insert(words.end(), options.begin(), options.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string log = state.string() + ".log";
  fs::create_directories(state);
  fs::remove(state / "url");
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  RunningServer server;
  server.state_ = state;
  const auto begin = Clock::now();
  const int error =
      posix_spawn(&server.pid_, arguments[0], &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return failed("cannot be started");
  while (Clock::now() - begin < std::chrono::seconds{60}) {
    const std::string url = first_line(state / "url");
    if (!url.empty()) {
      transport::HttpClient client{url};
      if (const auto reply = client.get("/healthz"); reply && reply->status == 200) {
        server.start_seconds_ = std::chrono::duration<double>(Clock::now() - begin).count();
        server.port_ = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
        server.token_ = first_line(state / "token");
        return server;
      }
    }
    int status = 0;
    if (waitpid(server.pid_, &status, WNOHANG) == server.pid_) {
      server.pid_ = -1;
      return failed(fmt::format("ended at once; see {}", log));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  return failed(fmt::format("does not answer; see {}", log));
}

RunningServer::RunningServer(RunningServer&& other) noexcept
    : pid_{std::exchange(other.pid_, -1)},
      state_{std::move(other.state_)},
      port_{other.port_},
      token_{std::move(other.token_)},
      start_seconds_{other.start_seconds_} {}

RunningServer::~RunningServer() {
  kill_now();
  if (!state_.empty()) end_jobs();
}

void RunningServer::kill_now() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

std::string RunningServer::authorization() const {
  return "Authorization: Bearer " + token_ + "\r\n";
}

double RunningServer::resident_mib() const {
  std::ifstream file{fmt::format("/proc/{}/statm", pid_)};
  double pages = 0;
  double resident = 0;
  file >> pages >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

// The fields of /proc/PID/stat from the fourth on, that is behind the name and the state.
std::vector<double> RunningServer::stat_fields() const {
  const std::string all = whole_file(fmt::format("/proc/{}/stat", pid_));
  std::vector<double> fields(20, 0);
  const std::size_t name_end = all.rfind(')');
  if (name_end == std::string::npos) return fields;
  std::istringstream in{all.substr(name_end + 4)};
  for (double& field : fields) in >> field;
  return fields;
}

double RunningServer::cpu_seconds() const {
  const auto fields = stat_fields();
  return (fields[10] + fields[11]) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double RunningServer::children_cpu_seconds() const {
  const auto fields = stat_fields();
  return (fields[12] + fields[13]) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

long RunningServer::threads() const {
  return static_cast<long>(stat_fields()[16]);
}

long RunningServer::descriptors() const {
  std::error_code error;
  return std::distance(fs::directory_iterator{fmt::format("/proc/{}/fd", pid_), error}, {});
}

std::vector<int> RunningServer::job_processes() const {
  std::vector<int> found;
  const std::string id = first_line(state_ / "engine" / "id");
  if (id.empty()) return found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator{"/proc", error}) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string environment = whole_file(entry.path() / "environ");
    if (environment.find("WEIR_SUPERVISOR=" + id) != std::string::npos ||
        environment.find("WEIR_TOKEN=" + id) != std::string::npos)
      found.push_back(std::stoi(name));
  }
  return found;
}

// Again until there are none: one of them may have been about to start another.
void RunningServer::end_jobs() const {
  for (int i = 0; i < 100; ++i) {
    const std::vector<int> processes = job_processes();
    if (processes.empty()) return;
    for (const int process : processes) kill(process, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
}

}  // namespace weir::bench
