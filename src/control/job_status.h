// SPDX-License-Identifier: Apache-2.0
//
// A job as the API shows it (docs/openapi.yaml, Job): follows the records about it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/curve.h"
#include "domain/engine.h"
#include "domain/record.h"
#include "domain/result.h"

namespace weir::control {

enum class ShownPhase : std::uint8_t {
  waiting,  // nobody knows how fast it runs
  queued,   // accepted, has not started
  running,  // has GPUs
  paused,   // had GPUs, has none now
  finished,
  failed,
  cancelled,
  refused,
};
std::string_view to_string(ShownPhase phase);
inline constexpr std::array kAllPhases = {
    ShownPhase::waiting,  ShownPhase::queued, ShownPhase::running,   ShownPhase::paused,
    ShownPhase::finished, ShownPhase::failed, ShownPhase::cancelled, ShownPhase::refused};
constexpr bool is_over(ShownPhase phase) {
  return phase >= ShownPhase::finished;
}

// What the job was planned with when it was answered.
struct ShownCurve {
  std::string origin;  // "measured", "profiled", "planned", "assumed"; "stated": by its own file
  std::vector<CurvePoint> rates;
  std::vector<std::int32_t>
      measured_on{};  // of a measured one: the sizes that ran; empty: not known
  friend bool operator==(const ShownCurve&, const ShownCurve&) = default;
};
std::string_view to_string(CurveOrigin origin);

// What a job has used, with its share of its nodes and of the site's overhead.
struct ShownJobEnergy {
  double kwh = 0;
  double amount = 0;                   // in `unit`
  std::string unit;                    // "g CO2", "EUR"
  std::string source;                  // "modelled", "measured"
  std::int32_t clock_permille = 1000;  // of its GPUs, as decided
  std::optional<double> gpu_kwh;       // by the GPUs' own counters, of them alone
  std::string clock_problem;           // why that clock could not be set
  friend bool operator==(const ShownJobEnergy&, const ShownJobEnergy&) = default;
};

// Times are the wall clock's.
struct JobStatus {
  JobId job;
  std::string name;
  std::string tenant;  // empty: the default one
  std::int32_t priority = 0;
  ShownPhase phase = ShownPhase::queued;
  Time submitted;
  DeadlineKind deadline_kind = DeadlineKind::none;
  Time deadline;
  bool is_promised = false;
  bool is_at_risk = false;
  bool is_being_profiled = false;  // what it waits for
  std::optional<Time> expected_start;
  std::optional<Time> expected_finish;
  std::optional<Time> earliest_deadline;
  Reason reason;
  std::uint32_t gpus = 0;
  std::vector<std::string> nodes;
  std::uint32_t generation = 0;
  std::uint32_t restarts = 0;
  std::uint32_t resumes = 0;    // times it saved and asked to be started again
  std::uint32_t losses = 0;     // runs that were lost, not failed
  std::int64_t iterations = 0;  // 0: not a training job
  std::int64_t done = 0;
  std::int32_t speed_permille = 1000;
  IterationRate rate;          // of late; 0: not known
  std::optional<double> loss;  // the last it told, if it was a number
  std::optional<ShownCurve> curve;
  std::optional<ChangeTimes> last_change;  // of its GPUs, or its start
  BatchDivision batch;                     // as the job tells it
  std::optional<ShownJobEnergy> energy;    // where anybody asks
  std::optional<Time> started;
  std::optional<Time> ended;
  std::string exit;
  std::string observed;  // JSON object: of a task of another scheduler
  std::string waits;     // JSON object: why it waits, and what would start it

  friend bool operator==(const JobStatus&, const JobStatus&) = default;
};

// What became of promises.
struct PromiseCounts {
  std::int64_t kept = 0;
  std::int64_t broken = 0;
  std::int64_t refused = 0;  // jobs that were not promised their deadline, and not taken
  friend bool operator==(const PromiseCounts&, const PromiseCounts&) = default;
};
// Adds a job that is over. Kept: it finished by its deadline. Broken: the deadline passed first,
// however it ended then. A job that failed or was cancelled before its deadline counts as neither.
void count_promise(PromiseCounts& counts, const JobStatus& status);

// What a record needs to be shown: wall clock, and the names of the nodes of a block.
class StatusContext {
 public:
  virtual ~StatusContext() = default;
  virtual Time to_wall(Time time) const = 0;
  virtual std::vector<std::string> nodes_of(PoolIndex pool, GpuBlock block) const = 0;
};

// The job a record is about; none for records about pools, curves and the like.
std::optional<JobId> job_of(const Record& record);

// Requires: the record is about this job; its TrainingAccepted came first.
void follow(JobStatus& status, const Record& record, PoolIndex pool, const StatusContext& context);

std::string to_json(const JobStatus& status);
Result<JobStatus> read_job_status(std::string_view json);

}  // namespace weir::control
