// SPDX-License-Identifier: Apache-2.0
#include "engine/local/run_keeper.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "engine/local/find_user.h"
#include "engine/local/run_end.h"

namespace weir::engine {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kFirstClearing{5};
constexpr milliseconds kSlowestClearing{500};

OwnedFd open_pidfd(pid_t pid) {
  return OwnedFd{static_cast<int>(syscall(SYS_pidfd_open, pid, 0))};
}

void send_signal(int pidfd, int signal) {
  syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0);
}

bool is_readable(int fd) {
  pollfd watched{fd, POLLIN, 0};
  return poll(&watched, 1, 0) == 1;
}

// Takes the exit status of a child that is gone, so that it does not stay as a zombie. Nothing when
// it was started by an earlier engine.
std::optional<siginfo_t> take_exit(int pidfd) {
  siginfo_t info{};
  if (waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG) !=
          0 ||
      info.si_pid == 0)
    return std::nullopt;
  return info;
}

RunEnded lost(std::string explanation) {
  return {RunEndKind::lost, 0, std::move(explanation)};
}

RunEnded explain_gone_supervisor(const std::optional<siginfo_t>& exit, bool had_begun) {
  if (!exit) return lost("its supervisor vanished");
  if (exit->si_code == CLD_EXITED && !had_begun && exit->si_status != 0)
    return {RunEndKind::not_started, exit->si_status,
            std::string{"the supervisor could not begin: "} + std::strerror(exit->si_status)};
  if (exit->si_code == CLD_EXITED)
    return lost("its supervisor left with exit code " + std::to_string(exit->si_status));
  return lost("its supervisor was killed by " + signal_text(exit->si_status));
}

// Not the job's fault, and it passes: a full disk, too many processes or open files.
bool is_want_of_means(int error) {
  return error == ENOSPC || error == EDQUOT || error == EROFS || error == EFBIG ||
         error == ENOMEM || error == EMFILE || error == ENFILE || error == EAGAIN;
}

// Only the process with this token is meant, whoever has its number by now.
void kill_process(pid_t pid, std::string_view store, RunKey run) {
  const OwnedFd pidfd = open_pidfd(pid);
  if (!pidfd) return;
  const std::string token = run_token(store, run);
  if (started_with(pid, kRankVariable) == token || started_with(pid, kSupervisorVariable) == token)
    send_signal(pidfd.get(), SIGKILL);
}

std::vector<GpuAddress> gpus_of(const SupervisorOrder& order) {
  std::vector<GpuAddress> gpus;
  for (const auto& [node, gpu] : order.gpus) gpus.push_back({NodeId{node}, gpu});
  return gpus;
}

RunKey key_of(JobId id, std::uint32_t generation) {
  return {id.value, generation};
}

}  // namespace

RunKeeper::RunKeeper(const RunFolders& folders, SupervisorLauncher& launcher, AbstractSocket& news,
                     RunSettings settings, EngineListener& listener)
    : folders_{folders},
      launcher_{launcher},
      news_{news},
      settings_{std::move(settings)},
      listener_{listener},
      spares_{launcher, settings_.most_spares} {}

// --- After a restart ---------------------------------------------------------------------------

void RunKeeper::adopt(std::vector<RunOrder> standing) {
  for (RunOrder& order : standing) {
    Job& job = jobs_[order.job];
    if (!job.wanted || job.wanted->generation < order.generation) job.wanted = std::move(order);
  }
  const std::vector<RunProcess> processes = find_run_processes(folders_.store());
  is_adopting_ = true;
  for (const auto& [job, generation] : folders_.known_jobs())
    adopt_known(JobId{job}, generation, processes);
  kill_strays(processes);
  is_adopting_ = false;
  std::vector<JobId> all;
  for (const auto& [id, job] : jobs_) all.push_back(id);
  for (const JobId id : all) reconcile(id);
}

