// SPDX-License-Identifier: Apache-2.0
#include "engine/local/supervisor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/local/abstract_socket.h"
#include "engine/local/cgroup.h"
#include "engine/local/progress_message.h"
#include "engine/local/rank_process.h"
#include "engine/local/run_end.h"
#include "engine/local/run_log.h"
#include "engine/local/run_status.h"
#include "engine/local/small_files.h"
#include "engine/local/supervisor_order.h"

namespace weir::engine {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kSendRetry{50};
constexpr std::chrono::milliseconds kKillRetry{20};
constexpr int kReadsAtOnce = 64;  // per rank, before the others get their turn
constexpr int kDatagramsAtOnce = 1000;
constexpr std::size_t kReadBytes = 64 << 10;

// A port that is free now. It may be taken before rank 0 does; the job then fails and is restarted.
int find_free_port() {
  const OwnedFd probe{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (!probe || bind(probe.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(probe.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return 0;
  return ntohs(address.sin_port);
}

struct Rank {
  pid_t pid = 0;  // 0: not started, or waited for
  OwnedFd output;
  RunLogWriter log;
};

class Supervisor {
 public:
  explicit Supervisor(OwnedFd folder) : folder_{std::move(folder)} {}

  int begin();
  void look_after();

 private:
  enum class Phase { running, ending, killing };

  void start_ranks();
  bool start_one(std::int32_t number, const std::vector<std::string>& environment);
  std::vector<std::pair<std::string, std::string>> variables_of_ranks() const;
  void wait_for_something();
  Clock::time_point next_deadline() const;
  void read_signals();
  void reap();
  void on_rank_end(std::int32_t number, int wait_status);
  bool read_output(Rank& rank);  // false: there is no more now
  void read_progress();
  void note_progress(std::int64_t iterations);
  void become_ready();
  void send_news();
  void begin_ending();
  void kill_everything();
  void signal_descendants(int signal);
  void note_end();
  bool has_living_ranks() const;

  OwnedFd folder_;
  SupervisorOrder order_;
  RunStatusWriter status_;
  RunCgroup cgroup_;
  OwnedFd signals_;
  AbstractSocket progress_socket_;
  std::vector<Rank> ranks_;

  Phase phase_ = Phase::running;
  bool has_children_ = true;
  bool is_told_to_stop_ = false;  // while all was well
  std::optional<RunEnded> end_;
  Clock::time_point kill_at_ = Clock::time_point::max();

  RunNews news_;
  bool has_unsent_news_ = false;
  Clock::time_point send_at_ = Clock::time_point::min();
};

int Supervisor::begin() {
  if (const int error = status_.open(folder_.get()); error != 0) return error;
  // First of all, so that an engine that comes later knows whom to ask.
  if (const int error = status_.note_identity(own_identity()); error != 0) return error;
  const auto bytes = read_small_file(folder_.get(), "order");
  auto order = bytes ? decode_supervisor_order(*bytes) : std::nullopt;
  if (!order) return EINVAL;
  order_ = std::move(*order);
  news_.run = order_.run;

  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int signal : {SIGTERM, SIGCHLD, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2})
    sigaddset(&blocked, signal);
  sigprocmask(SIG_BLOCK, &blocked, nullptr);
  sigset_t heeded;
  sigemptyset(&heeded);
  sigaddset(&heeded, SIGTERM);
  sigaddset(&heeded, SIGCHLD);
  signals_ = OwnedFd{signalfd(-1, &heeded, SFD_CLOEXEC | SFD_NONBLOCK)};
  if (!signals_) return errno;
  // Children of dead children come to us: a run has no orphans.
  return prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 ? 0 : errno;
}

void Supervisor::look_after() {
  start_ranks();
  reap();
  while (has_children_) {
    send_news();
    wait_for_something();
    read_signals();
    read_progress();
    for (Rank& rank : ranks_) read_output(rank);
    reap();
    const auto now = Clock::now();
    if (!has_living_ranks() && has_children_ && phase_ == Phase::running) begin_ending();
    if (phase_ == Phase::ending && now >= kill_at_) phase_ = Phase::killing;
    if (phase_ == Phase::killing && has_children_) kill_everything();
  }
  for (Rank& rank : ranks_)
    while (read_output(rank)) {
    }
  read_progress();
  note_end();
}

// What torchrun sets for its workers, so that a script cannot tell who started it: one node, one
// role, rank 0 hosts the store. What the user has set of the last two stands.
void add_what_torchrun_sets(const SupervisorOrder& order,
                            std::vector<std::pair<std::string, std::string>>& variables) {
  const std::string ranks = std::to_string(order.ranks);
  variables.emplace_back("WORLD_SIZE", ranks);
  variables.emplace_back("LOCAL_WORLD_SIZE", ranks);
  variables.emplace_back("GROUP_RANK", "0");
  variables.emplace_back("GROUP_WORLD_SIZE", "1");
  variables.emplace_back("ROLE_NAME", "default");
  variables.emplace_back("ROLE_WORLD_SIZE", ranks);
  variables.emplace_back("MASTER_ADDR", "127.0.0.1");
  variables.emplace_back("MASTER_PORT", std::to_string(find_free_port()));
  variables.emplace_back("TORCHELASTIC_RUN_ID", "weir-" + std::to_string(order.run.job) + "." +
                                                    std::to_string(order.run.generation));
  variables.emplace_back("TORCHELASTIC_USE_AGENT_STORE", "False");
  const auto set_unless_set = [&](const char* name, const char* value) {
    const bool is_set = std::getenv(name) != nullptr ||
                        std::any_of(order.environment.begin(), order.environment.end(),
                                    [&](const auto& variable) { return variable.first == name; });
    if (!is_set) variables.emplace_back(name, value);
  };
  set_unless_set("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
  if (order.ranks > 1) set_unless_set("OMP_NUM_THREADS", "1");
}

std::vector<std::pair<std::string, std::string>> Supervisor::variables_of_ranks() const {
  auto variables = order_.environment;
  const std::string token = run_token(order_.store, order_.run);
  variables.emplace_back(kRankVariable, token);
  variables.emplace_back("WEIR_PROGRESS", "@weir.progress." + token);
  add_what_torchrun_sets(order_, variables);
  return variables;
}

void Supervisor::start_ranks() {
  const std::string token = run_token(order_.store, order_.run);
  int error = progress_socket_.open("weir.progress." + token);
  if (error == 0) error = cgroup_.open(order_.cgroup, token, order_.memory_limit_bytes);
  if (error != 0) {
    end_ = RunEnded{RunEndKind::not_started, error,
                    std::string{"cannot prepare the run: "} + std::strerror(error)};
    return;
  }
  auto variables = variables_of_ranks();
  ranks_.resize(static_cast<std::size_t>(order_.ranks));
  for (std::int32_t number = 0; number < order_.ranks; ++number) {
    for (const char* name : {"WEIR_RANK", "RANK", "LOCAL_RANK", "ROLE_RANK"})
      variables.emplace_back(name, std::to_string(number));
    if (!start_one(number, merge_environment(environ, variables, kSupervisorVariable))) {
      begin_ending();
      return;
    }
  }
  if (!order_.reports_progress) become_ready();
}

bool Supervisor::start_one(std::int32_t number, const std::vector<std::string>& environment) {
  Rank& rank = ranks_[static_cast<std::size_t>(number)];
  RankProcess process;
  process.error = rank.log.open(folder_.get(), number, order_.log_limit_bytes);
  if (process.error == 0) {
    const bool has_cgroup = cgroup_.procs() >= 0;
    process = start_rank({order_.command, environment, order_.directory,
                          has_cgroup ? 0 : order_.memory_limit_bytes, cgroup_.procs()});
  } else {
    process.explanation = std::string{"cannot write the log: "} + std::strerror(process.error);
  }
  rank.pid = process.pid;
  rank.output = std::move(process.output);
  if (process.pid == 0)
    end_ = RunEnded{RunEndKind::not_started, process.error, std::move(process.explanation)};
  return process.pid != 0;
}

Clock::time_point Supervisor::next_deadline() const {
  auto next = Clock::time_point::max();
  if (has_unsent_news_) next = std::min(next, send_at_);
  if (phase_ == Phase::ending) next = std::min(next, kill_at_);
  if (phase_ == Phase::killing) next = std::min(next, Clock::now() + kKillRetry);
  return next;
}

void Supervisor::wait_for_something() {
  std::vector<pollfd> watched{{signals_.get(), POLLIN, 0}, {progress_socket_.fd(), POLLIN, 0}};
  for (const Rank& rank : ranks_)
    if (rank.output) watched.push_back({rank.output.get(), POLLIN, 0});
  int timeout = -1;
  if (const auto next = next_deadline(); next != Clock::time_point::max()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
    timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX));
  }
  poll(watched.data(), watched.size(), timeout);
}

void Supervisor::read_signals() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo != SIGTERM || phase_ != Phase::running) continue;
    // The end may have come first, and not have been waited for yet.
    reap();
    if (!has_living_ranks() || phase_ != Phase::running) continue;
    is_told_to_stop_ = true;
    begin_ending();
  }
}

