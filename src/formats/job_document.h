// SPDX-License-Identifier: Apache-2.0
//
// A job as its user describes it: a file `job.yaml`, or the JSON that the API takes. Both have the
// same fields and get the same messages; docs/reference/job.schema.json describes them to editors.
//
//   name: bert                       # 1 to 128 letters, digits, - _ . and not only digits
//   tenant: vision                   # the group it belongs to; default: of whoever submits it
//   priority: 10                     # -1000 to 1000, default 0: larger ones go first within a tenant
//   command: [python3, train.py]     # or one text, which /bin/sh -c runs
//   directory: /srv/bert        # absolute; `weir submit` fills in where it is called
//   environment: {LR: "0.1"}
//
//   # How long it takes. Either a training job, which may run on more or fewer GPUs ...
//   iterations: 20000
//   model: bert                      # default: the name
//   batch: 128                       # the global one; default 0: not known
//   model: {config: gpt.json, batch: 256}   # or plan how fast it is (planned_model_fields.h)
//   throughput: {1: 2.5, 2: 4.8}     # iterations per second by GPUs, where the server does not know
//   profile: true                    # measure it first, on GPUs nobody needs; default false
//   rigid: true                      # it cannot change its size; default false
//   # ... or any other program, on exactly its GPUs:
//   duration: 30m                    # not needed without a deadline
//
//   gpus: 2                          # default 1; of a training job that is not rigid, a hint
//   deadline: 6h                     # after submission, or a time: 2026-11-15T09:00:00Z
//   kind: hard                       # promised or refused; soft: promised where possible, else late
//   ranks: per-gpu                   # a process for each GPU, as torchrun starts them; torchrun: the
//                                    # command is torchrun itself; default one: one that has them all
//   reports_progress: true           # it says how far it is; default false
//   progress_line: "step {step} loss {loss}"   # or it is read from what the first rank prints
//   hang_after: 5m                   # failed when it makes no step for so long; default: ten times
//                                    # what a step takes, at least 5m
//   retries: 0                       # restarts after a failure
//   grace: 10s                       # to save when asked to stop; default: twice what saving takes,
//                                    # at least 30s
//   announce: 20s                    # SIGUSR1, "save soon", so long before; default: none
//   warm_start: [torch]              # modules to import ahead of time; default: none
//   memory: 4GiB                     # killed beyond that; default: no limit
//
// A YAML file has one job, or several under `jobs:`, and `count: 9` makes nine of one: sweep-1 to
// sweep-9.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "domain/curve.h"
#include "domain/engine.h"
#include "domain/planned_model.h"
#include "domain/result.h"
#include "domain/time.h"
#include "domain/training.h"
#include "formats/input_file.h"

namespace weir::formats {

inline constexpr std::size_t kMaxJobJsonBytes = std::size_t{1} << 20;
inline constexpr int kMaxJobJsonDepth = 16;
inline constexpr std::size_t kLongestJobName = 128;
inline constexpr std::size_t kLongestTenantName = 64;
inline constexpr std::size_t kMaxCommandBytes = std::size_t{128} << 10;  // with one per argument
inline constexpr std::size_t kMaxEnvironmentEntries = 256;
inline constexpr std::size_t kMaxEnvironmentBytes = std::size_t{128} << 10;
inline constexpr std::size_t kLongestPath = 4095;
inline constexpr std::int32_t kMostRetries = 10'000;
inline constexpr std::int32_t kHighestPriority = 1000;  // the lowest is as far below 0
inline constexpr Duration kLongestGrace = from_seconds(86'400);
inline constexpr std::size_t kMostJobsPerFile = 10'000;

struct JobDocument {
  // A duration counts from submission.
  using Deadline = std::variant<std::monostate, Duration, Time>;

  std::string name;
  std::string tenant;         // empty: nobody said; the server decides
  std::int32_t priority = 0;  // a larger one goes first
  bool is_training = false;
  CurveKey curve;                       // of a training job
  std::int64_t iterations = 0;          // of a training job
  std::optional<Curve> throughput;      // of a training job, when its user knows
  std::optional<PlannedModel> planned;  // of a training job whose curve is to be planned
  bool is_to_be_profiled = false;       // of a training job
  std::optional<Duration> duration;     // of any other, on `gpus` GPUs
  std::int32_t gpus = 1;
  bool is_rigid = true;  // always, unless it is a training job
  Deadline deadline;
  DeadlineKind kind = DeadlineKind::none;  // none: there is no deadline
  LaunchSpec launch;                       // the environment sorted by name
  std::int32_t retries = 0;

  friend bool operator==(const JobDocument&, const JobDocument&) = default;
};

// What files of jobs write in the same way: true or false, hard or soft, and times.
std::optional<bool> parse_truth(std::string_view text);
std::optional<DeadlineKind> parse_deadline_kind(std::string_view text);
inline constexpr std::string_view kTimeRule =
    "a duration up to 36525d, such as 2h30m, or a time with offset from 1970 to 2070, such as "
    "2026-11-15T09:00:00Z";

// What a job and a token may name as theirs.
bool is_tenant_name(std::string_view text);
inline constexpr std::string_view kTenantRule =
    "1 to 64 letters, digits, - _ . that begin with a letter or digit";

// `source_name` stands for the file in messages. JSON that is deeper or longer than the limits
// above is refused before it is understood.
Result<JobDocument> read_job_json(std::string_view text, std::string source_name);

// Where a job of a file stands, for what others find wrong with it later.
struct JobPlace {
  std::string file;
  std::uint64_t line = 0;
  std::map<std::string, std::uint64_t, std::less<>> lines;  // of its fields

  // Of "model.gpu" the line of `model`; of a field that it does not have, its own.
  std::uint64_t line_of(std::string_view field) const;
};
struct PlacedJob {
  JobDocument job;
  std::shared_ptr<const JobPlace> place;  // jobs of one `count` share it
};

// `folder` is where the config files of models are looked for; none: they are not read, and a job that
// names one has a mistake.
Result<std::vector<JobDocument>> read_job_yaml(
    InputFile input, const std::optional<std::filesystem::path>& folder = std::nullopt);
// In the file's own folder.
Result<std::vector<JobDocument>> read_job_yaml(const std::filesystem::path& path);
Result<std::vector<PlacedJob>> read_placed_jobs(const std::filesystem::path& path);
// Exactly one job: neither `jobs` nor `count`.
Result<JobDocument> read_one_job_yaml(InputFile input);

// Canonical: what is as by default is left out, and equal documents give equal bytes, so a digest
// of them identifies a request. Reading gives the same document. Requires: values as a reader makes
// them.
std::string write_job_json(const JobDocument& job);

// The fields of a job, in the order above. `count` is of YAML only and not among them.
std::span<const std::string_view> job_field_names();

}  // namespace weir::formats
