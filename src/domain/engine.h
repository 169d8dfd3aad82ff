// SPDX-License-Identifier: Apache-2.0
//
// The port between deciding and doing. The control plane orders what should run; an engine makes it
// so and reports what it sees. Nothing assumes that an order worked: orders may be repeated, reports
// may come twice, late, or only after a restart. Both are idempotent by (job, generation).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "domain/ids.h"
#include "domain/result.h"
#include "domain/time.h"

namespace weir {

// Who starts the processes of a job.
enum class Ranks : std::uint8_t {
  one,       // one process that has all GPUs
  per_gpu,   // one for each GPU, with the environment that torchrun would give them
  torchrun,  // the command is torchrun itself: it is told how many ranks, and starts them
};

// How to start a job's processes.
struct LaunchSpec {
  std::vector<std::string> command;  // the program, looked up in PATH, and its arguments
  std::vector<std::pair<std::string, std::string>> environment;  // added to the engine's own
  std::string directory;  // absolute; empty: the run's own folder
  Ranks ranks = Ranks::one;
  bool reports_progress = false;  // it is ready when it first says how far it is, not at once
  // How far it is, read from its output: text with {step} and perhaps {loss}; empty: it tells itself.
  std::string progress_line;
  std::optional<Duration> grace;  // between the request to stop and the kill; none: see grace_for
  // Between SIGUSR1, "save at the next step", and the request to stop, unless it saves sooner; 0: no
  // such signal.
  Duration announce{0};
  std::optional<Duration> hang_after;  // without a step, it has failed; none: engines choose
  // Modules of Python to import ahead of time, in a process that waits for the job's next start.
  std::vector<std::string> warm_start;
  std::int64_t memory_limit_bytes = 0;  // 0: none
  // The user of the machine that its processes run as; empty: the engine's own. Never the job's choice.
  std::string user;

  friend bool operator==(const LaunchSpec&, const LaunchSpec&) = default;
};

// Between the request to stop and the kill: what was asked for, or twice what saving took so far.
constexpr Duration grace_for(std::optional<Duration> asked, Duration longest_save) {
  return asked.value_or(std::max(from_seconds(30), 2 * longest_save));
}

struct GpuAddress {
  NodeId node;
  std::int32_t gpu = 0;  // on that node
  friend auto operator<=>(const GpuAddress&, const GpuAddress&) = default;
};

// What should be true of one job from now on. A higher generation replaces a lower one.
struct RunOrder {
  JobId job;
  std::uint32_t generation = 0;
  std::vector<GpuAddress> gpus;              // none: the job is to have no processes
  std::shared_ptr<const LaunchSpec> launch;  // not null when it has GPUs
  std::uint32_t restarts = 0;                // told to the job
};

// What it took to come from one generation to the next, part by part; 0 where nobody told. A job that
// was not running before has only the second half.
struct ChangeTimes {
  Duration announce{};  // from the announcement to the request to stop; the job works on
  Duration save{};      // the last checkpoint after either
  Duration stop{};      // from the request to stop until all processes were gone, but for the save
  Duration wait{};      // for the GPUs of others, or for others to start
  Duration start{};     // until the ranks exist
  Duration import{};    // until the script says that it has begun
  Duration load{};      // until it has its checkpoint
  Duration step{};      // until the first step is done
  bool is_warm = false;

  // Without work on account of the change itself.
  Duration lost() const { return save + stop + start + import + load + step; }
  friend bool operator==(const ChangeTimes&, const ChangeTimes&) = default;
};

// The processes of that generation run (and, if the job reports progress, have begun to work).
struct RunReady {
  ChangeTimes times;
  friend bool operator==(const RunReady&, const RunReady&) = default;
};

// How a job divides its global batch, by its own account; 0 where it did not tell.
struct BatchDivision {
  std::int64_t global_batch = 0;
  std::int64_t local_batch = 0;  // the largest micro-batch
  std::int64_t passes = 0;       // micro-batches in a step
  friend bool operator==(const BatchDivision&, const BatchDivision&) = default;
};

// How far the job is, by its own account: iterations since it was submitted.
struct RunProgress {
  std::int64_t iterations = 0;
  Duration elapsed{};  // when it said so, since this generation was started
  std::optional<double> loss;
  BatchDivision batch;
  friend bool operator==(const RunProgress&, const RunProgress&) = default;
};

enum class RunEndKind : std::uint8_t {
  exited,         // code: the exit status of the first rank that failed, or 0
  signalled,      // code: the signal
  out_of_memory,  // killed for using more than its memory
  lost,           // nobody knows: the machine restarted, the supervisor was killed
  not_started,    // code: errno
  hung,           // no step for too long
};

// The exit status with which a job says: I have saved, start me again. No failure.
inline constexpr std::int32_t kResumeCode = 143;

// All processes of that generation are gone by themselves. Not sent for a generation that was
// ordered away: its end was wanted.
struct RunEnded {
  RunEndKind kind = RunEndKind::exited;
  std::int32_t code = 0;
  std::string explanation;  // for people: "exit code 1", "killed by SIGSEGV (signal 11) in rank 2"
  bool succeeded() const { return kind == RunEndKind::exited && code == 0; }
  bool asks_to_resume() const { return kind == RunEndKind::exited && code == kResumeCode; }
  friend bool operator==(const RunEnded&, const RunEnded&) = default;
};

// A stop that was ordered is complete: no process of the job is left.
struct RunStopped {
  friend bool operator==(const RunStopped&, const RunStopped&) = default;
};

struct RunReport {
  JobId job;
  std::uint32_t generation = 0;
  std::variant<RunReady, RunProgress, RunEnded, RunStopped> what;
  friend bool operator==(const RunReport&, const RunReport&) = default;
};

// Called from the engine's own thread; must return soon.
class EngineListener {
 public:
  virtual ~EngineListener() = default;
  virtual void on_report(const RunReport& report) = 0;
};

struct LogPlace {
  JobId job;
  std::uint32_t generation = 0;  // 0: the latest that has a log
  std::int32_t rank = 0;
  std::int64_t offset = 0;  // in bytes since the run began; negative: that many before the end
};

struct LogChunk {
  std::uint32_t generation = 0;
  std::int64_t offset = 0;  // of the first byte; later than asked for when older ones were dropped
  std::string bytes;
  bool is_over = false;  // the run has ended and this is its last chunk
};

class Engine {
 public:
  virtual ~Engine() = default;

  // Once. `standing` are all orders in force, after a restart: what runs and is not among them is
  // stopped, what is among them and runs is kept, what is missing is started. Ends that nobody has
  // been told of, or that were told and not confirmed, are reported (again).
  // Requires: the listener outlives the engine, or stop() is called first.
  virtual void start(std::vector<RunOrder> standing, EngineListener& listener) = 0;

  // Never blocks and never fails: what goes wrong is reported. A repeated order changes nothing, an
  // order of an older generation is ignored. Processes on the same GPUs, or of the same job, never
  // overlap in time: the new ones wait until the old ones are gone.
  virtual void order(const RunOrder& order) = 0;

  // The job is over and its end is safely known: nothing more about it has to be reported, its
  // bookkeeping may go (its log stays until retention removes it).
  virtual void forget(JobId job) = 0;

  virtual Result<LogChunk> read_log(const LogPlace& place, std::size_t most_bytes) = 0;

  // Removes the logs and folders of jobs that were forgotten.
  virtual void remove_logs(const std::vector<JobId>& jobs) = 0;

  // The engine lets go: no more reports. Processes go on running.
  virtual void stop() = 0;
};

}  // namespace weir