void Supervisor::reap() {
  while (true) {
    int wait_status = 0;
    const pid_t pid = waitpid(-1, &wait_status, WNOHANG);
    if (pid == 0 || (pid < 0 && errno == EINTR)) return;
    if (pid < 0) {
      has_children_ = false;
      return;
    }
    for (std::size_t i = 0; i < ranks_.size(); ++i)
      if (ranks_[i].pid == pid) on_rank_end(static_cast<std::int32_t>(i), wait_status);
  }
}

void Supervisor::on_rank_end(std::int32_t number, int wait_status) {
  ranks_[static_cast<std::size_t>(number)].pid = 0;
  if (phase_ != Phase::running || wait_status == 0) return;
  end_ = explain_exit(wait_status, number, order_.ranks, cgroup_.had_out_of_memory());
  begin_ending();
}

bool Supervisor::read_output(Rank& rank) {
  static char buffer[kReadBytes];
  for (int i = 0; i < kReadsAtOnce && rank.output; ++i) {
    const ssize_t count = read(rank.output.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    if (count == 0) rank.output.reset();
    rank.log.append({buffer, static_cast<std::size_t>(count)});
  }
  return static_cast<bool>(rank.output);
}

void Supervisor::read_progress() {
  for (int i = 0; i < kDatagramsAtOnce; ++i) {
    const auto datagram = progress_socket_.receive();
    if (!datagram) return;
    if (datagram->user != geteuid()) continue;
    if (const auto iterations = parse_steps(datagram->bytes)) note_progress(*iterations);
  }
}

void Supervisor::note_progress(std::int64_t iterations) {
  if (iterations <= news_.progress) return;
  news_.progress = iterations;
  has_unsent_news_ = true;
  if (order_.reports_progress) become_ready();
}

void Supervisor::become_ready() {
  if (news_.is_ready) return;
  news_.is_ready = true;
  status_.note_ready();
  has_unsent_news_ = true;
  send_at_ = Clock::time_point::min();
}

// What is sent is noted first: an engine that cannot be reached now reads it when it comes.
void Supervisor::send_news() {
  const auto now = Clock::now();
  if (!has_unsent_news_ || now < send_at_) return;
  if (news_.progress >= 0) status_.note_progress(news_.progress);
  const int error = progress_socket_.send(order_.engine_socket, encode(news_));
  has_unsent_news_ = error == EAGAIN;
  send_at_ = now + (error == EAGAIN ? Clock::duration{kSendRetry}
                                    : Clock::duration{order_.progress_interval_ns});
}

void Supervisor::begin_ending() {
  phase_ = Phase::ending;
  // A longer time would not fit the clock.
  constexpr std::int64_t kLongestGrace = std::int64_t{1000} * 24 * 3600 * 1'000'000'000;
  kill_at_ = Clock::now() + std::chrono::nanoseconds{std::min(order_.grace_ns, kLongestGrace)};
  if (!has_living_ranks()) return signal_descendants(SIGTERM);
  for (const Rank& rank : ranks_)
    if (rank.pid != 0) kill(-rank.pid, SIGTERM);
}

void Supervisor::kill_everything() {
  cgroup_.kill_all();
  for (const Rank& rank : ranks_)
    if (rank.pid != 0) kill(-rank.pid, SIGKILL);
  signal_descendants(SIGKILL);
}

void Supervisor::signal_descendants(int signal) {
  for (const pid_t pid : living_descendants()) kill(pid, signal);
}

bool Supervisor::has_living_ranks() const {
  return std::ranges::any_of(ranks_, [](const Rank& rank) { return rank.pid != 0; });
}

void Supervisor::note_end() {
  if (news_.progress >= 0) status_.note_progress(news_.progress);
  cgroup_.remove();
  if (is_told_to_stop_) {
    status_.note_stopped();
    return;
  }
  if (!end_) end_ = RunEnded{RunEndKind::exited, 0, "exit code 0"};
  status_.note_ended(*end_);
}

}  // namespace

int supervise(const char* folder_path) {
  // The server's own files and connections are no business of the job.
  close_range(kLockDescriptor + 1, UINT_MAX, 0);
  OwnedFd folder{open(folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)};
  if (!folder) return errno;
  Supervisor supervisor{std::move(folder)};
  if (const int error = supervisor.begin(); error != 0) return error;
  supervisor.look_after();
  return 0;
}

}  // namespace weir::engine
