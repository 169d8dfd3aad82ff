// SPDX-License-Identifier: Apache-2.0
#include "engine/local/supervisor.h"

#include <fcntl.h>
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
#include <memory>
#include <optional>
#include <utility>

#include "engine/local/abstract_socket.h"
#include "engine/local/cgroup.h"
#include "engine/local/hang_watch.h"
#include "engine/local/progress_line.h"
#include "engine/local/progress_message.h"
#include "engine/local/rank_process.h"
#include "engine/local/run_end.h"
#include "engine/local/run_log.h"
#include "engine/local/run_status.h"
#include "engine/local/run_user.h"
#include "engine/local/small_files.h"
#include "engine/local/supervisor_order.h"
#include "engine/local/torchrun_environment.h"
#include "engine/local/warm_interpreter.h"

namespace weir::engine {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kSendRetry{50};
constexpr std::chrono::milliseconds kKillRetry{20};
constexpr int kReadsAtOnce = 64;  // per rank, before the others get their turn
constexpr int kDatagramsAtOnce = 1000;
constexpr std::size_t kReadBytes = 64 << 10;
// A longer time would not fit the clock.
constexpr std::int64_t kLongestGrace = std::int64_t{1000} * 24 * 3600 * 1'000'000'000;

// Processes that hang do not save any more: no use in waiting for all of a long grace.
constexpr std::chrono::seconds kLongestGraceOfHung{10};

struct Rank {
  pid_t pid = 0;  // 0: not started, or waited for
  OwnedFd output;
  RunLogWriter log;
};

class Supervisor {
 public:
  Supervisor(OwnedFd folder, std::unique_ptr<WarmInterpreter> warm)
      : folder_{std::move(folder)}, warm_{std::move(warm)} {}

  int begin();
  void look_after();

 private:
  enum class Phase { running, announcing, ending, killing };

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
  void heed(const JobMessage& message);
  void note_step(std::int64_t step, std::optional<double> loss);
  void note_save(Duration took);
  void become_ready();
  void send_news();
  void stop_as_told();
  void begin_ending() { begin_ending(grace()); }
  void begin_ending(Duration grace);
  void end_what_hangs(Clock::time_point now);
  void kill_everything();
  void signal_ranks(int signal);
  void signal_descendants(int signal);
  void note_end();
  ChangeTimes times_of_stop() const;
  ChangeTimes times_of_start() const;
  Duration grace() const;
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
  std::optional<RunEnded> end_;
  Clock::time_point leave_by_ = Clock::time_point::max();  // one rank has left to be resumed
  Clock::time_point kill_at_ = Clock::time_point::max();
  std::optional<HangWatch> hang_watch_;
  std::optional<ProgressLine> progress_line_;
  std::unique_ptr<WarmInterpreter> warm_;

  // When what happened.
  Clock::time_point ordered_at_;
  Clock::time_point ranks_at_;
  std::optional<Clock::time_point> started_at_;
  std::optional<Clock::time_point> loaded_at_;
  std::optional<Clock::time_point> told_to_stop_at_;  // while all was well
  Clock::time_point term_at_;
  Duration save_at_stop_{};
  bool was_saved_after_term_ = false;
  Duration longest_save_{};
  Duration noted_save_{};

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
  longest_save_ = noted_save_ = Duration{order_.longest_save_ns};
  ordered_at_ =
      order_.ordered_ns > 0 ? Clock::time_point{Duration{order_.ordered_ns}} : Clock::now();
  if (!order_.progress_line.empty()) progress_line_.emplace(order_.progress_line);

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
    const bool is_under_way = phase_ == Phase::running || phase_ == Phase::announcing;
    if (is_under_way && !has_living_ranks() && has_children_) begin_ending();
    if (phase_ == Phase::announcing && now >= kill_at_) begin_ending();
    if (phase_ == Phase::running && now >= leave_by_) begin_ending();
    if (phase_ == Phase::running) end_what_hangs(now);
    if (phase_ == Phase::ending && now >= kill_at_) phase_ = Phase::killing;
    if (phase_ == Phase::killing && has_children_) kill_everything();
  }
  for (Rank& rank : ranks_)
    while (read_output(rank)) {
    }
  read_progress();
  // All have left before they were asked to stop: they took the announcement for that.
  if (phase_ == Phase::announcing) term_at_ = Clock::now();
  note_end();
}

