// SPDX-License-Identifier: Apache-2.0
#include "report/trace_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "domain/target_workload.h"
#include "formats/fixed_decimal.h"
#include "report/gpus_text.h"

namespace weir::report {
namespace {

using Json = nlohmann::ordered_json;

// Amounts with one decimal and shares in percent, exactly rounded.
std::string in_units(std::int64_t milli) {
  return formats::fixed_decimal(milli, 1000, 1);
}

std::string share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "-" : formats::fixed_decimal(100 * formats::Int128{part}, whole, 1);
}

std::string kind_name(const Shape& shape) {
  if (shape.is_cpu_only()) return "CPU only";
  if (shape.shares_gpu()) return "part of a GPU";
  return gpus_text(shape.gpu_count);
}

std::string gpu_text(const Shape& shape) {
  if (shape.is_cpu_only()) return "0";
  return shape.shares_gpu() ? formats::fixed_decimal(shape.gpu_share.value, 1000, 3)
                            : fmt::format("{}", shape.gpu_count);
}

std::vector<WorkloadDescription::PopularShape> popular_shapes(
    const std::map<Shape, std::int64_t>& counts, const GpuModels& models) {
  std::vector<WorkloadDescription::PopularShape> shapes;
  for (const auto& [shape, tasks] : counts) {
    shapes.push_back({shape, models.to_string(shape.models), tasks});
  }
  std::stable_sort(shapes.begin(), shapes.end(),
                   [](const auto& a, const auto& b) { return a.tasks > b.tasks; });
  if (shapes.size() > WorkloadDescription::kPopularShapes) {
    shapes.resize(WorkloadDescription::kPopularShapes);
  }
  return shapes;
}

WorkloadDescription::RunTimes run_times(const Workload& workload) {
  std::vector<Duration> times;
  Duration first = workload.jobs.front().timing->submitted;
  Duration last = first;
  for (const WorkloadJob& job : workload.jobs) {
    times.push_back(job.timing->run_time);
    first = std::min(first, job.timing->submitted);
    last = std::max(last, job.timing->submitted);
  }
  std::sort(times.begin(), times.end());
  // Nearest rank: the smallest value that `percent` of the jobs do not exceed.
  const auto quantile = [&times](std::size_t percent) {
    return times[(percent * times.size() + 99) / 100 - 1];
  };
  return {quantile(50), quantile(90), quantile(99), times.back(), last - first};
}

std::vector<std::string> model_row(const ClusterDescription::Model& model) {
  return {model.name,
          fmt::format("{}", model.nodes),
          fmt::format("{}", model.gpus),
          in_units(model.cpu.value),
          fmt::format("{}", model.memory.value / 1024),
          model.gpus == 0 ? "-" : formats::fixed_decimal(model.cpu.value, 1000 * model.gpus, 1)};
}

Json model_json(const ClusterDescription::Model& model) {
  return {{"model", model.name},
          {"nodes", model.nodes},
          {"gpus", model.gpus},
          {"cpu_milli", model.cpu.value},
          {"memory_mib", model.memory.value}};
}

}  // namespace

ClusterDescription describe(std::string file, const Cluster& cluster) {
  ClusterDescription result;
  result.file = std::move(file);
  result.total.name = "all";
  std::map<GpuModelId, ClusterDescription::Model> models;
  for (const Node& node : cluster.nodes) {
    ClusterDescription::Model& of_model = models[node.model];
    of_model.name = node.model == kNoGpuModel ? "none" : cluster.models.name(node.model);
    for (ClusterDescription::Model* group : {&of_model, &result.total}) {
      ++group->nodes;
      group->gpus += node.gpu_count;
      group->cpu += node.cpu;
      group->memory += node.memory;
    }
  }
  for (auto& [id, model] : models) result.models.push_back(std::move(model));
  std::stable_sort(result.models.begin(), result.models.end(), [](const auto& a, const auto& b) {
    return std::tie(b.gpus, a.name) < std::tie(a.gpus, b.name);
  });
  return result;
}

WorkloadDescription describe(std::string file, const Workload& workload, const GpuModels& models) {
  WorkloadDescription result;
  result.file = std::move(file);
  result.name = workload.name;
  std::map<std::pair<int, bool>, WorkloadDescription::Kind> kinds;
  std::map<Shape, std::int64_t> shapes;
  for (const WorkloadJob& job : workload.jobs) {
    const Shape& shape = job.spec.shape;
    const std::int64_t tasks = job.spec.replicas;
    ++result.jobs;
    result.gangs += job.spec.is_gang() ? 1 : 0;
    result.tasks += tasks;
    result.constrained += shape.models.accepts_any() ? 0 : tasks;
    result.demand += job.spec.gpu_total();
    result.cpu += shape.cpu * tasks;
    shapes[expected_shape(shape)] += tasks;
    WorkloadDescription::Kind& kind = kinds[{shape.gpu_count, !shape.shares_gpu()}];
    kind.name = kind_name(shape);
    kind.tasks += tasks;
    kind.demand += job.spec.gpu_total();
  }
  for (auto& [key, kind] : kinds) result.kinds.push_back(std::move(kind));
  result.shapes = static_cast<std::int64_t>(shapes.size());
  result.popular = popular_shapes(shapes, models);
  if (!workload.jobs.empty() && workload.has_timing()) result.run_times = run_times(workload);
  return result;
}