void RunKeeper::adopt_known(JobId id, std::uint32_t generation,
                            const std::vector<RunProcess>& processes) {
  const RunKey key = key_of(id, generation);
  const auto order = generation == 0 ? std::nullopt : folders_.read_order(key);
  if (!order) {  // nothing was ever started from it
    if (!jobs_.contains(id)) folders_.forget(id.value);
    return;
  }
  Job& job = jobs_[id];
  const OwnedFd folder = folders_.open_run(key);
  RunStatus status = read_run_status(folder.get());
  if (const auto pid = find_supervisor(key, status, processes)) {
    adopt_supervisor(id, job, *pid, *order);
    if (job.run) return;
    status = read_run_status(folder.get());
  }
  if (status.supervisor)
    if (const OwnedFd pidfd = open_pidfd(status.supervisor->pid); pidfd) {
      const auto stat = stat_of(status.supervisor->pid);
      if (stat && stat->start_time == status.supervisor->start_time) take_exit(pidfd.get());
    }
  const bool is_same_boot = status.supervisor && status.supervisor->boot_id == boot_id();
  if (status.ended || (status.is_stopped && is_same_boot))
    return finish(id, job, generation, status);
  if (!status.supervisor && folders_.try_lock(id.value).fd) return;  // it never began
  job.clearing = Clearing{generation, gpus_of(*order), std::nullopt, kFirstClearing};
  if (status.supervisor)
    job.clearing->end = lost(is_same_boot ? "its supervisor vanished" : "the machine restarted");
  hold(id, job.clearing->gpus);
  clear(id, job);
}

// The one that signed the status; before it does, the one that has the run's token.
std::optional<pid_t> RunKeeper::find_supervisor(RunKey key, const RunStatus& status,
                                                const std::vector<RunProcess>& processes) const {
  if (status.supervisor) {
    const pid_t pid = status.supervisor->pid;
    const bool is_it = is_alive(*status.supervisor) &&
                       started_with(pid, kSupervisorVariable) == run_token(folders_.store(), key);
    return is_it ? std::optional{pid} : std::nullopt;
  }
  for (const RunProcess& process : processes)
    if (process.is_supervisor && process.run == key) return process.pid;
  return std::nullopt;
}

void RunKeeper::adopt_supervisor(JobId id, Job& job, pid_t pid, const SupervisorOrder& order) {
  Run run;
  run.generation = order.run.generation;
  run.pid = pid;
  run.pidfd = open_pidfd(pid);
  // The number may have been given to another process since it was looked at.
  const std::string token = run_token(folders_.store(), order.run);
  if (!run.pidfd || started_with(pid, kSupervisorVariable) != token) return;
  run.gpus = gpus_of(order);
  if (order.grace_ns) run.grace = Duration{*order.grace_ns};
  run.announce = Duration{order.announce_ns};
  hold(id, run.gpus);
  job.run = std::move(run);
  watch(id, *job.run);
  const OwnedFd folder = folders_.open_run(order.run);
  const RunStatus status = read_run_status(folder.get());
  RunNews news;
  news.is_ready = status.is_ready;
  news.progress = status.progress;
  news.longest_save = std::max(status.longest_save, Duration{order.longest_save_ns});
  tell_state(id, *job.run, news);
}

void RunKeeper::kill_strays(const std::vector<RunProcess>& processes) {
  for (const RunProcess& process : processes) {
    const auto found = jobs_.find(JobId{process.run.job});
    const Job* job = found == jobs_.end() ? nullptr : &found->second;
    const bool is_supervised =
        job != nullptr && job->run && job->run->generation == process.run.generation;
    const bool is_being_cleared = job != nullptr && job->clearing;
    if (!is_supervised && !is_being_cleared)
      kill_process(process.pid, folders_.store(), process.run);
  }
}

// --- Orders ------------------------------------------------------------------------------------

void RunKeeper::order(const RunOrder& order) {
  const auto found = jobs_.find(order.job);
  if (found == jobs_.end() && folders_.was_forgotten(order.job.value)) return;
  Job& job = found == jobs_.end() ? jobs_[order.job] : found->second;
  if (job.is_forgotten || (job.wanted && order.generation <= job.wanted->generation)) return;
  job.wanted = order;
  job.is_settled = false;
  reconcile(order.job);
}

void RunKeeper::forget(JobId id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return folders_.forget(id.value);
  Job& job = found->second;
  job.is_forgotten = true;
  job.wanted.reset();
  if (job.run || job.clearing) return reconcile(id);
  drop(id);
}

void RunKeeper::drop(JobId id) {
  jobs_.erase(id);
  folders_.forget(id.value);
  if (spares_.empty()) return;
  spares_.retain([this](const SpareKind& kind) {
    return std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& entry) {
      const auto& wanted = entry.second.wanted;
      return wanted && wanted->launch && spare_kind_of(*wanted->launch) == kind;
    });
  });
}

void RunKeeper::remove_logs(const std::vector<JobId>& jobs) {
  for (const JobId id : jobs)
    if (!jobs_.contains(id)) folders_.remove(id.value);
}