std::vector<std::pair<std::string, std::string>> Supervisor::variables_of_ranks() const {
  Variables variables;
  if (order_.user) {
    variables = {{"HOME", order_.user->home},
                 {"USER", order_.user->name},
                 {"LOGNAME", order_.user->name},
                 {"SHELL", order_.user->shell}};
  }
  variables.insert(variables.end(), order_.environment.begin(), order_.environment.end());
  const std::string token = run_token(order_.store, order_.run);
  variables.emplace_back(kRankVariable, token);
  variables.emplace_back("WEIR_PROGRESS", "@weir.progress." + token);
  if (order_.is_torchrun)
    add_what_torchrun_reads(order_, variables);
  else
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
    if (warm_) warm_->let_go();
    return;
  }
  auto variables = variables_of_ranks();
  const auto harmless = harmless_variables(environ);
  const char* const* inherited = order_.user ? harmless.data() : environ;
  ranks_.resize(static_cast<std::size_t>(order_.ranks));
  for (std::int32_t number = 0; number < order_.ranks; ++number) {
    variables.emplace_back("WEIR_RANK", std::to_string(number));
    for (const char* name : {"RANK", "LOCAL_RANK", "ROLE_RANK"})
      if (!order_.is_torchrun) variables.emplace_back(name, std::to_string(number));
    if (!start_one(number, merge_environment(inherited, variables, kSupervisorVariable))) {
      if (warm_) warm_->let_go();
      begin_ending();
      return;
    }
  }
  if (warm_) warm_->let_go();
  ranks_at_ = Clock::now();
  if (order_.reports_progress) {
    const auto asked =
        order_.hang_after_ns ? std::optional{Duration{*order_.hang_after_ns}} : std::nullopt;
    hang_watch_.emplace(asked, longest_save_, ranks_at_);
  } else {
    become_ready();
  }
}

bool Supervisor::start_one(std::int32_t number, const std::vector<std::string>& environment) {
  Rank& rank = ranks_[static_cast<std::size_t>(number)];
  RankProcess process;
  process.error = rank.log.open(folder_.get(), number, order_.log_limit_bytes,
                                order_.user ? &*order_.user : nullptr);
  if (process.error == 0) {
    const bool has_cgroup = cgroup_.procs() >= 0;
    const RankStart start{order_.command,
                          environment,
                          order_.directory,
                          has_cgroup ? 0 : order_.memory_limit_bytes,
                          cgroup_.procs(),
                          true,
                          -1,
                          order_.user};
    if (warm_) process = warm_->start_rank(start);
    news_.start.is_warm = process.pid != 0;
    if (process.pid == 0) process = start_rank(start);
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
  if (phase_ == Phase::ending || phase_ == Phase::announcing) next = std::min(next, kill_at_);
  if (phase_ == Phase::running) next = std::min(next, leave_by_);
  if (phase_ == Phase::running && hang_watch_) next = std::min(next, hang_watch_->hangs_at());
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
    stop_as_told();
  }
}

void Supervisor::stop_as_told() {
  const auto now = Clock::now();
  told_to_stop_at_ = now;
  if (order_.announce_ns <= 0) return begin_ending();
  phase_ = Phase::announcing;
  kill_at_ = now + Duration{std::min(order_.announce_ns, kLongestGrace)};
  // Only those that train: a loader of data would die of it.
  if (!order_.is_torchrun) return signal_ranks(SIGUSR1);
  for (const Rank& rank : ranks_)
    for (const pid_t child : living_children(rank.pid)) kill(child, SIGUSR1);
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
  const RunEnded end = explain_exit(wait_status, number, order_.ranks, cgroup_.had_out_of_memory());
  if (end.asks_to_resume()) {
    // The others are about to do the same; one that fails instead has the word.
    if (!end_) end_ = end;
    leave_by_ = std::min(leave_by_, Clock::now() + grace());
    return;
  }
  end_ = end;
  begin_ending();
}

