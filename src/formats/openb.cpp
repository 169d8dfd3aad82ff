// SPDX-License-Identifier: Apache-2.0
#include "formats/openb.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "domain/shape.h"
#include "formats/csv.h"
#include "formats/csv_writer.h"
#include "formats/file_title.h"
#include "formats/input_ranges.h"
#include "formats/plain_name.h"
#include "formats/quantity_text.h"

namespace weir::formats {
namespace {

namespace node_column {
enum : std::size_t { sn, cpu_milli, memory_mib, gpu, model };
}
constexpr std::array<CsvColumn, 5> kNodeColumns{{
    {"sn"},
    {"cpu_milli"},
    {"memory_mib"},
    {"gpu"},
    {"model"},
}};

namespace task_column {
enum : std::size_t {
  name,
  cpu_milli,
  memory_mib,
  num_gpu,
  gpu_milli,
  gpu_spec,
  creation_time,
  deletion_time,
  scheduled_time
};
}
constexpr std::array<CsvColumn, 9> kTaskColumns{{
    {"name"},
    {"cpu_milli"},
    {"memory_mib"},
    {"num_gpu"},
    {"gpu_milli"},
    {"gpu_spec", false},
    {"creation_time", false},
    {"deletion_time", false},
    {"scheduled_time", false},
}};

class NodeListReader {
 public:
  explicit NodeListReader(InputFile input) : table_{std::move(input), kNodeColumns} {}

  Result<Cluster> read(std::string cluster_name) {
    cluster_.name = std::move(cluster_name);
    while (table_.next()) read_row();
    if (table_.mistakes().empty() && cluster_.nodes.empty()) {
      table_.reject(node_column::sn, "", "at least one node below the first line");
    }
    if (!table_.mistakes().empty()) return table_.failure();
    return std::move(cluster_);
  }

 private:
  void read_row() {
    Node node;
    node.id = NodeId{cluster_.nodes.size() + 1};
    node.name = table_.cell(node_column::sn);
    check_name(node.name);
    const auto cpu = table_.integer(node_column::cpu_milli, 0, kMostCpu.value);
    const auto memory = table_.integer(node_column::memory_mib, 0, kMostMemory.value);
    const auto gpus = table_.integer(node_column::gpu, 0, kMaxGpusPerNode);
    node.cpu = MilliCpu{cpu.value_or(0)};
    node.memory = Mebibytes{memory.value_or(0)};
    if (gpus) {
      node.gpu_count = static_cast<std::int32_t>(*gpus);
      read_model(node);
    }
    cluster_.nodes.push_back(std::move(node));
  }

  void check_name(const std::string& name) {
    if (!is_node_name(name)) {
      table_.reject(node_column::sn, std::string{kNodeNameRule});
      return;
    }
    const auto [at, is_new] = line_of_name_.emplace(name, table_.line());
    if (!is_new) {
      table_.reject(node_column::sn, fmt::format("another name: line {} has this one", at->second));
    }
  }

  void read_model(Node& node) {
    const std::string_view model = table_.cell(node_column::model);
    if (node.gpu_count == 0) {
      if (!model.empty()) table_.reject(node_column::model, "an empty cell, because gpu is 0");
      node.pool = cluster_.pool_named(std::string{kCpuPool});
      return;
    }
    if (model.empty()) {
      table_.reject(node_column::model,
                    fmt::format("a GPU model, because gpu is {}", node.gpu_count));
    } else if (!is_model_name(model)) {
      table_.reject(node_column::model, std::string{kModelNameRule});
    } else if (const auto id = cluster_.models.intern(model)) {
      node.model = *id;
      node.pool = cluster_.pool_named(std::string{model});
    } else {
      table_.reject(node_column::model, fmt::format("at most {} different models", kMaxGpuModels));
    }
  }

  CsvTable table_;
  Cluster cluster_;
  std::unordered_map<std::string, std::uint64_t> line_of_name_;
};

class TaskListReader {
 public:
  TaskListReader(InputFile input, const Cluster& cluster)
      : table_{std::move(input), kTaskColumns}, models_{cluster.models} {}

  Result<Workload> read(std::string workload_name) {
    workload_.name = std::move(workload_name);
    while (table_.next()) read_row();
    if (table_.mistakes().empty() && workload_.jobs.empty()) {
      table_.reject(task_column::name, "", "at least one task below the first line");
    }
    if (!table_.mistakes().empty()) return table_.failure();
    return std::move(workload_);
  }

 private:
  void read_row() {
    WorkloadJob& job = workload_.jobs.emplace_back();
    const std::string_view name = table_.cell(task_column::name);
    if (!is_plain_name(name)) table_.reject(task_column::name, std::string{kPlainNameRule});
    job.spec.name = name;
    const auto cpu = table_.integer(task_column::cpu_milli, 0, kMostCpu.value);
    const auto memory = table_.integer(task_column::memory_mib, 0, kMostMemory.value);
    job.spec.shape.cpu = MilliCpu{cpu.value_or(0)};
    job.spec.shape.memory = Mebibytes{memory.value_or(0)};
    read_gpus(job.spec.shape);
    job.spec.shape.models = models_in(table_.cell(task_column::gpu_spec));
    job.timing = read_timing();
  }