bool RunKeeper::is_wanted(const Job& job, std::uint32_t generation) const {
  return job.wanted && job.wanted->generation == generation && !job.wanted->gpus.empty();
}

// --- The next step -----------------------------------------------------------------------------

void RunKeeper::reconcile(JobId id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || is_adopting_) return;
  Job& job = found->second;
  if (job.run) {
    if (!is_wanted(job, job.run->generation)) begin_stop(id, *job.run);
    return;
  }
  if (job.clearing) return;
  if (job.is_forgotten) return drop(id);
  if (!job.wanted || job.is_settled) return;
  if (job.wanted->gpus.empty()) {
    job.is_settled = true;
    job.leaving.reset();
    return report(id, job.wanted->generation, RunStopped{});
  }
  const auto held = first_held_by_another(id, job.wanted->gpus);
  if (held && held != job.waits_for) waiting_[*held].push_back(id);
  job.waits_for = held;
  if (!held && may_start(id, job)) start_run(id, job);
}

// Many that start at once would make each other slow, and none would make a step for a long time.
bool RunKeeper::may_start(JobId id, Job& job) {
  const bool counts = job.wanted->launch != nullptr && job.wanted->launch->reports_progress;
  if (!counts || settings_.most_starting == 0 || starting_ < settings_.most_starting) {
    job.waits_to_start = false;
    return true;
  }
  if (!std::exchange(job.waits_to_start, true)) waiting_to_start_.push_back(id);
  return false;
}

void RunKeeper::end_starting(Run& run) {
  if (std::exchange(run.is_starting, false)) --starting_;
}

void RunKeeper::start_next() {
  while (!waiting_to_start_.empty() && starting_ < settings_.most_starting) {
    const JobId id = waiting_to_start_.front();
    waiting_to_start_.pop_front();
    const auto found = jobs_.find(id);
    if (found == jobs_.end() || !std::exchange(found->second.waits_to_start, false)) continue;
    reconcile(id);
  }
}

// How long after a request to stop its supervisor may be there.
Duration RunKeeper::patience_with(const Run& run) const {
  constexpr Duration kLongest = std::chrono::hours{24 * 365};
  const Duration grace = std::min(grace_for(run.grace, run.longest_save), kLongest);
  // What torchrun takes itself, where nothing was asked for.
  const Duration extra = run.grace ? Duration{0} : from_seconds(5);
  return std::min(run.announce, kLongest) + grace + extra + settings_.stuck_after;
}

void RunKeeper::begin_stop(JobId id, Run& run) {
  if (run.is_stopping) return;
  run.is_stopping = true;
  send_signal(run.pidfd.get(), SIGTERM);
  run.kill_at = Clock::now() + patience_with(run);
  deadlines_.emplace(run.kill_at, id);
}

std::optional<GpuAddress> RunKeeper::first_held_by_another(
    JobId id, const std::vector<GpuAddress>& gpus) const {
  for (const GpuAddress& gpu : gpus) {
    const auto holder = holders_.find(gpu);
    if (holder != holders_.end() && holder->second != id) return gpu;
  }
  return std::nullopt;
}

void RunKeeper::hold(JobId id, const std::vector<GpuAddress>& gpus) {
  for (const GpuAddress& gpu : gpus) holders_.insert_or_assign(gpu, id);
}

void RunKeeper::release(const std::vector<GpuAddress>& gpus) {
  for (const GpuAddress& gpu : gpus) holders_.erase(gpu);
}