bool Supervisor::read_output(Rank& rank) {
  static char buffer[kReadBytes];
  for (int i = 0; i < kReadsAtOnce && rank.output; ++i) {
    const ssize_t count = read(rank.output.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    if (count == 0) rank.output.reset();
    const std::string_view portion{buffer, static_cast<std::size_t>(count)};
    rank.log.append(portion);
    if (!progress_line_ || &rank != &ranks_.front()) continue;
    if (const auto reading = progress_line_->append(portion))
      note_step(reading->step, reading->loss);
  }
  return static_cast<bool>(rank.output);
}

void Supervisor::read_progress() {
  for (int i = 0; i < kDatagramsAtOnce; ++i) {
    const auto datagram = progress_socket_.receive();
    if (!datagram) return;
    if (datagram->user != (order_.user ? order_.user->user : geteuid())) continue;
    heed(read_job_message(datagram->bytes));
  }
}

void Supervisor::heed(const JobMessage& message) {
  const auto now = Clock::now();
  if (message.has_started && !started_at_) started_at_ = now;
  if (message.has_loaded && !loaded_at_) loaded_at_ = now;
  if (message.batch.global_batch > 0) news_.batch = message.batch;
  if (message.step) note_step(*message.step, message.loss);
  if (message.saved) note_save(*message.saved);
}

void Supervisor::note_step(std::int64_t step, std::optional<double> loss) {
  const auto now = Clock::now();
  if (hang_watch_) hang_watch_->on_step(step, now);
  if (step <= news_.progress) return;
  news_.progress = step;
  news_.progress_at = now - ordered_at_;
  news_.loss = loss;
  has_unsent_news_ = true;
  if (order_.reports_progress) become_ready();
}

void Supervisor::note_save(Duration took) {
  if (hang_watch_) hang_watch_->on_save(took, Clock::now());
  longest_save_ = std::max(longest_save_, took);
  // A status file has room for a few only.
  if (longest_save_ > noted_save_ + noted_save_ / 2) {
    noted_save_ = longest_save_;
    status_.note_saved(longest_save_);
  }
  news_.longest_save = longest_save_;
  has_unsent_news_ = true;
  if (!told_to_stop_at_) return;
  save_at_stop_ = took;
  was_saved_after_term_ = phase_ != Phase::announcing;
  if (phase_ == Phase::announcing) begin_ending();
}

ChangeTimes Supervisor::times_of_start() const {
  ChangeTimes times = news_.start;
  auto last = ranks_at_;
  times.start = ranks_at_ - ordered_at_;
  if (started_at_) times.import = *started_at_ - std::exchange(last, std::max(last, *started_at_));
  if (loaded_at_) times.load = *loaded_at_ - std::exchange(last, std::max(last, *loaded_at_));
  if (order_.reports_progress) times.step = Clock::now() - last;
  return times;
}

void Supervisor::become_ready() {
  if (news_.is_ready) return;
  news_.is_ready = true;
  news_.start = times_of_start();
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

// torchrun gives its own ranks 30 seconds before it kills them.
Duration Supervisor::grace() const {
  const auto asked = order_.grace_ns ? std::optional{Duration{*order_.grace_ns}} : std::nullopt;
  const Duration least = order_.is_torchrun && !asked ? from_seconds(35) : Duration{0};
  return std::max(grace_for(asked, longest_save_), least);
}

void Supervisor::begin_ending(Duration grace) {
  phase_ = Phase::ending;
  term_at_ = Clock::now();
  kill_at_ = term_at_ + std::min(grace, Duration{kLongestGrace});
  if (!has_living_ranks()) return signal_descendants(SIGTERM);
  if (order_.is_torchrun) return signal_ranks(SIGTERM);  // it tells its own
  for (const Rank& rank : ranks_)
    if (rank.pid != 0) kill(-rank.pid, SIGTERM);
}

void Supervisor::end_what_hangs(Clock::time_point now) {
  if (!hang_watch_ || now < hang_watch_->hangs_at() || !has_living_ranks()) return;
  end_ = RunEnded{RunEndKind::hung, 0, hang_watch_->explain()};
  begin_ending(std::min<Duration>(grace(), kLongestGraceOfHung));
}

void Supervisor::signal_ranks(int signal) {
  for (const Rank& rank : ranks_)
    if (rank.pid != 0) kill(rank.pid, signal);
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

ChangeTimes Supervisor::times_of_stop() const {
  ChangeTimes times;
  if (order_.announce_ns > 0) times.announce = term_at_ - *told_to_stop_at_;
  times.save = save_at_stop_;
  times.stop = Clock::now() - term_at_;
  if (was_saved_after_term_) times.stop -= std::min(times.stop, times.save);
  return times;
}

void Supervisor::note_end() {
  if (news_.progress >= 0) status_.note_progress(news_.progress);
  cgroup_.remove();
  if (told_to_stop_at_) {
    status_.note_stopped(times_of_stop());
    return;
  }
  if (!end_) end_ = RunEnded{RunEndKind::exited, 0, "exit code 0"};
  status_.note_ended(*end_);
}

}  // namespace

int supervise(const char* folder_path, std::unique_ptr<WarmInterpreter> warm) {
  OwnedFd folder{open(folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)};
  if (!folder) return errno;
  Supervisor supervisor{std::move(folder), std::move(warm)};
  if (const int error = supervisor.begin(); error != 0) return error;
  supervisor.look_after();
  return 0;
}

int supervise(const char* folder_path) {
  // The server's own files and connections are no business of the job.
  close_range(kLockDescriptor + 1, UINT_MAX, 0);
  return supervise(folder_path, nullptr);
}

}  // namespace weir::engine