  void read_gpus(Shape& shape) {
    const auto count = table_.integer(task_column::num_gpu, 0, kMaxGpusPerNode);
    if (!count) return;
    shape.gpu_count = static_cast<std::int32_t>(*count);
    if (*count == 1) {
      shape.gpu_share =
          MilliGpu{table_.integer(task_column::gpu_milli, 1, kWholeGpu.value).value_or(0)};
      return;
    }
    const std::string_view only = *count == 0 ? "0" : "1000";
    if (table_.cell(task_column::gpu_milli) != only) {
      table_.reject(task_column::gpu_milli, fmt::format("{}, because num_gpu is {}", only, *count));
    }
    shape.gpu_share = *count == 0 ? MilliGpu{0} : kWholeGpu;
  }

  GpuModelSet models_in(std::string_view spec) {
    GpuModelSet set;
    while (!spec.empty()) {
      const std::size_t bar = spec.find('|');
      const std::string_view name = spec.substr(0, bar);
      if (const auto model = models_.find(name)) {
        set.insert(*model);
      } else {
        table_.reject(task_column::gpu_spec,
                      name.empty() ? table_.cell(task_column::gpu_spec) : name, known_models());
      }
      if (bar == std::string_view::npos) break;
      spec.remove_prefix(bar + 1);
      if (spec.empty()) table_.reject(task_column::gpu_spec, known_models());
    }
    return set;
  }

  std::string known_models() const {
    std::vector<std::string> names = models_.names();
    if (names.empty()) return "an empty cell, because the cluster has no GPUs";
    std::sort(names.begin(), names.end());
    return fmt::format("models of the cluster joined by |: {}", fmt::join(names, ", "));
  }

  std::optional<Duration> seconds(std::size_t column) {
    const auto time = parse_seconds(table_.cell(column));
    if (time && *time <= from_seconds(kMostSeconds)) return time;
    table_.reject(column, fmt::format("seconds from 0 to {}", kMostSeconds));
    return std::nullopt;
  }

  std::optional<JobTiming> read_timing() {
    using namespace task_column;
    if (table_.cell(creation_time).empty() && table_.cell(deletion_time).empty())
      return std::nullopt;
    const auto created = seconds(creation_time);
    const auto deleted = seconds(deletion_time);
    const std::size_t start_column =
        table_.cell(scheduled_time).empty() ? creation_time : scheduled_time;
    const auto started = start_column == creation_time ? created : seconds(scheduled_time);
    if (!created || !deleted || !started) return std::nullopt;
    if (*started < *created) {
      table_.reject(scheduled_time,
                    fmt::format("creation_time ({}) or later", table_.cell(creation_time)));
    }
    if (*deleted < *started) {
      table_.reject(deletion_time, fmt::format("{} ({}) or later", kTaskColumns[start_column].name,
                                               table_.cell(start_column)));
    }
    return JobTiming{*created, *deleted - *started};
  }

  CsvTable table_;
  const GpuModels& models_;
  Workload workload_;
};

void write_timing(CsvWriter& csv, const std::optional<JobTiming>& timing) {
  if (!timing) {
    csv.cell("").cell("").cell("");
    return;
  }
  csv.cell(format_seconds(timing->submitted));
  csv.cell(format_seconds(timing->submitted + timing->run_time));
  csv.cell(format_seconds(timing->submitted));
}

}  // namespace

Result<Cluster> read_openb_nodes(InputFile input) {
  std::string title = file_title(input.name());
  return NodeListReader{std::move(input)}.read(std::move(title));
}

Result<Cluster> read_openb_nodes(const std::filesystem::path& path) {
  auto input = InputFile::open(path);
  if (!input) return tl::unexpected(input.error());
  return read_openb_nodes(std::move(*input));
}

Result<Workload> read_openb_tasks(InputFile input, const Cluster& cluster) {
  std::string title = file_title(input.name());
  return TaskListReader{std::move(input), cluster}.read(std::move(title));
}

Result<Workload> read_openb_tasks(const std::filesystem::path& path, const Cluster& cluster) {
  auto input = InputFile::open(path);
  if (!input) return tl::unexpected(input.error());
  return read_openb_tasks(std::move(*input), cluster);
}

void write_openb_nodes(std::ostream& out, const Cluster& cluster) {
  CsvWriter csv{out};
  for (const CsvColumn& column : kNodeColumns) csv.cell(column.name);
  csv.end_row();
  for (const Node& node : cluster.nodes) {
    csv.cell(node.name).cell(node.cpu.value).cell(node.memory.value).cell(node.gpu_count);
    csv.cell(node.gpu_count == 0 ? std::string_view{} : cluster.models.name(node.model)).end_row();
  }
}

Result<void> write_openb_tasks(std::ostream& out, const Workload& workload,
                               const Cluster& cluster) {
  Diagnostics mistakes;
  bool has_times = false;
  for (const WorkloadJob& job : workload.jobs) {
    has_times = has_times || job.timing.has_value();
    if (job.spec.is_gang()) {
      mistakes.add(Diagnostic{"", 0, "replicas of job " + job.spec.name,
                              std::to_string(job.spec.replicas),
                              "1, because an openb list has no gangs"});
    }
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));

  CsvWriter csv{out};
  for (std::size_t i = 0; i < (has_times ? kTaskColumns.size() : task_column::creation_time); ++i) {
    csv.cell(kTaskColumns[i].name);
  }
  csv.end_row();
  for (const WorkloadJob& job : workload.jobs) {
    const Shape& shape = job.spec.shape;
    csv.cell(job.spec.name).cell(shape.cpu.value).cell(shape.memory.value).cell(shape.gpu_count);
    csv.cell(shape.gpu_share.value).cell(cluster.models.to_string(shape.models));
    if (has_times) write_timing(csv, job.timing);
    csv.end_row();
  }
  return {};
}

}  // namespace weir::formats
