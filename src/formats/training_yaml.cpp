// SPDX-License-Identifier: Apache-2.0
#include "formats/training_yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "formats/file_title.h"
#include "formats/input_ranges.h"
#include "formats/job_document.h"
#include "formats/known_curves.h"
#include "formats/plain_name.h"
#include "formats/planned_model_fields.h"
#include "formats/quantity_text.h"
#include "formats/time_text.h"
#include "formats/yaml_document.h"
#include "formats/yaml_quantities.h"

namespace weir::formats {
namespace {

constexpr std::array<std::string_view, 2> kTrainingFileKeys{"workload", "jobs"};
constexpr std::array<std::string_view, 13> kTrainingJobKeys{
    "name",   "tenant",   "priority", "count", "model", "batch",   "iterations",
    "submit", "deadline", "kind",     "gpus",  "rigid", "duration"};

constexpr Time kLatestTime{from_seconds(kMostSeconds)};
// A duration since the start this long is none: it is a date.
constexpr Time kFirstDate{from_seconds(946'684'800)};  // 2000-01-01T00:00:00Z

enum class TimeKind : std::uint8_t { duration, calendar };

struct GivenTime {
  TimeKind kind = TimeKind::duration;
  Duration value{0};  // since the start or the epoch; of a deadline's duration: after submission
};

std::optional<GivenTime> parse_given_time(std::string_view text) {
  if (const auto duration = parse_duration(text)) {
    if (*duration > from_seconds(kMostSeconds)) return std::nullopt;
    return GivenTime{TimeKind::duration, *duration};
  }
  const auto time = parse_time(text);
  if (!time || *time < Time{} || *time > kLatestTime) return std::nullopt;
  return GivenTime{TimeKind::calendar, time->time_since_epoch()};
}

std::optional<std::string_view> tenant_name(std::string_view text) {
  return is_tenant_name(text) ? std::optional{text} : std::nullopt;
}

std::optional<Duration> parse_stated(std::string_view text) {
  const auto duration = parse_duration(text);
  return duration && *duration <= from_seconds(kMostSeconds) ? duration : std::nullopt;
}

class TrainingReader {
 public:
  TrainingReader(const YamlDocument& document, const CurveBook& curves, const PlanForJobs& plan)
      : document_{document}, curves_{curves}, plan_{plan} {}

  Result<TrainingWorkload> read() {
    workload_.name = file_title(document_.name());
    const YamlFields top{document_, document_.root(), "file", kTrainingFileKeys, mistakes_};
    if (top.is_usable()) {
      read_name(top);
      read_jobs(top);
      check_submissions(top);
    }
    if (!mistakes_.empty()) return bad_input(std::move(mistakes_));
    return std::move(workload_);
  }

 private:
  void read_name(const YamlFields& top) {
    const auto value = top.find("workload");
    if (!value) return;
    const YamlFields fields{document_, *value, "workload", kNamingKeys, mistakes_};
    if (const auto name = fields.get("name", kPlainNameRule, plain_name)) workload_.name = *name;
  }

  void read_jobs(const YamlFields& top) {
    const auto list = top.find("jobs");
    if (!list || !list->is_list() || list->items().empty()) {
      top.reject("jobs",
                 "a list of jobs, such as - {name: bert, model: bert, batch: 128, iterations: "
                 "200000, deadline: 6h}");
      return;
    }
    for (const YamlValue& item : list->items()) {
      if (mistakes_.full()) return;
      const YamlFields fields{document_, item, "job", kTrainingJobKeys, mistakes_};
      if (fields.is_usable()) read_job(fields);
    }
  }

  void read_job(const YamlFields& fields) {
    TrainingArrival job;
    const auto name = fields.require("name", kPlainNameRule, plain_name);
    job.spec.tenant = fields.get("tenant", kTenantRule, tenant_name).value_or("");
    job.spec.priority = static_cast<std::int32_t>(
        fields.integer("priority", -kHighestPriority, kHighestPriority).value_or(0));
    const Curve* curve = read_curve(fields, job.spec);
    const auto iterations = fields.integer("iterations", 1, kMostIterations);
    if (!fields.has("iterations")) {
      fields.reject("iterations", fmt::format("an integer from 1 to {}", kMostIterations));
    }
    job.spec.iterations = iterations.value_or(1);
    read_gpus(fields, job.spec, curve);
    read_times(fields, job);
    job.stated_duration =
        fields.get("duration", "a duration such as 90m", parse_stated).value_or(Duration{0});
    if (name) add_jobs(fields, *name, job);
  }

  // Nothing when there is none, which is noted.
  const Curve* read_curve(const YamlFields& fields, TrainingSpec& spec) {
    const auto given = fields.find("model");
    if (plan_ && given && given->is_map()) return read_planned_curve(fields, *given, spec);
    const auto model = fields.get("model", instead_of_model(""), any_text);
    const auto batch = fields.integer("batch", 0, kMostGlobalBatch);
    if (!fields.has("model")) fields.reject("model", instead_of_model(""));
    if (!model) return nullptr;
    spec.curve = {std::string{*model}, batch.value_or(0)};
    if (!curves_.has_model(spec.curve.model)) {
      fields.reject("model", instead_of_model(*model));
      return nullptr;
    }
    if (fields.has("batch") && !batch) return nullptr;
    const Curve* curve = curves_.find(spec.curve);
    if (curve == nullptr) fields.reject("batch", curves_.instead_of_batch(spec.curve.model));
    return curve;
  }