SupervisorOrder RunKeeper::supervisor_order(const RunOrder& order) const {
  const LaunchSpec& launch = *order.launch;
  SupervisorOrder plan;
  plan.store = folders_.store();
  plan.run = key_of(order.job, order.generation);
  plan.command = launch.command;
  plan.environment = launch.environment;
  std::string visible;
  for (const GpuAddress& gpu : order.gpus) {
    plan.gpus.emplace_back(gpu.node.value, gpu.gpu);
    const auto number = static_cast<std::size_t>(gpu.gpu);
    if (!visible.empty()) visible += ',';
    visible +=
        number < settings_.gpu_uuids.size() ? settings_.gpu_uuids[number] : std::to_string(gpu.gpu);
  }
  // Every rank sees all GPUs of the job and takes the one of its LOCAL_RANK, as torchrun has it.
  plan.environment.emplace_back("CUDA_VISIBLE_DEVICES", visible);
  plan.environment.emplace_back("WEIR_JOB", std::to_string(order.job.value));
  plan.environment.emplace_back("WEIR_GENERATION", std::to_string(order.generation));
  plan.environment.emplace_back("WEIR_GPUS", std::to_string(order.gpus.size()));
  for (const char* name : {"WEIR_RESTARTS", "TORCHELASTIC_RESTART_COUNT"})
    plan.environment.emplace_back(name, std::to_string(order.restarts));
  plan.environment.emplace_back("WEIR_CHECKPOINT_DIR", folders_.checkpoint_path(order.job.value));
  plan.directory = launch.directory.empty() ? folders_.work_path(plan.run) : launch.directory;
  plan.ranks = launch.ranks == Ranks::per_gpu ? static_cast<std::int32_t>(order.gpus.size()) : 1;
  plan.is_torchrun = launch.ranks == Ranks::torchrun;
  plan.reports_progress = launch.reports_progress;
  plan.progress_line = launch.progress_line;
  if (launch.grace) plan.grace_ns = std::max<std::int64_t>(0, launch.grace->count());
  plan.announce_ns = launch.announce.count();
  if (launch.hang_after) plan.hang_after_ns = launch.hang_after->count();
  plan.warm_start = launch.warm_start;
  plan.ordered_ns = Clock::now().time_since_epoch().count();
  plan.memory_limit_bytes = std::max<std::int64_t>(0, launch.memory_limit_bytes);
  plan.log_limit_bytes = settings_.log_limit_bytes;
  plan.progress_interval_ns = settings_.progress_interval.count();
  plan.engine_socket = "weir.engine." + folders_.store();
  plan.cgroup = settings_.cgroup;
  return plan;
}

void RunKeeper::start_run(JobId id, Job& job) {
  if (job.wanted->launch == nullptr || job.wanted->launch->command.empty())
    return end_at_once(id, job, EINVAL, "there is no command to start");
  SupervisorOrder plan = supervisor_order(*job.wanted);
  if (const std::string& name = job.wanted->launch->user; !name.empty()) {
    plan.user = find_user(name);
    if (!plan.user) {
      const int error = errno == 0 ? ENOENT : errno;
      return end_at_once(id, job, error, "this machine has no user " + name);
    }
  }
  plan.longest_save_ns = job.longest_save.count();
  if (has_zero_byte(plan))
    return end_at_once(id, job, EINVAL, "the command or its environment has a zero byte");
  RunFolders::Lock lock = folders_.try_lock(id.value);
  if (lock.error == EWOULDBLOCK) {
    job.clearing = Clearing{0, {}, std::nullopt, kFirstClearing};
    return clear(id, job);
  }
  int error = lock.error;
  if (error == 0) error = folders_.write_order(plan);
  pid_t pid = 0;
  if (error == 0) pid = launch(*job.wanted->launch, plan, lock.fd.get(), error);
  if (error != 0) {
    folders_.remove_order(plan.run);
    if (is_want_of_means(error)) return try_later(id, job);
    return end_at_once(id, job, error,
                       std::string{"cannot start a supervisor: "} + std::strerror(error));
  }
  lock.fd.reset();  // the supervisor has it now
  Run run;
  run.generation = plan.run.generation;
  run.pid = pid;
  run.pidfd = open_pidfd(pid);
  run.gpus = job.wanted->gpus;
  run.grace = job.wanted->launch->grace;
  run.announce = job.wanted->launch->announce;
  run.longest_save = job.longest_save;
  run.launched_at = Clock::time_point{Duration{plan.ordered_ns}};
  if (plan.reports_progress) {
    run.is_starting = true;
    ++starting_;
    run.start_over_at = run.launched_at + 2 * typical_start_;
    deadlines_.emplace(run.start_over_at, id);
  }
  hold(id, run.gpus);
  job.run = std::move(run);
  watch(id, *job.run);
}

// In a spare that waits with its imports done, or in one that is started now.
pid_t RunKeeper::launch(const LaunchSpec& launch, const SupervisorOrder& plan, int lock,
                        int& error) {
  const std::string folder = folders_.path_of(plan.run);
  const std::string token = run_token(plan.store, plan.run);
  if (const auto kind = spare_kind_of(launch))
    if (const pid_t pid = spares_.take(*kind, folder, token, lock)) return pid;
  const SupervisorLauncher::Launched launched = launcher_.launch(folder, token, lock);
  error = launched.error;
  return launched.pid;
}

void RunKeeper::keep_spare_for(const LaunchSpec& launch) {
  const auto kind = spare_kind_of(launch);
  const int watched = kind ? spares_.keep_ready(*kind) : -1;
  if (watched >= 0) new_watches_.push_back(watched);
}

