// SPDX-License-Identifier: Apache-2.0
//
// Brings the processes of this machine in line with what is wanted: compares, for each job, the
// latest order with what runs, and does the next step towards it. Each step ends in an event (a
// supervisor is gone, news came, a time has passed) that leads to the next. Used by one thread.
//
// A supervisor that is gone and noted an end left nothing behind. One that is gone without a note
// was killed: what its ranks left is searched for and killed, and only then the run counts as lost.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "domain/engine.h"
#include "engine/local/abstract_socket.h"
#include "engine/local/owned_fd.h"
#include "engine/local/process_table.h"
#include "engine/local/progress_message.h"
#include "engine/local/run_folders.h"
#include "engine/local/run_status.h"
#include "engine/local/spare_pool.h"
#include "engine/local/supervisor_launcher.h"

namespace weir::engine {

struct RunSettings {
  std::vector<std::string> gpu_uuids;
  std::int64_t log_limit_bytes = 0;
  Duration progress_interval{};
  Duration stuck_after{};  // past the grace of its job, a supervisor is killed
  std::string cgroup;
  std::size_t most_spares = 0;    // supervisors with an interpreter that wait for a run
  std::size_t most_starting = 0;  // runs that have not made their first step; 0: any number
};

class RunKeeper {
 public:
  using Clock = std::chrono::steady_clock;

  // Requires: all outlive the keeper. `news` is open under the name that supervisors send to.
  RunKeeper(const RunFolders& folders, SupervisorLauncher& launcher, AbstractSocket& news,
            RunSettings settings, EngineListener& listener);

  void adopt(std::vector<RunOrder> standing);
  void order(const RunOrder& order);
  void forget(JobId job);
  void remove_logs(const std::vector<JobId>& jobs);

  // Descriptors that become readable when a supervisor ends. Each is closed after that.
  std::vector<int> take_new_watches();
  void on_readable(int fd);
  void read_news();
  Clock::time_point next_deadline() const;
  void on_deadlines(Clock::time_point now);

 private:
  struct Run {
    std::uint32_t generation = 0;
    pid_t pid = 0;
    OwnedFd pidfd;
    std::vector<GpuAddress> gpus;
    std::optional<Duration> grace;
    Duration announce{};
    Duration longest_save{};
    Clock::time_point launched_at{};
    bool is_starting = false;                                    // counts among those that start
    Clock::time_point start_over_at = Clock::time_point::max();  // it counts no longer than that
    bool is_ready_told = false;
    std::int64_t progress_told = -1;
    bool is_stopping = false;
    Clock::time_point kill_at = Clock::time_point::max();
  };
  // Processes without a supervisor hold the job's lock, or might.
  struct Clearing {
    std::uint32_t generation = 0;
    std::vector<GpuAddress> gpus;
    std::optional<RunEnded> end;  // none: it is not known whose they are
    Clock::duration delay{};
  };
  // The run before the one that is wanted, which made room for it.
  struct Leaving {
    ChangeTimes times;
    Clock::time_point gone_at;
  };
  struct Job {
    std::optional<RunOrder> wanted;
    std::optional<Leaving> leaving;
    Duration longest_save{};
    bool is_settled = false;  // how `wanted` ended was told
    bool is_forgotten = false;
    std::optional<GpuAddress> waits_for;  // another job has it
    bool waits_to_start = false;          // others start now
    std::optional<Run> run;
    std::optional<Clearing> clearing;
  };
  using Jobs = std::map<JobId, Job>;

  bool is_wanted(const Job& job, std::uint32_t generation) const;
  void adopt_known(JobId id, std::uint32_t generation, const std::vector<RunProcess>& processes);
  void adopt_supervisor(JobId id, Job& job, pid_t pid, const SupervisorOrder& order);
  void tell_state(JobId id, Run& run, const RunNews& news);
  std::optional<pid_t> find_supervisor(RunKey key, const RunStatus& status,
                                       const std::vector<RunProcess>& processes) const;
  bool adopt_late(JobId id, Job& job, const std::vector<RunProcess>& processes);
  void kill_strays(const std::vector<RunProcess>& processes);

  void reconcile(JobId id);
  void begin_stop(JobId id, Run& run);
  std::optional<GpuAddress> first_held_by_another(JobId id,
                                                  const std::vector<GpuAddress>& gpus) const;
  void hold(JobId id, const std::vector<GpuAddress>& gpus);
  void release(const std::vector<GpuAddress>& gpus);
  void start_run(JobId id, Job& job);
  pid_t launch(const LaunchSpec& launch, const SupervisorOrder& plan, int lock, int& error);
  bool may_start(JobId id, Job& job);
  void end_starting(Run& run);
  void start_next();
  void keep_spare_for(const LaunchSpec& launch);
  Duration patience_with(const Run& run) const;
  SupervisorOrder supervisor_order(const RunOrder& order) const;
  void try_later(JobId id, Job& job);
  void end_at_once(JobId id, Job& job, int error, std::string explanation);
  void watch(JobId id, Run& run);

  void on_supervisor_gone(JobId id, Job& job);
  void clear(JobId id, Job& job);
  void finish(JobId id, Job& job, std::uint32_t generation, const RunStatus& status);
  void drop(JobId id);
  void wake_waiting(const std::vector<GpuAddress>& released);
  void report(JobId id, std::uint32_t generation, decltype(RunReport::what) what);

  const RunFolders& folders_;
  SupervisorLauncher& launcher_;
  AbstractSocket& news_;
  RunSettings settings_;
  EngineListener& listener_;

  Jobs jobs_;
  bool is_adopting_ = false;  // nothing is started before it is known who holds which GPU
  std::map<GpuAddress, JobId> holders_;
  // In the order they came. An entry counts only while the job says that it waits for that GPU.
  std::map<GpuAddress, std::deque<JobId>> waiting_;
  std::unordered_map<int, JobId> by_pidfd_;
  std::vector<int> new_watches_;
  SparePool spares_;
  std::size_t starting_ = 0;
  std::deque<JobId> waiting_to_start_;  // an entry counts only while the job says that it waits
  Duration typical_start_ = from_seconds(10);  // as measured, once something was
  std::set<std::pair<Clock::time_point, JobId>> deadlines_;
};

}  // namespace weir::engine