  std::string instead_of_model(std::string_view wrong) const {
    return curves_.instead_of_model(wrong) +
           (plan_ ? "; or one to plan: {config: gpt.json, batch: 256}" : "");
  }

  const Curve* read_planned_curve(const YamlFields& fields, const YamlValue& value,
                                  TrainingSpec& spec) {
    if (fields.has("batch")) fields.reject("batch", "it inside of model: the plan is made for it");
    const JobTree tree = JobTree::from_yaml(value, document_.name());
    const auto folder = std::filesystem::path{document_.name()}.parent_path();
    const auto model = read_planned_model(tree, tree.root(), folder, mistakes_);
    if (!model) {
      check_gpu(fields, value);
      return nullptr;
    }
    spec.curve = model->key;
    if (curves_.find(model->key) != nullptr) {
      fields.reject("model",
                    fmt::format("a plan or a table, not both: --curves has {} with batch "
                                "{}; write model: {} or give another model.name",
                                model->key.model, model->key.global_batch, model->key.model));
      return nullptr;
    }
    const auto planned = plan_(model->key, model->planned);
    if (planned) return &(planned_[model->key] = *planned);
    note_all(fields, value, planned.error());
    return nullptr;
  }

  static void note_all(const YamlFields& fields, const YamlValue& value, const Error& error) {
    for (const Diagnostic& why : error.details.list())
      fields.note(value.line(), why.field, why.found, why.expected);
  }

  // Of a model with other mistakes: they are told together.
  void check_gpu(const YamlFields& fields, const YamlValue& value) {
    PlannedModel named;
    for (const auto& [key, given] : value.entries()) {
      if (key.is_text() && key.text() == "gpu" && given.is_text()) named.gpu = given.text();
    }
    if (named.gpu.empty()) return;
    if (const auto checked = plan_({}, named); !checked) note_all(fields, value, checked.error());
  }

  static void read_gpus(const YamlFields& fields, TrainingSpec& spec, const Curve* curve) {
    const auto gpus = fields.integer("gpus", 1, kMostGpusPerJob);
    spec.asked_gpus = static_cast<std::int32_t>(gpus.value_or(1));
    spec.is_rigid = fields.get("rigid", "true or false", parse_truth).value_or(false);
    if (!spec.is_rigid || (fields.has("gpus") && !gpus)) return;
    if (!gpus) return fields.reject("gpus", "the GPUs it runs on, because rigid is true");
    if (curve == nullptr || curve->rate_at(spec.asked_gpus).value > 0) return;
    std::vector<std::int32_t> sizes;
    for (const CurvePoint& point : curve->measured()) sizes.push_back(point.gpus);
    fields.reject(
        "gpus",
        fmt::format("a size at which {} was {}, because rigid is true: {}", spec.curve.model,
                    curve->origin() == CurveOrigin::planned ? "planned" : "measured",
                    fmt::join(sizes, ", ")));
  }

  void read_times(const YamlFields& fields, TrainingArrival& job) {
    const auto submitted = read_time(fields, "submit");
    const auto deadline = read_time(fields, "deadline");
    const auto kind = fields.get("kind", "hard or soft", parse_deadline_kind);
    if (!fields.has("submit")) lines_without_submission_.push_back(fields.line());
    job.submitted = Time{submitted ? submitted->value : Duration{0}};
    if (!fields.has("deadline")) {
      if (kind) fields.reject("kind", "no kind, because there is no deadline");
      return;
    }
    job.spec.deadline_kind = kind.value_or(DeadlineKind::hard);
    if (!deadline || (fields.has("submit") && !submitted)) return;
    const bool is_after = deadline->kind == TimeKind::duration;
    job.spec.deadline = is_after ? job.submitted + deadline->value : Time{deadline->value};
    if (job.spec.deadline > job.submitted) return;
    fields.reject("deadline", is_after ? "more than 0s: a deadline lies after submission"
                                       : fmt::format("a time after submission, which is {}",
                                                     format_time(job.submitted)));
  }

  // Nothing when the key is absent or wrong, and when the file's other times are of the other kind.
  std::optional<GivenTime> read_time(const YamlFields& fields, std::string_view key) {
    const auto time = fields.get(key, kTimeRule, parse_given_time);
    if (!time) return std::nullopt;
    if (line_of_first_time_ == 0) {
      line_of_first_time_ = fields.find(key)->line();
      kind_ = time->kind;
    }
    if (time->kind == kind_) return time;
    fields.reject(key, of_the_same_kind());
    return std::nullopt;
  }

  std::string of_the_same_kind() const {
    const bool is_duration = kind_ == TimeKind::duration;
    return fmt::format("a {}, as on line {}: all times of a file are of one kind",
                       is_duration ? "duration such as 2h30m" : "time such as 2026-11-15T09:00:00Z",
                       line_of_first_time_);
  }