// The order stands.
void RunKeeper::try_later(JobId id, Job& job) {
  job.clearing = Clearing{0, {}, std::nullopt, kSlowestClearing};
  deadlines_.emplace(Clock::now() + kSlowestClearing, id);
}

void RunKeeper::end_at_once(JobId id, Job& job, int error, std::string explanation) {
  job.is_settled = true;
  report(id, job.wanted->generation,
         RunEnded{RunEndKind::not_started, error, std::move(explanation)});
}

void RunKeeper::watch(JobId id, Run& run) {
  by_pidfd_[run.pidfd.get()] = id;
  new_watches_.push_back(run.pidfd.get());
}

std::vector<int> RunKeeper::take_new_watches() {
  return std::exchange(new_watches_, {});
}

// --- What happens ------------------------------------------------------------------------------

void RunKeeper::on_readable(int fd) {
  const auto found = by_pidfd_.find(fd);
  if (found == by_pidfd_.end() && spares_.on_readable(fd)) return;
  // An event for a descriptor that was closed since, and may be another one by now.
  if (found == by_pidfd_.end() || !is_readable(fd)) return;
  const JobId id = found->second;
  by_pidfd_.erase(found);
  on_supervisor_gone(id, jobs_.at(id));
}

void RunKeeper::on_supervisor_gone(JobId id, Job& job) {
  Run run = std::move(*job.run);
  job.run.reset();
  end_starting(run);
  const auto exit = take_exit(run.pidfd.get());
  const OwnedFd folder = folders_.open_run(key_of(id, run.generation));
  const RunStatus status = folder ? read_run_status(folder.get()) : RunStatus{};
  job.longest_save = std::max(run.longest_save, status.longest_save);
  job.leaving.reset();
  if (status.is_stopped) job.leaving = Leaving{status.stop, Clock::now()};
  const RunEnded end =
      status.ended.value_or(explain_gone_supervisor(exit, status.supervisor.has_value()));
  if (is_wanted(job, run.generation) && end.kind == RunEndKind::not_started &&
      is_want_of_means(end.code)) {
    release(run.gpus);
    try_later(id, job);
    start_next();
    return wake_waiting(run.gpus);
  }
  if (is_wanted(job, run.generation) && status.is_over()) {
    if (status.is_ready && !run.is_ready_told) report(id, run.generation, RunReady{});
    if (status.progress > run.progress_told)
      report(id, run.generation, RunProgress{status.progress});
  }
  if (status.is_over()) {
    release(run.gpus);
    finish(id, job, run.generation, status);
    start_next();
    return wake_waiting(run.gpus);
  }
  job.clearing = Clearing{run.generation, run.gpus, end, kFirstClearing};
  clear(id, job);
  start_next();
}

bool RunKeeper::adopt_late(JobId id, Job& job, const std::vector<RunProcess>& processes) {
  for (const RunProcess& process : processes) {
    const auto order = process.is_supervisor ? folders_.read_order(process.run) : std::nullopt;
    if (!order) continue;
    const Clearing before = std::move(*job.clearing);
    job.clearing.reset();
    release(before.gpus);
    adopt_supervisor(id, job, process.pid, *order);
    if (job.run) return true;
    job.clearing = before;
    hold(id, before.gpus);
  }
  return false;
}

void RunKeeper::clear(JobId id, Job& job) {
  std::vector<RunProcess> processes = find_run_processes(folders_.store());
  std::erase_if(processes, [id](const RunProcess& process) { return process.run.job != id.value; });
  // It was being started when the engine before this one died.
  if (!job.clearing->end && adopt_late(id, job, processes)) return reconcile(id);
  for (const RunProcess& process : processes)
    kill_process(process.pid, folders_.store(), process.run);
  const bool is_clear = processes.empty();
  if (!is_clear || !folders_.try_lock(id.value).fd) {
    deadlines_.emplace(Clock::now() + job.clearing->delay, id);
    job.clearing->delay = std::min<Clock::duration>(job.clearing->delay * 2, kSlowestClearing);
    return;
  }
  const Clearing cleared = std::move(*job.clearing);
  job.clearing.reset();
  release(cleared.gpus);
  const OwnedFd folder =
      cleared.generation == 0 ? OwnedFd{} : folders_.open_run(key_of(id, cleared.generation));
  RunStatus status = folder ? read_run_status(folder.get()) : RunStatus{};
  if (!status.is_over() && cleared.end) {
    status.ended = cleared.end;
    RunStatusWriter writer;
    if (folder && writer.open(folder.get()) == 0) writer.note_ended(*cleared.end);
  }
  // Whoever held the lock left no word: nothing had begun, and the order still stands.
  if (status.is_over())
    finish(id, job, cleared.generation, status);
  else
    reconcile(id);
  wake_waiting(cleared.gpus);
}