std::vector<Table> description_tables(const ClusterDescription& description) {
  Table table{fmt::format("{}: {} nodes, {} GPUs", description.file, description.total.nodes,
                          description.total.gpus),
              {{"GPU model", Align::left},
               {"nodes", Align::right},
               {"GPUs", Align::right},
               {"CPUs", Align::right},
               {"memory GiB", Align::right},
               {"CPUs per GPU", Align::right}},
              {}};
  for (const auto& model : description.models) table.rows.push_back(model_row(model));
  if (description.models.size() > 1) table.rows.push_back(model_row(description.total));
  return {table};
}

std::vector<Table> description_tables(const WorkloadDescription& description) {
  Table kinds{fmt::format("{}: {} tasks, {} GPUs and {} CPUs asked for, {} name GPU models",
                          description.file, description.tasks, in_units(description.demand.value),
                          in_units(description.cpu.value), description.constrained),
              {{"kind", Align::left},
               {"tasks", Align::right},
               {"% of tasks", Align::right},
               {"GPUs asked for", Align::right},
               {"% of GPUs", Align::right}},
              {}};
  for (const auto& kind : description.kinds) {
    kinds.rows.push_back({kind.name, fmt::format("{}", kind.tasks),
                          share(kind.tasks, description.tasks), in_units(kind.demand.value),
                          share(kind.demand.value, description.demand.value)});
  }
  Table shapes{fmt::format("The most frequent of {} shapes", description.shapes),
               {{"CPUs", Align::right},
                {"GPUs", Align::right},
                {"models", Align::left},
                {"tasks", Align::right},
                {"% of tasks", Align::right}},
               {}};
  for (const auto& popular : description.popular) {
    shapes.rows.push_back({formats::fixed_decimal(popular.shape.cpu.value, 1000, 3),
                           gpu_text(popular.shape), popular.models.empty() ? "any" : popular.models,
                           fmt::format("{}", popular.tasks),
                           share(popular.tasks, description.tasks)});
  }
  std::vector<Table> tables = {kinds, shapes};
  if (const auto& times = description.run_times) {
    tables.push_back({fmt::format("Run times; submitted over {}", duration_text(times->span)),
                      {{"p50", Align::right},
                       {"p90", Align::right},
                       {"p99", Align::right},
                       {"longest", Align::right}},
                      {{duration_text(times->p50), duration_text(times->p90),
                        duration_text(times->p99), duration_text(times->longest)}}});
  }
  return tables;
}

Json description_json(const ClusterDescription& description) {
  Json models = Json::array();
  for (const auto& model : description.models) models.push_back(model_json(model));
  return {{"file", description.file},
          {"kind", "nodes"},
          {"nodes", description.total.nodes},
          {"gpus", description.total.gpus},
          {"cpu_milli", description.total.cpu.value},
          {"memory_mib", description.total.memory.value},
          {"models", models}};
}

Json description_json(const WorkloadDescription& description) {
  Json kinds = Json::array();
  for (const auto& kind : description.kinds) {
    kinds.push_back({{"kind", kind.name}, {"tasks", kind.tasks}, {"gpu_milli", kind.demand.value}});
  }
  Json shapes = Json::array();
  for (const auto& popular : description.popular) {
    shapes.push_back({{"cpu_milli", popular.shape.cpu.value},
                      {"num_gpu", popular.shape.gpu_count},
                      {"gpu_milli", popular.shape.gpu_share.value},
                      {"models", popular.models},
                      {"tasks", popular.tasks}});
  }
  Json json = {{"file", description.file},
               {"kind", "tasks"},
               {"workload", description.name},
               {"jobs", description.jobs},
               {"gangs", description.gangs},
               {"tasks", description.tasks},
               {"constrained_tasks", description.constrained},
               {"gpu_milli", description.demand.value},
               {"cpu_milli", description.cpu.value},
               {"kinds", kinds},
               {"distinct_shapes", description.shapes},
               {"popular_shapes", shapes}};
  if (const auto& times = description.run_times) {
    json["run_time_s"] = {{"p50", to_seconds(times->p50)},
                          {"p90", to_seconds(times->p90)},
                          {"p99", to_seconds(times->p99)},
                          {"longest", to_seconds(times->longest)}};
    json["span_s"] = to_seconds(times->span);
  }
  return json;
}

std::string duration_text(Duration duration) {
  const double seconds = to_seconds(duration);
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2 * 3600) return fmt::format("{:.1f} min", seconds / 60);
  if (seconds < 2 * 86400) return fmt::format("{:.1f} h", seconds / 3600);
  return fmt::format("{:.1f} d", seconds / 86400);
}

}  // namespace weir::report
