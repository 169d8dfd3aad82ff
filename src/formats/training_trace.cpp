// SPDX-License-Identifier: Apache-2.0
#include "formats/training_trace.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "formats/csv.h"
#include "formats/file_title.h"
#include "formats/input_ranges.h"
#include "formats/known_curves.h"
#include "formats/plain_name.h"
#include "formats/quantity_text.h"

namespace weir::formats {
namespace {

namespace column {
enum : std::size_t {
  job_id,
  submitted,
  iterations,
  model,
  deadline,
  batch,
  num_gpu,
  best_effort,
  duration
};
}
constexpr std::array<CsvColumn, 9> kTraceColumns{{
    {"job_id"},
    {"submission_time", true, {"submit_time"}},
    {"num_iteration", true, {"iteration", "real_iteration"}},
    {"model_name"},
    {"deadline", true, {"ddl"}},
    {"batch_size"},
    {"num_gpu"},
    {"best_effort", false},
    {"duration", false},
}};

class TrainingTraceReader {
 public:
  TrainingTraceReader(InputFile input, const CurveBook& curves)
      : table_{std::move(input), kTraceColumns}, curves_{curves} {}

  Result<TrainingWorkload> read(std::string workload_name) {
    workload_.name = std::move(workload_name);
    while (table_.next()) read_row();
    if (table_.mistakes().empty() && workload_.jobs.empty()) {
      table_.reject(column::job_id, "", "at least one job below the first line");
    }
    if (!table_.mistakes().empty()) return table_.failure();
    return std::move(workload_);
  }

 private:
  void read_row() {
    TrainingArrival& job = workload_.jobs.emplace_back();
    job.spec.name = table_.cell(column::job_id);
    check_name(job.spec.name);
    const auto iterations = table_.integer(column::iterations, 1, kMostIterations);
    const auto gpus = table_.integer(column::num_gpu, 1, kMostGpusPerJob);
    job.spec.iterations = iterations.value_or(1);
    job.spec.asked_gpus = static_cast<std::int32_t>(gpus.value_or(1));
    read_curve(job.spec);
    read_times(job);
  }

  void check_name(const std::string& name) {
    if (!is_plain_name(name)) {
      table_.reject(column::job_id, std::string{kPlainNameRule});
      return;
    }
    const auto [at, is_new] = line_of_name_.emplace(name, table_.line());
    if (!is_new) {
      table_.reject(column::job_id, fmt::format("another id: line {} has this one", at->second));
    }
  }

  void read_curve(TrainingSpec& spec) {
    spec.curve.model = table_.cell(column::model);
    const auto batch = table_.integer(column::batch, 0, kMostGlobalBatch);
    if (!curves_.has_model(spec.curve.model)) {
      table_.reject(column::model, curves_.instead_of_model(spec.curve.model));
      return;
    }
    if (!batch) return;
    spec.curve.global_batch = *batch;
    if (curves_.find(spec.curve) == nullptr) {
      table_.reject(column::batch, curves_.instead_of_batch(spec.curve.model));
    }
  }

  void read_times(TrainingArrival& job) {
    const auto submitted = seconds(column::submitted);
    job.submitted = Time{submitted.value_or(Duration{0})};
    if (!table_.cell(column::duration).empty())
      job.stated_duration = seconds(column::duration).value_or(Duration{0});
    if (is_best_effort()) return;
    job.spec.deadline_kind = DeadlineKind::hard;
    const auto deadline = seconds(column::deadline);
    job.spec.deadline = Time{deadline.value_or(Duration{0})};
    if (!submitted || !deadline || *deadline > *submitted) return;
    table_.reject(column::deadline,
                  fmt::format("more than {} ({}): a deadline lies after the arrival",
                              table_.name(column::submitted), table_.cell(column::submitted)));
  }

  bool is_best_effort() {
    static constexpr std::array<std::string_view, 2> kChoices{"0", "1"};
    return table_.has(column::best_effort) && table_.choice(column::best_effort, kChoices) == 1U;
  }

  std::optional<Duration> seconds(std::size_t of) {
    const auto time = parse_seconds(table_.cell(of));
    if (time && *time <= from_seconds(kMostSeconds)) return time;
    table_.reject(of, fmt::format("seconds from 0 to {}", kMostSeconds));
    return std::nullopt;
  }

  CsvTable table_;
  KnownCurves curves_;
  TrainingWorkload workload_;
  std::unordered_map<std::string, std::uint64_t> line_of_name_;
};

}  // namespace

Result<TrainingWorkload> read_training_trace(InputFile input, const CurveBook& curves) {
  std::string title = file_title(input.name());
  return TrainingTraceReader{std::move(input), curves}.read(std::move(title));
}

Result<TrainingWorkload> read_training_trace(const std::filesystem::path& path,
                                             const CurveBook& curves) {
  auto input = InputFile::open(path);
  if (!input) return tl::unexpected(input.error());
  return read_training_trace(std::move(*input), curves);
}

}  // namespace weir::formats