void RunKeeper::finish(JobId id, Job& job, std::uint32_t generation, const RunStatus& status) {
  if (job.is_forgotten) return drop(id);
  if (is_wanted(job, generation)) {
    job.is_settled = true;
    // Nobody here asked for it.
    static const RunEnded kStoppedByOthers{RunEndKind::signalled, SIGTERM,
                                           "stopped from outside by SIGTERM (signal 15)"};
    return report(id, generation, status.ended.value_or(kStoppedByOthers));
  }
  if (job.wanted) return reconcile(id);
  if (status.ended)
    report(id, generation, *status.ended);
  else
    report(id, generation, RunStopped{});
}

// Only until somebody has the GPU: with thousands waiting, asking all of them each time would be slow.
void RunKeeper::wake_waiting(const std::vector<GpuAddress>& released) {
  for (const GpuAddress& gpu : released) {
    while (!holders_.contains(gpu)) {
      const auto queue = waiting_.find(gpu);
      if (queue == waiting_.end()) break;
      const JobId id = queue->second.front();
      queue->second.pop_front();
      if (queue->second.empty()) waiting_.erase(queue);
      const auto found = jobs_.find(id);
      if (found == jobs_.end() || found->second.waits_for != gpu) continue;
      found->second.waits_for.reset();
      reconcile(id);
    }
  }
}

void RunKeeper::tell_state(JobId id, Run& run, const RunNews& news) {
  Job& job = jobs_.at(id);
  if (news.longest_save > run.longest_save) {
    run.longest_save = job.longest_save = news.longest_save;
    if (run.is_stopping) {  // its supervisor has more patience now
      run.kill_at = std::max(run.kill_at, Clock::now() + patience_with(run));
      deadlines_.emplace(run.kill_at, id);
    }
  }
  if (news.is_ready && run.is_starting) {
    // Smoothed: one start that was slow for some reason does not hold up the others.
    typical_start_ = (3 * typical_start_ + (Clock::now() - run.launched_at)) / 4;
    end_starting(run);
    start_next();
  }
  if (!is_wanted(job, run.generation)) return;
  if (news.is_ready && !run.is_ready_told) {
    run.is_ready_told = true;
    RunReady ready{news.start};
    if (job.leaving) {
      ready.times.announce = job.leaving->times.announce;
      ready.times.save = job.leaving->times.save;
      ready.times.stop = job.leaving->times.stop;
      ready.times.wait = std::max(Duration{0}, Duration{run.launched_at - job.leaving->gone_at});
    }
    report(id, run.generation, ready);
    if (job.wanted->launch) keep_spare_for(*job.wanted->launch);
  }
  if (news.progress > run.progress_told) {
    run.progress_told = news.progress;
    report(id, run.generation, RunProgress{news.progress, news.progress_at, news.loss, news.batch});
  }
}

void RunKeeper::read_news() {
  while (const auto datagram = news_.receive()) {
    const auto news = decode_run_news(datagram->bytes);
    if (!news) continue;
    const auto found = jobs_.find(JobId{news->run.job});
    if (found == jobs_.end() || !found->second.run) continue;
    Run& run = *found->second.run;
    if (run.pid != datagram->sender || run.generation != news->run.generation) continue;
    tell_state(found->first, run, *news);
  }
}

RunKeeper::Clock::time_point RunKeeper::next_deadline() const {
  return deadlines_.empty() ? Clock::time_point::max() : deadlines_.begin()->first;
}

void RunKeeper::on_deadlines(Clock::time_point now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const JobId id = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) continue;
    Job& job = found->second;
    if (job.run && job.run->is_starting && now >= job.run->start_over_at) {
      end_starting(*job.run);
      start_next();
    }
    if (job.clearing)
      clear(id, job);
    else if (job.run && job.run->is_stopping && now >= job.run->kill_at)
      send_signal(job.run->pidfd.get(), SIGKILL);
  }
}

void RunKeeper::report(JobId id, std::uint32_t generation, decltype(RunReport::what) what) {
  listener_.on_report({id, generation, std::move(what)});
}

}  // namespace weir::engine