  // "Since the start" means nothing in a file of times, and that it is one may be seen late.
  void check_submissions(const YamlFields& top) {
    if (line_of_first_time_ == 0 || kind_ == TimeKind::duration) return;
    for (const std::uint64_t line : lines_without_submission_) {
      if (mistakes_.full()) return;
      top.note(line, "submit", "", of_the_same_kind());
    }
  }

  void add_jobs(const YamlFields& fields, std::string_view name, const TrainingArrival& job) {
    const auto count = fields.integer("count", 1, kMostJobs);
    const auto wanted = static_cast<std::size_t>(count.value_or(1));
    if (wanted > kMostJobs - workload_.jobs.size()) {
      return fields.note(fields.line(), "job", std::string{name},
                         fmt::format("at most {} jobs in all", kMostJobs));
    }
    if (count && name.size() + 1 + std::to_string(*count).size() > kLongestName) {
      return fields.reject("name", kPlainNameRule);
    }
    for (std::size_t i = 1; i <= wanted; ++i) {
      TrainingArrival& added = workload_.jobs.emplace_back(job);
      added.spec.name = count ? fmt::format("{}-{}", name, i) : std::string{name};
      const auto [at, is_new] = line_of_name_.emplace(added.spec.name, fields.line());
      if (is_new) continue;
      return fields.note(fields.line(), "name", added.spec.name,
                         fmt::format("another name: line {} has this one", at->second));
    }
  }

  const YamlDocument& document_;
  KnownCurves curves_;
  const PlanForJobs& plan_;
  std::map<CurveKey, Curve> planned_;
  Diagnostics mistakes_;
  TrainingWorkload workload_;
  TimeKind kind_ = TimeKind::duration;
  std::uint64_t line_of_first_time_ = 0;  // 0: none yet
  std::vector<std::uint64_t> lines_without_submission_;
  std::unordered_map<std::string, std::uint64_t> line_of_name_;
};

TimeKind kind_to_write(const TrainingWorkload& workload) {
  const bool are_dates =
      std::all_of(workload.jobs.begin(), workload.jobs.end(), [](const TrainingArrival& job) {
        const bool has_deadline = job.spec.deadline_kind != DeadlineKind::none;
        return job.submitted >= kFirstDate && job.submitted <= kLatestTime &&
               (!has_deadline || job.spec.deadline <= kLatestTime);
      });
  return are_dates ? TimeKind::calendar : TimeKind::duration;
}

void write_times(std::ostream& out, const TrainingArrival& job, TimeKind kind) {
  const bool is_calendar = kind == TimeKind::calendar;
  if (is_calendar) {
    out << ", submit: " << format_time(job.submitted);
  } else if (job.submitted != Time{}) {
    out << ", submit: " << format_duration(job.submitted.time_since_epoch());
  }
  if (job.spec.deadline_kind == DeadlineKind::none) return;
  out << ", deadline: "
      << (is_calendar ? format_time(job.spec.deadline)
                      : format_duration(job.spec.deadline - job.submitted));
  if (job.spec.deadline_kind == DeadlineKind::soft) out << ", kind: soft";
}

void write_job(std::ostream& out, const TrainingArrival& job, TimeKind kind) {
  const TrainingSpec& spec = job.spec;
  out << "  - {name: " << yaml_scalar(spec.name) << ", model: " << yaml_scalar(spec.curve.model);
  if (spec.curve.global_batch != 0) out << ", batch: " << spec.curve.global_batch;
  out << ", iterations: " << spec.iterations;
  if (!spec.tenant.empty()) out << ", tenant: " << yaml_scalar(spec.tenant);
  if (spec.priority != 0) out << ", priority: " << spec.priority;
  if (spec.asked_gpus != 1 || spec.is_rigid) out << ", gpus: " << spec.asked_gpus;
  if (spec.is_rigid) out << ", rigid: true";
  if (job.stated_duration != Duration{0})
    out << ", duration: " << format_duration(job.stated_duration);
  write_times(out, job, kind);
  out << "}\n";
}

}  // namespace

Result<TrainingWorkload> read_training_yaml(InputFile input, const CurveBook& curves,
                                            const PlanForJobs& plan) {
  const auto document = YamlDocument::read(std::move(input));
  if (!document) return tl::unexpected(document.error());
  return TrainingReader{*document, curves, plan}.read();
}

Result<TrainingWorkload> read_training_yaml(const std::filesystem::path& path,
                                            const CurveBook& curves, const PlanForJobs& plan) {
  auto input = InputFile::open(path);
  if (!input) return tl::unexpected(input.error());
  return read_training_yaml(std::move(*input), curves, plan);
}

void write_training_yaml(std::ostream& out, const TrainingWorkload& workload) {
  if (!workload.name.empty()) out << "workload: {name: " << yaml_scalar(workload.name) << "}\n";
  out << "jobs:\n";
  const TimeKind kind = kind_to_write(workload);
  for (const TrainingArrival& job : workload.jobs) write_job(out, job, kind);
}

}  // namespace weir::formats
